//! WebSockets of model calls: untouched conversations pass byte for byte, edited ones are composed, and a request that
//! continues an answer is completed with what the socket carried before.

mod circumstances;
pub mod ends;
#[path = "../../../service/tests/support/stores.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod stores;

use crate::support::house::Router;
use crate::support::soon;
use ends::{End, UPGRADE, answer, connect, create, daemon, head_of, opened, said};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

#[tokio::test]
async fn messages_of_an_untouched_conversation_pass_as_they_are() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    let odd = "{ \"type\" : \"response.create\",\n \"input\":[ {\"role\":\"user\",\"content\":\"é \\u00e9\"} ] }";
    for text in [odd, r#"{"type":"response.cancel"}"#, "no JSON at all", ""] {
        client.send(text).await;
        assert_eq!(upstream.text().await, text);
        upstream.send(text).await;
        assert_eq!(client.text().await, text);
    }
    let bytes: Vec<u8> = (0..=255).collect();
    client.send(bytes.clone()).await;
    assert_eq!(upstream.next().await, Some(Message::binary(bytes.clone())));
    upstream.send(bytes.clone()).await;
    assert_eq!(client.next().await, Some(Message::binary(bytes)));
    client.send(Message::Ping("beat".into())).await;
    assert_eq!(upstream.next().await, Some(Message::Ping("beat".into())));
    assert_eq!(client.next().await, Some(Message::Pong("beat".into())));
    assert!(client.is_silent().await, "one answer to one ping");
    upstream.send(Message::Pong("unasked".into())).await;
    assert_eq!(client.next().await, Some(Message::Pong("unasked".into())));
    let frame = CloseFrame { code: CloseCode::Library(4321), reason: "enough".into() };
    upstream.send(Message::Close(Some(frame.clone()))).await;
    assert_eq!(client.next().await, Some(Message::Close(Some(frame))));
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn a_request_that_continues_an_answer_is_recorded_whole() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    let listed = router.get("conversations/ws/frames?steps=true").await;
    assert_eq!(listed["frames"][0]["title"], "look", "{listed}");
    assert!(listed["elsewhere"].is_null(), "all of it is known: {listed}");
    assert!(router.composed("ws").await.contains("long output"));
    let timeline = router.get("conversations/ws/timeline").await;
    assert!(timeline.to_string().contains("\"output\":3"), "the usage is read from the events: {timeline}");
}

#[tokio::test]
async fn an_edited_conversation_is_composed_and_sent_whole() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    client.send(create(Some("resp_2"), &[said("user", "go on")])).await;
    let sent = upstream.json().await;
    assert_eq!(sent.get("previous_response_id"), None, "the provider knows another history: {sent}");
    assert_eq!((&sent["type"], sent["input"].as_array().map(Vec::len)), (&json!("response.create"), Some(5)));
    assert!(!sent.to_string().contains("long output"), "{sent}");
    assert_eq!(sent["input"][4], said("user", "go on"));
    answer(&mut client, &mut upstream, "resp_3", &[said("assistant", "went on")]).await;

    // Without the edit, the provider still knows the edited history under this id.
    router.post("conversations/ws/history", &json!({"action": "undo", "author": "test"})).await;
    client.send(create(Some("resp_3"), &[said("user", "and on")])).await;
    let sent = upstream.json().await;
    assert_eq!((sent.get("previous_response_id"), sent["input"].as_array().map(Vec::len)), (None, Some(7)), "{sent}");
    assert!(sent.to_string().contains("long output"), "{sent}");
    answer(&mut client, &mut upstream, "resp_4", &[said("assistant", "went on")]).await;
    let delta = create(Some("resp_4"), &[said("user", "last")]);
    client.send(delta.clone()).await;
    assert_eq!(upstream.text().await, delta, "both know the same history again");
}

#[tokio::test]
async fn a_request_with_an_unknown_history_leaves_only_if_nothing_is_edited() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    client.send(create(Some("resp_of_another_socket"), &[said("user", "go on")])).await;
    let refused = client.json().await;
    assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(400), &json!("previous_response_not_found")));
    assert!(upstream.is_silent().await, "nothing leaves");
    // The client sends everything, on the same socket.
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"});
    let all = [said("user", "look"), call, output, said("assistant", "done"), said("user", "go on")];
    client.send(create(None, &all)).await;
    let sent = upstream.text().await;
    assert!(!sent.contains("long output") && sent.contains("go on"), "{sent}");
}

#[tokio::test]
async fn an_edited_conversation_never_leaves_unread() {
    for message in [Message::text(r#"{"type":"response.create","input":[{"role"#), Message::binary(b"{}".to_vec())] {
        let (router, listener) = daemon(|_| {}).await;
        let (mut client, mut upstream) = connect(&router, &listener).await;
        opened(&mut client, &mut upstream).await;
        router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
        client.send(message).await;
        let refused = client.json().await;
        assert_eq!((&refused["type"], &refused["error"]["code"]), (&json!("error"), &json!("unreadable-request")));
        assert!(matches!(client.next().await, Some(Message::Close(Some(frame))) if frame.code == CloseCode::Error));
        assert!(!matches!(upstream.next().await, Some(Message::Text(_) | Message::Binary(_))), "nothing leaves");
    }
}

#[tokio::test]
async fn a_second_request_before_the_answer_waits_for_nothing_and_leaves_no_edits_out() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    let delta = create(Some("resp_2"), &[said("user", "one")]);
    client.send(delta.clone()).await;
    assert_eq!(upstream.text().await, delta);
    let second = create(Some("resp_2"), &[said("user", "two")]);
    client.send(second.clone()).await;
    assert_eq!(upstream.text().await, second, "an untouched one passes");
    router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    client.send(second).await;
    assert_eq!(client.json().await["status"], 409);
    assert!(upstream.is_silent().await);
}

