//! Sockets over TLS, on a store that fails, and without traffic.

use super::ends::{End, answer, asking, connect, create, daemon, daemon_on, joined, opened, said};
use super::stores::FailingStore;
use crate::support::house::Router;
use crate::support::soon;
use crate::support::tls::{self, Authority};
use ctx_server::Upstream;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

const IDLE: Duration = Duration::from_millis(400);

/// The history of [`opened`] and one more question.
fn whole_history() -> [Value; 5] {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"});
    [said("user", "look"), call, output, said("assistant", "done"), said("user", "go on")]
}

async fn drop_results(router: &Router) {
    router.edit("ws", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
}

#[tokio::test]
async fn a_provider_over_tls_gets_messages_as_they_are_and_composed_ones() {
    let authority = Authority::new();
    // With HTTP/2 on offer, as providers have it: a WebSocket needs HTTP/1.1.
    let acceptor = authority.acceptor("localhost", &[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
    let mut upstream = Upstream::new(url.parse().expect("an address"));
    upstream.extra_ca.push(authority.file());
    let router = Router::with("http://127.0.0.1:9", |config| config.upstreams.push(("openai".into(), upstream))).await;

    let client = asking(&router).await;
    let (stream, _) = soon("the upstream is asked", listener.accept()).await.expect("accepted");
    let stream = tls::accept(&acceptor, stream).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    let (mut client, mut upstream) = joined(client, stream).await;
    opened(&mut client, &mut upstream).await;
    drop_results(&router).await;
    client.send(create(Some("resp_2"), &[said("user", "go on")])).await;
    let sent = upstream.text().await;
    assert!(!sent.contains("long output") && sent.contains("go on"), "{sent}");
    let long = "x".repeat(300_000);
    answer(&mut client, &mut upstream, "resp_3", &[said("assistant", &long)]).await;
    client.send(Message::Close(None)).await;
    assert!(matches!(upstream.next().await, Some(Message::Close(_))));
}

#[tokio::test]
async fn a_provider_with_an_unknown_certificate_gets_no_socket() {
    let (listener, authority) = (TcpListener::bind("127.0.0.1:0").await.expect("a port"), Authority::new());
    let url = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
    let upstream = Upstream::new(url.parse().expect("an address"));
    let router = Router::with("http://127.0.0.1:9", |config| config.upstreams.push(("openai".into(), upstream))).await;
    let mut client = asking(&router).await;
    let (stream, _) = soon("the upstream is asked", listener.accept()).await.expect("accepted");
    assert!(soon("a handshake", authority.acceptor("localhost", &[]).accept(stream)).await.is_err());
    let head = super::ends::head_of(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 502 ") && head.contains("upstream-unreachable"), "{head}");
}

#[tokio::test]
async fn a_store_that_refuses_writes_does_not_undo_edits_on_an_open_socket() {
    let store = Arc::new(FailingStore::new());
    let (router, listener) = daemon_on(store.clone(), |_| {}, |_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    drop_results(&router).await;
    store.refuse_writes(true);
    for (number, question) in [(2, "go on"), (3, "and on")] {
        client.send(create(Some(&format!("resp_{number}")), &[said("user", question)])).await;
        let sent = upstream.text().await;
        assert!(!sent.contains("long output") && sent.contains(question), "{sent}");
        answer(&mut client, &mut upstream, &format!("resp_{}", number + 1), &[said("assistant", "went on")]).await;
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_read_keeps_an_edited_conversation_from_leaving() {
    let store = Arc::new(FailingStore::new());
    let (router, listener) = daemon_on(store.clone(), |_| {}, |_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    drop_results(&router).await;
    drop((router, client, upstream));

    // Another daemon does not have the conversation in memory.
    let (router, listener) = daemon_on(store.clone(), |_| {}, |_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    store.refuse_reads(true);
    client.send(create(None, &whole_history())).await;
    let refused = client.json().await;
    assert_eq!((&refused["type"], &refused["status"]), (&json!("error"), &json!(503)), "{refused}");
    assert_eq!(refused["error"]["code"], "store-unavailable", "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains("ctx doctor")), "{refused}");
    assert!(matches!(client.next().await, Some(Message::Close(Some(frame))) if frame.code == CloseCode::Error));
    assert!(!matches!(upstream.next().await, Some(Message::Text(_))), "nothing leaves");

    store.heal();
    let (mut client, mut upstream) = connect(&router, &listener).await;
    client.send(create(None, &whole_history())).await;
    let sent = upstream.text().await;
    assert!(!sent.contains("long output") && sent.contains("go on"), "{sent}");
}

async fn idle_daemon() -> (Router, TcpListener) {
    let limits = |config: &mut ctx_server::ServerConfig| config.limits.socket_idle_timeout = IDLE;
    daemon_on(Arc::new(ctx_store::MemoryStore::new()), |_| {}, limits).await
}

async fn is_told_of_silence(end: &mut End) -> bool {
    matches!(end.next().await, Some(Message::Close(Some(frame))) if frame.code == CloseCode::Away)
}

#[tokio::test]
async fn a_socket_on_which_neither_side_speaks_is_closed() {
    let (router, listener) = idle_daemon().await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    drop_results(&router).await;
    assert!(is_told_of_silence(&mut client).await && is_told_of_silence(&mut upstream).await);

    // The client opens another one. Its history is unknown there, and the edit still holds.
    let (mut client, mut upstream) = connect(&router, &listener).await;
    client.send(create(Some("resp_2"), &[said("user", "go on")])).await;
    assert_eq!(client.json().await["error"]["code"], "previous_response_not_found");
    client.send(create(None, &whole_history())).await;
    assert!(!upstream.text().await.contains("long output"));
}

#[tokio::test]
async fn a_socket_on_which_one_side_speaks_stays_open() {
    let (router, listener) = idle_daemon().await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    client.send(create(None, &[said("user", "look")])).await;
    upstream.text().await;
    // The client is silent for three times the limit while the answer comes.
    for _ in 0..6 {
        tokio::time::sleep(IDLE / 2).await;
        let event = json!({"type": "response.in_progress"}).to_string();
        upstream.send(event.clone()).await;
        assert_eq!(client.text().await, event);
    }
    answer(&mut client, &mut upstream, "resp_1", &[said("assistant", "done")]).await;
}

#[tokio::test]
async fn the_end_of_a_providers_socket_reaches_the_client_with_its_reason() {
    let (router, listener) = daemon(|_| {}).await;
    let (mut client, mut upstream) = connect(&router, &listener).await;
    opened(&mut client, &mut upstream).await;
    drop_results(&router).await;
    let limit = json!({"type": "error", "status": 400, "error": {"type": "invalid_request_error",
        "code": "websocket_connection_limit_reached", "message": "Responses websocket connection limit reached (60 minutes)."}});
    upstream.send(limit.to_string()).await;
    upstream.send(Message::Close(None)).await;
    assert_eq!(client.text().await, limit.to_string());
    assert!(matches!(client.next().await, Some(Message::Close(_))));
    let (mut client, mut upstream) = connect(&router, &listener).await;
    client.send(create(None, &whole_history())).await;
    assert!(!upstream.text().await.contains("long output"));
}
