//! A refusal of thinking that only composing can have caused is retried; every other refusal goes to the client.

use std::io::Write;
use std::time::Duration;

use crate::support::house::{ANSWER, Arrived, Router, answer, conversation, request};
use crate::support::raw::RawServer;
use serde_json::Value;

const MOMENT: Duration = Duration::from_millis(150);
const BETA: &str = "thinking-binding-controls-2026-08-01";
const UNBOUND: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."},"request_id":"req_1"}"#;
const REFUSED: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0: image is too large"},"request_id":"req_2"}"#;

async fn edited() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    house.delete_second("one").await;
    (server, house)
}

fn binding(arrived: &Arrived) -> Value {
    let body: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    body["thinking"]["block_binding"]["prefix_mismatch_behavior"].clone()
}

/// The events of a conversation of one kind.
async fn events(house: &Router, kind: &str) -> Vec<Value> {
    let timeline = house.get("conversations/one/timeline").await;
    let events = timeline["events"].as_array().expect("events").iter();
    events.filter(|event| event["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn refused_thinking_is_asked_for_once_more_and_the_second_answer_counts() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    let asked = request("one", &conversation("one", 4)).replace("X-Last", "Anthropic-Beta: a-1,b-2\r\nX-Last");
    client.send(asked).await;
    let mut first = Arrived::at(&server).await;
    assert_eq!((binding(&first), first.header("anthropic-beta")), (Value::Null, Some("a-1,b-2")));
    first.peer.send(answer("400 Bad Request", UNBOUND)).await;

    let mut second = Arrived::at(&server).await;
    assert_eq!(binding(&second), "drop_block");
    assert_eq!(second.header("anthropic-beta"), Some(format!("a-1,b-2,{BETA}").as_str()));
    assert!(second.head.contains("Anthropic-Beta: "), "its spelling stays: {}", second.head);
    assert_eq!(second.questions(), first.questions());
    second.peer.send(answer("200 OK", ANSWER)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK"));
    assert_eq!(client.rest().await, ANSWER.as_bytes());

    let statuses: Vec<Value> = events(&house, "answer").await.iter().map(|answer| answer["status"].clone()).collect();
    assert_eq!(statuses, [200, 200], "what is noted is what the client got");
    assert_eq!(events(&house, "recovery").await.len(), 1);

    // From now on it is requested at once, and named once.
    let mut client = house.connect().await;
    let named = format!("Anthropic-Beta: {BETA},a-1\r\nX-Last");
    client.send(request("one", &conversation("one", 4)).replace("X-Last", &named)).await;
    let arrived = Arrived::at(&server).await;
    assert_eq!(binding(&arrived), "drop_block");
    assert_eq!(arrived.header("anthropic-beta"), Some(format!("{BETA},a-1").as_str()));
}

#[tokio::test]
async fn it_is_asked_for_once_and_only_once() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    for _ in 0..2 {
        let mut arrived = Arrived::at(&server).await;
        arrived.peer.send(answer("400 Bad Request", UNBOUND)).await;
    }
    assert!(client.head().await.starts_with("HTTP/1.1 400 Bad Request"));
    assert_eq!(client.rest().await, UNBOUND.as_bytes());
    assert!(server.stays_alone(MOMENT).await);
    // The next request asks from the start, and is not retried either.
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let mut arrived = Arrived::at(&server).await;
    assert_eq!(binding(&arrived), "drop_block");
    arrived.peer.send(answer("400 Bad Request", UNBOUND)).await;
    assert_eq!(client.head().await.split(' ').nth(1), Some("400"));
    assert!(server.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn the_second_request_uses_the_connection_of_the_first_and_an_encoded_refusal_is_read() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let mut first = Arrived::at(&server).await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(UNBOUND.as_bytes()).expect("encoded");
    let body = encoder.finish().expect("encoded");
    let head = format!("HTTP/1.1 400 Bad Request\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    first.peer.send([head.as_bytes(), &body].concat()).await;
    let mut second = Arrived::from(first.peer).await;
    assert_eq!(binding(&second), "drop_block");
    second.peer.send(answer("200 OK", ANSWER)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn an_upstream_that_hangs_up_on_the_second_request_is_told() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    Arrived::at(&server).await.peer.send(answer("400 Bad Request", UNBOUND)).await;
    drop(Arrived::at(&server).await);
    let answer = String::from_utf8(client.rest().await).expect("text");
    crate::support::provider_error(&answer, 502, "api_error", "upstream-closed");
}

#[tokio::test]
async fn every_other_refusal_is_handed_back_as_it_came() {
    let long = format!("{REFUSED}{}bound to a different conversation", " ".repeat(300_000));
    let chunked = "HTTP/1.1 400 Bad Request\r\nX-Kept: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    for (raw, body) in [
        (answer("400 Bad Request", REFUSED), REFUSED),
        (answer("400 Bad Request", &long), long.as_str()),
        (answer("400 Bad Request", ""), ""),
        (
            answer("400 Bad Request", "not gzip").replace("connection", "content-encoding: gzip\r\nconnection"),
            "not gzip",
        ),
        (answer("413 Payload Too Large", UNBOUND), UNBOUND),
        (chunked.to_owned(), "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n"),
    ] {
        let (server, house) = edited().await;
        let mut client = house.connect().await;
        client.send(request("one", &conversation("one", 4))).await;
        let mut arrived = Arrived::at(&server).await;
        arrived.peer.send(&raw).await;
        let head = client.head().await;
        let expected = raw.split_once("\r\n\r\n").expect("a head").0.replace("\r\nconnection: close", "");
        assert_eq!(head.trim_end().replace("\r\nconnection: close", ""), expected);
        assert!(client.rest().await == body.as_bytes(), "{expected}");
        assert!(server.stays_alone(Duration::from_millis(30)).await);
        let newest = events(&house, "answer").await.pop().expect("an answer");
        assert_eq!(newest["status"], expected.split(' ').nth(1).expect("a status").parse::<u16>().expect("a number"));
        assert!(events(&house, "recovery").await.is_empty());
    }
}

#[tokio::test]
async fn a_refusal_that_is_cut_stays_cut() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let mut arrived = Arrived::at(&server).await;
    let whole = answer("400 Bad Request", UNBOUND);
    arrived.peer.send(&whole[..whole.len() - 5]).await;
    drop(arrived);
    assert!(client.head().await.starts_with("HTTP/1.1 400 "));
    assert_eq!(client.rest().await, UNBOUND.as_bytes()[..UNBOUND.len() - 5]);
    assert!(server.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn what_we_did_not_compose_or_what_does_not_think_is_never_repeated() {
    let (server, house) = edited().await;
    let plain = conversation("one", 4).replace(r#""thinking":{"type":"adaptive"}"#, r#""top_k":4"#);
    for (session, body) in [("new", conversation("new", 2)), ("one", plain)] {
        let mut client = house.connect().await;
        client.send(request(session, &body)).await;
        Arrived::at(&server).await.peer.send(answer("400 Bad Request", UNBOUND)).await;
        assert!(client.head().await.starts_with("HTTP/1.1 400 "));
        assert_eq!(client.rest().await, UNBOUND.as_bytes());
        assert!(server.stays_alone(MOMENT).await, "{session}");
    }
}
