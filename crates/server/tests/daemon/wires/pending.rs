//! Edits of a reply that the agent has not sent back yet.

use super::*;

const AT: (&str, &str) = ("/v1/responses", "pending");

/// A reply of four items: reasoning, a message, and two calls.
fn items() -> Vec<Value> {
    let call = |at: &str| {
        json!({"id": format!("fc_{at}"), "type": "function_call", "status": "completed", "call_id": format!("call_{at}"),
            "name": "read", "arguments": format!("{{\"path\":\"/{at}\"}}")})
    };
    let text = json!({"type": "output_text", "text": "I read both.", "annotations": [], "logprobs": []});
    vec![
        json!({"id": "rs_9", "type": "reasoning", "summary": [], "encrypted_content": "gBBB"}),
        json!({"id": "msg_9", "type": "message", "status": "completed", "role": "assistant", "content": [text]}),
        call("a"),
        call("b"),
    ]
}

fn response() -> String {
    json!({"id": "resp_9", "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": items(),
        "usage": {"input_tokens": 50, "output_tokens": 3}})
    .to_string()
}

/// The request with the reply in the words of a client, and the results of both calls.
fn returned(items: Vec<Value>) -> String {
    let mut body: Value = serde_json::from_str(&responses(2)).expect("JSON");
    let input = body["input"].as_array_mut().expect("items");
    input.extend(items);
    for at in ["a", "b"] {
        let (call, output) = (format!("call_{at}"), format!("output of {at}"));
        input.push(json!({"type": "function_call_output", "call_id": call, "output": output}));
    }
    body.to_string()
}

/// Without reasoning, ids and states, and with other spaces in the arguments: as clients do that keep no items.
fn rewritten() -> Vec<Value> {
    let own = |mut item: Value| {
        let fields = item.as_object_mut().expect("an item");
        fields.remove("id");
        fields.remove("status");
        if let Some(arguments) = fields.get_mut("arguments") {
            *arguments = arguments.as_str().unwrap_or_default().replace(':', ": ").into();
        }
        item
    };
    items().into_iter().skip(1).map(own).collect()
}

async fn hold_edits(items: Vec<Value>) -> Vec<Value> {
    let store = Arc::new(MemoryStore::new());
    let (_, openai, router) = daemon_on(store.clone()).await;
    talk(&router, &openai, AT, &responses(2), &response()).await;
    let list = router.get("conversations/pending/frames").await;
    assert_eq!(list["frames"].as_array().and_then(|frames| frames.last()).expect("a frame")["pending"], true, "{list}");
    let shown = router.get("conversations/pending/frames/t2").await;
    let messages = shown["messages"].as_array().expect("messages");
    let pending: Vec<&Value> = messages.iter().map(|message| &message["pending"]).collect();
    assert_eq!(pending, [false, true, true, true, true], "{shown}");
    let text = |at: usize| messages[at]["blocks"][0]["text"].as_str().unwrap_or_default();
    assert!(text(2) == "I read both." && text(4).contains("/b"), "{shown}");
    let found = router.get("search?q=both").await;
    assert_eq!(found["conversations"][0]["hits"][0]["id"], "t2#2.0", "{found}");

    let edits = json!([{"op": "edit", "id": "t2#2", "text": "I look."}, {"op": "delete", "ids": ["t2#4"]}]);
    router.edit("pending", edits).await;
    drop(router);
    let (_, openai, router) = daemon_on(store).await;
    let arrived = talk(&router, &openai, AT, &returned(items), RESPONSE).await;
    assert_eq!(arrived.text(), router.composed("pending").await, "what is shown is what is sent");
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    sent["input"].as_array().expect("items").iter().skip(7).cloned().collect()
}

#[tokio::test]
async fn items_of_a_reply_are_edited_before_the_agent_sends_them_back() {
    let sent = hold_edits(items()).await;
    let kinds: Vec<&str> = sent.iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "function_call_output"], "{sent:?}");
    assert_eq!(sent[1]["content"][0]["text"], "I look.");
    assert_eq!(sent[3]["output"], "output of a");
    assert!(sent.iter().all(|item| item.get("id").is_none()), "R27: {sent:?}");
}

#[tokio::test]
async fn edits_of_a_reply_hold_in_the_words_of_the_agent() {
    let sent = hold_edits(rewritten()).await;
    let kinds: Vec<&str> = sent.iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output"], "{sent:?}");
    assert_eq!((&sent[0]["content"][0]["text"], &sent[2]["output"]), (&json!("I look."), &json!("output of a")));
}

#[tokio::test]
async fn an_agent_without_a_session_is_recognised_by_any_item_of_the_reply() {
    let (_, openai, router) = daemon().await;
    let opening = json!({"model": "gpt-5.6-sol", "input": [{"role": "user", "content": "read them"}]});
    let mut returned = opening.clone();
    let other = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "in other words"}]});
    let (input, mut items) = (returned["input"].as_array_mut().expect("items"), rewritten());
    items.truncate(2);
    items.insert(0, other);
    input.extend(items);
    input.push(json!({"type": "function_call_output", "call_id": "call_a", "output": "output of a"}));
    for body in [opening.to_string(), returned.to_string()] {
        let mut client = router.connect().await;
        client.send(post(AT.0, "x", &body).replace("X-Session-Id: x\r\n", "")).await;
        Arrived::at(&openai).await.peer.send(answer("200 OK", &response())).await;
        client.rest().await;
        router.get("conversations").await;
    }
    let all = router.get("conversations").await;
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(1), "{all}");
}

#[tokio::test]
async fn an_edited_call_without_an_id_keeps_its_result() {
    let (_, gemini, router) = daemon().await;
    let at = (GENERATE, "edited-call");
    let call = |path: &str| json!({"functionCall": {"name": "read", "args": {"path": path}}});
    let result = |text: &str| json!({"functionResponse": {"name": "read", "response": {"output": text}}});
    let model = json!({"role": "model", "parts": [call("/c"), call("/d"), call("/e")]});
    let said = json!({"candidates": [{"content": model, "finishReason": "STOP"}]}).to_string();
    talk(&router, &gemini, at, &contents(2), &said).await;
    router.edit(at.1, json!([{"op": "edit", "id": "t2#1.1", "raw": call("/other")}])).await;
    router.edit(at.1, json!([{"op": "delete", "ids": ["t2#1.2"]}])).await;

    let mut body: Value = serde_json::from_str(&contents(2)).expect("JSON");
    let list = body["contents"].as_array_mut().expect("contents");
    list.push(model);
    list.push(json!({"role": "user", "parts": [result("of c"), result("of d"), result("of e")]}));
    let arrived = talk(&router, &gemini, at, &body.to_string(), CONTENT).await;
    assert_eq!(arrived.text(), router.composed(at.1).await, "what is shown is what is sent");
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    assert_eq!(sent["contents"][6]["parts"], json!([result("of c"), result("of d")]), "{sent}");
    let parts = sent["contents"][5]["parts"].as_array().expect("parts");
    let args: Vec<&Value> = parts.iter().map(|part| &part["functionCall"]["args"]["path"]).collect();
    assert_eq!(args, ["/c", "/other"], "{sent}");
    assert!(!arrived.text().contains('~'), "a derived id is never sent");
}
