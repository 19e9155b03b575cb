//! Refusals of sealed reasoning inside a stream that began well.

use super::*;

const AT: &str = "/v1/responses";
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn announced() -> String {
    let response = json!({"id": "resp_1", "status": "in_progress"});
    ["response.created", "response.in_progress"]
        .map(|kind| event(&json!({"type": kind, "response": response})))
        .concat()
}

fn failed() -> String {
    let error = json!({"code": "invalid_encrypted_content", "message": "The encrypted content could not be verified."});
    event(&json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}}))
}

fn completed() -> String {
    let response: Value = serde_json::from_str(RESPONSE).expect("JSON");
    event(&json!({"type": "response.completed", "response": response}))
}

/// A client's request of an edited conversation, and how it arrived.
async fn asked(router: &Router, openai: &RawServer, session: &str) -> (crate::support::raw::Peer, Arrived) {
    talk(router, openai, (AT, session), &responses(2), RESPONSE).await;
    router.edit(session, json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let mut client = router.connect().await;
    client.send(post(AT, session, &responses(3))).await;
    let arrived = Arrived::at(openai).await;
    assert!(arrived.text().contains("gAAA"), "{}", arrived.text());
    (client, arrived)
}

#[tokio::test]
async fn sealed_reasoning_that_is_refused_in_the_stream_is_left_out_once() {
    let (_, openai, router) = daemon().await;
    let (mut client, mut first) = asked(&router, &openai, "sealed").await;
    first.peer.send(format!("{HEAD}{}", announced())).await;
    first.peer.send(failed()).await;
    let mut second = Arrived::at(&openai).await;
    assert!(!second.text().contains("gAAA") && !second.text().contains("long output"), "{}", second.text());
    second.peer.send(format!("{HEAD}{}", announced())).await;
    second.peer.send(failed()).await;
    drop(second);
    let told = String::from_utf8(client.rest().await).expect("text");
    assert!(told.contains("response.failed") && told.matches("event: response.created").count() == 1, "{told}");
    assert!(openai.stays_alone(MOMENT).await, "there is no second retry");
}

#[tokio::test]
async fn a_stream_that_has_begun_is_not_repeated() {
    let (_, openai, router) = daemon().await;
    let (mut client, mut first) = asked(&router, &openai, "begun").await;
    let delta = event(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": "I"}));
    first.peer.send(format!("{HEAD}{}{delta}{}", announced(), failed())).await;
    drop(first);
    let told = String::from_utf8(client.rest().await).expect("text");
    assert!(told.contains(&failed()), "{told}");
    assert!(openai.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn announcements_are_passed_on_when_the_model_takes_its_time() {
    let (_, openai, router) = daemon().await;
    let (mut client, mut first) = asked(&router, &openai, "slow").await;
    first.peer.send(format!("{HEAD}{}", announced())).await;
    assert!(client.is_quiet(MOMENT).await, "they wait for the next event");
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
    // The line before is the length of a chunk.
    client.line().await;
    assert!(client.line().await.contains("response.created"));
    first.peer.send(completed()).await;
    drop(first);
    let told = String::from_utf8(client.rest().await).expect("text");
    assert!(told.contains(&completed()), "{told}");
}
