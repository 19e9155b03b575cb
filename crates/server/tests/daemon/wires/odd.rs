//! Traffic that does not fit its format: passed through untouched, never guessed at.

use super::{CHAT, RESPONSE, chat, daemon, post, responses, talk};
use crate::support::body_of;
use crate::support::house::{ANSWER, Arrived, answer};
use serde_json::{Value, json};

#[tokio::test]
async fn a_body_in_another_format_than_its_path_passes_and_is_not_recorded() {
    let (_, openai, router) = daemon().await;
    for (path, body) in [("/v1/chat/completions", responses(2)), ("/v1/responses", chat(2))] {
        assert_eq!(talk(&router, &openai, (path, "odd"), &body, "{}").await.text(), body);
    }
    assert_eq!(router.get("conversations").await["conversations"], json!([]));

    // In an edited conversation it does not leave.
    let at = ("/v1/chat/completions", "talk");
    talk(&router, &openai, at, &chat(2), CHAT).await;
    router.edit("talk", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let mut client = router.connect().await;
    client.send(post(at.0, at.1, &responses(3))).await;
    let said = String::from_utf8(client.rest().await).expect("text");
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    let refused: Value = serde_json::from_str(body_of(&said)).expect("JSON");
    assert_eq!(refused["error"]["code"], "unreadable-request", "{refused}");
}

#[tokio::test]
async fn an_answer_in_another_format_than_the_path_passes_and_nothing_is_made_of_it() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/chat/completions", "talk");
    let mut client = router.connect().await;
    client.send(post(at.0, at.1, &chat(2))).await;
    let mut arrived = Arrived::at(&openai).await;
    arrived.peer.send(answer("200 OK", ANSWER)).await;
    client.head().await;
    assert_eq!(client.rest().await, ANSWER.as_bytes());
    let list = router.get("conversations/talk/frames").await.to_string();
    assert!(!list.contains(r#""pending":true"#) && list.contains("a tangent"), "{list}");
    router.edit("talk", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    assert!(!talk(&router, &openai, at, &chat(3), CHAT).await.text().contains("long output"));
}

#[tokio::test]
async fn an_answer_that_breaks_off_reaches_the_client_as_far_as_it_came_and_the_conversation_continues() {
    let (_, openai, router) = daemon().await;
    let chunk = |text: &str| {
        let choice = json!({"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null});
        format!("data: {}\n\n", json!({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    let events = [chunk("off the"), chunk(" way"), "data: {\"id\":\"c1\",\"cho".to_owned()].concat();
    let at = ("/v1/chat/completions", "talk");
    let mut client = router.connect().await;
    client.send(post(at.0, at.1, &chat(2))).await;
    let mut arrived = Arrived::at(&openai).await;
    arrived.peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await;
    arrived.peer.send(&events).await;
    drop(arrived);
    client.head().await;
    let heard = String::from_utf8(client.rest().await).expect("text");
    assert!(heard.contains("off the") && heard.contains("\"cho"), "{heard}");
    router.edit("talk", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let sent = talk(&router, &openai, at, &chat(3), CHAT).await;
    assert!(!sent.text().contains("tangent") && sent.text().contains("go on"), "{}", sent.text());
}

#[tokio::test]
async fn unknown_items_are_carried_byte_for_byte_beside_an_edit() {
    let (_, openai, router) = daemon().await;
    let unknown = r#"{"type":"dream_call" , "call_id":"none","payload":{"deep":[ 1,null ]}}"#;
    let with_unknown = |prompts: usize| {
        let body: Value = serde_json::from_str(&responses(prompts)).expect("JSON");
        let mut items: Vec<String> = body["input"].as_array().expect("items").iter().map(Value::to_string).collect();
        items.insert(6, unknown.to_owned());
        format!(r#"{{"model":"gpt-5.6-sol","store":false,"input":[{}]}}"#, items.join(","))
    };
    let at = ("/v1/responses", "thread");
    assert_eq!(talk(&router, &openai, at, &with_unknown(2), RESPONSE).await.text(), with_unknown(2));
    router.edit("thread", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let sent = talk(&router, &openai, at, &with_unknown(3), RESPONSE).await;
    assert!(!sent.text().contains("long output") && sent.text().contains(unknown), "{}", sent.text());
}
