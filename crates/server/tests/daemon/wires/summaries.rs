//! Clients that request a summary of the history as one text.

use super::*;

const TANGENT: &str = "a long tangent about \"cows\",\nwhich nobody wants to read again";

fn long_output() -> String {
    (0..400).map(|line| format!("line {line} of the output\n")).collect()
}

fn talk_of(frames: usize) -> String {
    let mut messages = vec![
        json!({"role": "user", "content": "read it"}),
        json!({"role": "assistant", "content": null, "tool_calls": [called("call_1")]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": long_output()}),
        json!({"role": "assistant", "content": "It is read now, and there is nothing in it."}),
        json!({"role": "user", "content": TANGENT}),
    ];
    if frames > 2 {
        messages.push(json!({"role": "assistant", "content": "off the way"}));
        messages.push(json!({"role": "user", "content": "go on with the work that we began"}));
    }
    let tool = json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
    json!({"model": "gpt-4.1", "messages": messages, "tools": [tool]}).to_string()
}

#[tokio::test]
async fn what_was_removed_is_cut_out_of_a_summary_request_where_it_stands_word_for_word() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/chat/completions", "summed");
    talk(&router, &openai, at, &talk_of(3), CHAT).await;
    let output: String = long_output().chars().take(2_000).collect();
    let history = format!(
        "Here is the conversation so far:\n\n<conversation>\n[User]: read it\n\n[Tool result]: {output}… [truncated]\n\n\
         [User]: {TANGENT}\n\n[User]: go on with the work that we began\n</conversation>"
    );
    let asks = json!({"model": "gpt-4.1-mini", "messages": [
        {"role": "system", "content": "You are a context summarization agent. Summarize."},
        {"role": "user", "content": history},
    ]})
    .to_string();
    assert_eq!(talk(&router, &openai, at, &asks, CHAT).await.text(), asks, "nothing is edited yet");

    let operations = json!([{"op": "delete", "ids": ["t2"]}, {"op": "drop-results", "ids": ["t1"]}]);
    router.edit("summed", operations).await;
    let arrived = talk(&router, &openai, at, &asks, CHAT).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    let text = sent["messages"][1]["content"].as_str().expect("a text");
    assert!(!text.contains("cows") && !text.contains("of the output"), "{text}");
    assert!(
        text.contains("[User]: [removed]\n\n[User]: go on with the work") && text.contains("[truncated]"),
        "{text}"
    );
    let events = router.get("conversations/summed/timeline").await.to_string();
    assert!(events.contains("removed texts were cut out of it"), "{events}");
}

/// One exchange of pi, which names no session on this wire.
async fn pi(router: &Router, provider: &RawServer, body: &str) -> Arrived {
    let mut client = router.connect().await;
    client.send(post("/v1/messages", "x", body).replace("X-Session-Id: x", "User-Agent: pi (linux 6.1; x64)")).await;
    let mut arrived = Arrived::at(provider).await;
    let said = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 10, "output_tokens": 2}});
    arrived.peer.send(answer("200 OK", &said.to_string())).await;
    client.rest().await;
    // It is recorded before the next one arrives.
    router.get("conversations").await;
    arrived
}

/// A conversation about `subject`, and the request for its summary.
fn session_of_pi(subject: &str) -> (String, String) {
    let read = format!("I have read {subject}, and there is nothing in it.");
    let messages = json!([
        {"role": "user", "content": "read it with care, and tell me what you find"},
        {"role": "assistant", "content": [{"type": "text", "text": read}]},
        {"role": "user", "content": TANGENT},
        {"role": "assistant", "content": [{"type": "text", "text": "off the way, as far as it goes, off the way"}]},
        {"role": "user", "content": format!("go on with {subject}")},
    ]);
    let history = format!(
        "<conversation>\n[User]: read it with care, and tell me what you find\n\n[Assistant]: {read}\n\n[User]: {TANGENT}\n\n\
         [Assistant]: off the way, as far as it goes, off the way\n</conversation>\n\nCreate a structured summary."
    );
    let (tools, system) = (json!([{"name": "read", "input_schema": {}}]), "You are an expert coding assistant.");
    let asks = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": history}],
        "system": "You are a context summarization assistant. Your task is to read a conversation"});
    let turn = json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": tools, "system": system});
    (turn.to_string(), asks.to_string())
}

#[tokio::test]
async fn a_summary_without_a_session_belongs_to_the_conversation_whose_answers_it_carries() {
    let (anthropic, _, router) = daemon().await;
    let ((edited, its_summary), (other, another)) = (session_of_pi("the parser"), session_of_pi("the printer"));
    pi(&router, &anthropic, &edited).await;
    router.edit("active", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let first = router.get("conversations/active/frames").await["conversation"].as_str().expect("an id").to_owned();
    pi(&router, &anthropic, &other).await;

    let arrived = pi(&router, &anthropic, &its_summary).await;
    assert!(!arrived.text().contains("cows") && !arrived.text().contains("off the way"), "{}", arrived.text());
    assert!(
        arrived.text().contains("the parser") && arrived.text().contains("[User]: [removed]"),
        "{}",
        arrived.text()
    );
    let events = router.get(&format!("conversations/{first}/timeline")).await.to_string();
    assert!(events.contains("2 of 2 removed texts were cut out of it"), "{events}");
    assert_eq!(pi(&router, &anthropic, &another).await.text(), another, "the other conversation is not edited");
    // It keeps the newest prompt and its answer, which it has never sent back before.
    let mut kept: Value = serde_json::from_str(&edited).expect("JSON");
    let summary = "The conversation history before this point was compacted into the following summary:\n\n<summary>x";
    kept["messages"] = json!([
        {"role": "user", "content": summary},
        {"role": "user", "content": "go on with the parser"},
        {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
        {"role": "user", "content": "and then?"},
    ]);
    pi(&router, &anthropic, &kept.to_string()).await;
    let all = router.get("conversations").await;
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(2), "{all}");
    assert_eq!(all["conversations"][0]["id"], first.as_str(), "{all}");
}

#[tokio::test]
async fn any_side_request_with_the_history_of_an_edited_conversation_leaves_without_what_was_removed() {
    let (anthropic, _, router) = daemon().await;
    let (edited, summary) = session_of_pi("the parser");
    pi(&router, &anthropic, &edited).await;
    let asks = summary.replace("You are a context summarization assistant.", "You judge whether a call is safe.");
    assert_eq!(pi(&router, &anthropic, &asks).await.text(), asks, "nothing is edited yet");
    router.edit("active", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let arrived = pi(&router, &anthropic, &asks).await;
    assert!(!arrived.text().contains("cows") && arrived.text().contains("the parser"), "{}", arrived.text());
    let events = router.get("conversations/active/timeline").await.to_string();
    assert!(events.contains("2 of 2 removed texts were cut out of it"), "{events}");
}
