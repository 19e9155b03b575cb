//! Conversations whose history the provider keeps: requests carry only new messages.

use super::*;

const SECOND: &str = r#"{"id":"resp_2","object":"response","status":"completed","model":"gpt-5.6-sol","output":[],"usage":{"input_tokens":60,"output_tokens":3}}"#;

/// A request that continues from a response.
fn delta(after: &str) -> String {
    asks(after, "and then?")
}

fn asks(after: &str, text: &str) -> String {
    let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    json!({"model": "gpt-5.6-sol", "input": [said], "previous_response_id": after}).to_string()
}

/// One exchange of a client without a session.
async fn nameless(router: &Router, provider: &RawServer, path: &str, body: &str, said: &str) -> Arrived {
    let mut client = router.connect().await;
    client.send(post(path, "x", body).replace("X-Session-Id: x\r\n", "")).await;
    let mut arrived = Arrived::at(provider).await;
    arrived.peer.send(answer("200 OK", said)).await;
    client.rest().await;
    // It is recorded before the next one arrives.
    router.get("conversations").await;
    arrived
}

#[tokio::test]
async fn a_conversation_whose_history_the_provider_keeps_is_told_and_not_edited() {
    let (_, openai, router) = daemon().await;
    nameless(&router, &openai, "/v1/responses", &responses(2), RESPONSE).await;
    router.edit("active", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    for (after, said) in [("resp_1", SECOND), ("resp_2", RESPONSE)] {
        let arrived = nameless(&router, &openai, "/v1/responses", &delta(after), said).await;
        assert_eq!(arrived.text(), delta(after), "it passes untouched");
    }
    let list = router.get("conversations/active/frames").await;
    let told = list["elsewhere"].as_str().expect("told");
    assert!(told.contains("keeps the history") && told.contains("previous_response_id"), "{told}");
    assert_eq!(list["frames"].as_array().map(Vec::len), Some(5), "both requests follow the whole one: {list}");
    assert_eq!(router.get("status").await["requests"]["elsewhere"], 2);
    let edit = json!({"operations": [{"op": "delete", "ids": ["t1"]}], "author": "test"}).to_string();
    router.refuses("POST", "conversations/active/operations", &edit, 422, "history-elsewhere").await;
    // The way out: the whole history again.
    let arrived = nameless(&router, &openai, "/v1/responses", &responses(3), RESPONSE).await;
    assert!(!arrived.text().contains("long output"), "the edits hold: {}", arrived.text());
    assert_eq!(router.get("conversations/active/frames").await["elsewhere"], Value::Null);
    router.edit("active", json!([{"op": "delete", "ids": ["t2"]}])).await;
}

#[tokio::test]
async fn a_thread_at_the_provider_shows_its_first_request() {
    let (anthropic, _, router) = daemon().await;
    let said = |id: &str| {
        let content = json!([{"type": "text", "text": "ok"}]);
        json!({"id": id, "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2}})
        .to_string()
    };
    let turn = |text: &str, thread: Value| {
        let message = json!({"role": "user", "content": text});
        json!({"model": "m", "max_tokens": 9, "messages": [message], "thread": thread}).to_string()
    };
    let first = turn("build it", json!({"type": "create"}));
    let next = turn("and test it", json!({"type": "continue", "previous_message_id": "msg_7"}));
    for (body, id) in [(&first, "msg_7"), (&next, "msg_8")] {
        assert_eq!(nameless(&router, &anthropic, "/v1/messages", body, &said(id)).await.text(), body);
    }
    let all = router.get("conversations").await;
    let titles: Vec<&Value> =
        all["conversations"].as_array().expect("a list").iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, ["build it"]);
    assert_eq!(titles_of(&router.get("conversations/active/frames").await), ["build it", "and test it"]);
    let told = router.get("conversations/active/frames").await["elsewhere"].as_str().expect("told").to_owned();
    assert!(told.contains("thread=False"), "{told}");
}

fn titles_of(list: &Value) -> Vec<&str> {
    let turns = list["frames"].as_array().expect("frames").iter().filter(|frame| frame["kind"] == "turn");
    turns.filter_map(|frame| frame["title"].as_str()).collect()
}

/// A response with a call.
fn responds(id: &str) -> String {
    let call = json!({"type": "function_call", "id": "fc_9", "call_id": id, "name": "read", "arguments": "{}"});
    let text = json!({"type": "output_text", "text": format!("the answer {id}"), "annotations": []});
    let said = json!({"type": "message", "role": "assistant", "content": [text]});
    json!({"id": id, "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": [said, call],
        "usage": {"input_tokens": 60, "output_tokens": 3}})
    .to_string()
}

#[tokio::test]
async fn a_thread_at_the_provider_is_shown_as_far_as_its_chain_is_known() {
    let store = Arc::new(MemoryStore::new());
    let (_, openai, router) = daemon_on(store.clone()).await;
    let at = ("/v1/responses", "thread");
    talk(&router, &openai, at, &responses(2), &responds("resp_a")).await;
    let result = json!({"type": "function_call_output", "call_id": "resp_a", "output": "what the tool found"});
    let results = json!({"model": "gpt-5.6-sol", "input": [result], "previous_response_id": "resp_a"}).to_string();
    talk(&router, &openai, at, &results, &responds("resp_b")).await;
    // Not answered, and sent again.
    let mut client = router.connect().await;
    client.send(post(at.0, at.1, &asks("resp_b", "a new question"))).await;
    Arrived::at(&openai).await.peer.send(answer("529 Overloaded", r#"{"error":{"message":"busy"}}"#)).await;
    client.rest().await;
    talk(&router, &openai, at, &asks("resp_b", "a new question"), &responds("resp_c")).await;
    // An older answer is continued: this is no longer the chain.
    talk(&router, &openai, at, &asks("resp_a", "something else"), &responds("resp_d")).await;

    let list = router.get("conversations/thread/frames").await;
    assert_eq!(titles_of(&list), ["read it", "prompt 1", "a new question"], "{list}");
    drop(router);
    let (_, openai, router) = daemon_on(store).await;
    assert_eq!(router.get("conversations/thread/frames").await, list);
    let shown = router.get("conversations/thread/frames/t2").await.to_string();
    assert!(shown.contains("the answer resp_b") && shown.contains("what the tool found"), "{shown}");
    talk(&router, &openai, at, &asks("resp_c", "after a restart"), &responds("resp_e")).await;
    let list = router.get("conversations/thread/frames").await;
    assert_eq!(titles_of(&list).last(), Some(&"after a restart"), "{list}");
    for (frame, own, other) in [("t3", "resp_c", "resp_e"), ("t4", "resp_e", "resp_c")] {
        let shown = router.get(&format!("conversations/thread/frames/{frame}")).await.to_string();
        assert!(shown.contains(own) && !shown.contains(other), "{shown}");
    }
    talk(&router, &openai, at, &responses(3), RESPONSE).await;
    let list = router.get("conversations/thread/frames").await;
    assert_eq!(titles_of(&list), ["read it", "prompt 1", "prompt 2"], "{list}");
}