/// A request with sealed reasoning, composed after an edit.
async fn sealed(client: &mut End, upstream: &mut End, router: &Router) {
    let sealed = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"});
    client.send(create(None, &[said("user", "look")])).await;
    upstream.text().await;
    answer(client, upstream, "resp_1", &[sealed, call]).await;
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"});
    client.send(create(Some("resp_1"), &[output])).await;
    upstream.text().await;
    answer(client, upstream, "resp_2", &[said("assistant", "done")]).await;
    router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    client.send(create(Some("resp_2"), &[said("user", "go on")])).await;
    assert!(upstream.text().await.contains("gAAA"));
}

#[tokio::test]
async fn a_refusal_behind_an_announcement_is_repeated_before_the_client_sees_any() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    sealed(&mut client, &mut upstream, &router).await;
    let created = json!({"type": "response.created", "response": {"id": "resp_3"}}).to_string();
    upstream.send(created.clone()).await;
    assert!(client.is_silent().await, "it waits for the next event");
    let error = json!({"code": "invalid_encrypted_content", "message": "no"});
    let failed = json!({"type": "response.failed", "response": {"id": "resp_3", "status": "failed", "error": error}});
    upstream.send(failed.to_string()).await;
    let again = upstream.text().await;
    assert!(!again.contains("gAAA") && !again.contains("long output") && again.contains("go on"), "{again}");
    upstream.send(created.clone()).await;
    upstream.send(failed.to_string()).await;
    assert_eq!(client.text().await, created, "one announcement");
    assert_eq!(client.json().await["type"], "response.failed", "and no second repetition");
}

#[tokio::test]
async fn reasoning_that_the_provider_cannot_open_is_left_out_once() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    sealed(&mut client, &mut upstream, &router).await;
    let error = json!({"type": "invalid_request_error", "code": "invalid_encrypted_content", "message": "no"});
    upstream.send(json!({"type": "error", "status": 400, "error": error}).to_string()).await;
    let again = upstream.text().await;
    assert!(!again.contains("gAAA") && !again.contains("long output") && again.contains("go on"), "{again}");
    answer(&mut client, &mut upstream, "resp_3", &[said("assistant", "went on")]).await;
}

#[tokio::test]
async fn a_socket_ends_when_one_side_does() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    client.send(create(None, &[said("user", "look")])).await;
    upstream.text().await;
    drop(upstream);
    assert_eq!(client.next().await, None, "the provider died in the middle of its answer");

    let (client, mut upstream) = connect(&router, &listener).await;
    let mut half = client.0.into_inner();
    half.shutdown().await.expect("half closed");
    assert_eq!(upstream.next().await, None, "the client sends nothing more");

    // A message longer than any request.
    let (client, mut upstream) = connect(&router, &listener).await;
    let mut raw = client.0.into_inner();
    raw.write_all(&[&[0x81, 0xff], &(1u64 << 32).to_be_bytes()[..], &[0; 4]].concat()).await.expect("sent");
    let mut client = End(WebSocketStream::from_raw_socket(raw, Role::Client, None).await);
    assert!(matches!(client.next().await, Some(Message::Close(Some(frame))) if frame.code == CloseCode::Size));
    assert_eq!(upstream.next().await, None);
}

#[tokio::test]
async fn an_upgrade_that_the_provider_refuses_gets_its_answer() {
    let (router, listener) = daemon(|_| {}).await;
    let mut client = TcpStream::connect(router.address).await.expect("connected");
    client.write_all(UPGRADE.as_bytes()).await.expect("sent");
    let (mut upstream, _) = soon("the upstream is asked", listener.accept()).await.expect("accepted");
    head_of(&mut upstream).await;
    upstream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nx-why: plan\r\n\r\nnope").await.expect("sent");
    let head = head_of(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 403 ") && head.contains("x-why: plan"), "{head}");
    let mut body = [0; 4];
    soon("the body", client.read_exact(&mut body)).await.expect("a body");
    assert_eq!(&body, b"nope");
}

#[tokio::test]
async fn a_setting_refuses_websockets() {
    let (router, listener) = daemon(|upstream| upstream.websocket = false).await;
    let mut client = TcpStream::connect(router.address).await.expect("connected");
    client.write_all(UPGRADE.as_bytes()).await.expect("sent");
    let head = head_of(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 426 ") && head.contains("no-websocket"), "{head}");
    assert!(tokio::time::timeout(Duration::from_millis(150), listener.accept()).await.is_err(), "nothing leaves");
}
