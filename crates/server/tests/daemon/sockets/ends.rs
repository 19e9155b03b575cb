//! Both ends of a WebSocket through the daemon.

use crate::support::house::Router;
use crate::support::soon;
use ctx_server::{ServerConfig, Upstream};
use ctx_store::{MemoryStore, Store};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

pub const UPGRADE: &str = "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Sec-WebSocket-Extensions: permessage-deflate\r\nAuthorization: Bearer hush\r\nX-Session-Id: ws\r\n\r\n";
const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nx-turn-state: sticky\r\n\r\n";

/// A daemon on a memory store, and the listener of its upstream.
pub async fn daemon(change: impl FnOnce(&mut Upstream)) -> (Router, TcpListener) {
    daemon_on(Arc::new(MemoryStore::new()), change, |_| {}).await
}

/// The same on another one's store, with other settings.
pub async fn daemon_on(
    store: Arc<dyn Store>,
    change: impl FnOnce(&mut Upstream),
    settings: impl FnOnce(&mut ServerConfig),
) -> (Router, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut upstream = Upstream::new(url.parse().expect("an address"));
    change(&mut upstream);
    let router = Router::on(store, &url, |config| {
        config.upstreams.push(("openai".to_owned(), upstream));
        settings(config);
    });
    (router.await, listener)
}

pub async fn head_of(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon("a head", stream.read_u8()).await.expect("a byte"));
    }
    String::from_utf8(head).expect("text")
}

/// A plain connection, or one over TLS.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Transport for T {}

/// One end of an open socket.
pub struct End(pub WebSocketStream<Box<dyn Transport>>);

impl End {
    pub async fn send(&mut self, message: impl Into<Message>) {
        soon("to send", self.0.send(message.into())).await.expect("sent");
    }

    pub async fn next(&mut self) -> Option<Message> {
        soon("a message", self.0.next()).await.and_then(Result::ok)
    }

    pub async fn text(&mut self) -> String {
        loop {
            match self.next().await.expect("a message") {
                Message::Text(text) => return text.as_str().to_owned(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).expect("JSON")
    }

    pub async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(150), self.0.next()).await.is_err()
    }
}

/// A client and the upstream, connected through the daemon.
pub async fn connect(router: &Router, listener: &TcpListener) -> (End, End) {
    let client = asking(router).await;
    let (upstream, _) = soon("the upstream is asked", listener.accept()).await.expect("accepted");
    joined(client, upstream).await
}

/// A client that asks for a socket.
pub async fn asking(router: &Router) -> TcpStream {
    let mut client = TcpStream::connect(router.address).await.expect("connected");
    client.write_all(UPGRADE.as_bytes()).await.expect("sent");
    client
}

/// The two ends, once the upstream has accepted.
pub async fn joined(mut client: TcpStream, mut upstream: impl Transport + 'static) -> (End, End) {
    let asked = head_of(&mut upstream).await;
    assert!(asked.starts_with("GET /v1/responses HTTP/1.1\r\n") && asked.contains("Bearer hush"), "{asked}");
    assert!(!asked.to_lowercase().contains("deflate"), "messages are not compressed: {asked}");
    upstream.write_all(ACCEPTED.as_bytes()).await.expect("sent");
    upstream.flush().await.expect("sent");
    let answered = head_of(&mut client).await;
    assert!(answered.starts_with("HTTP/1.1 101 ") && answered.contains("x-turn-state: sticky"), "{answered}");
    assert!(answered.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answered}");
    let client: Box<dyn Transport> = Box::new(client);
    let upstream: Box<dyn Transport> = Box::new(upstream);
    let client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
    let upstream = WebSocketStream::from_raw_socket(upstream, Role::Server, None).await;
    (End(client), End(upstream))
}

pub fn said(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

pub fn create(previous: Option<&str>, input: &[Value]) -> String {
    let mut body = json!({"type": "response.create", "model": "gpt-5.6-sol", "store": false, "input": input});
    if let Some(previous) = previous {
        body["previous_response_id"] = previous.into();
    }
    body.to_string()
}

/// Answers with these items; the client gets the same messages.
pub async fn answer(client: &mut End, upstream: &mut End, id: &str, items: &[Value]) {
    let mut events = vec![json!({"type": "response.created", "response": {"id": id}})];
    for (index, item) in items.iter().enumerate() {
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let usage = json!({"input_tokens": 50, "output_tokens": 3});
    let done = json!({"id": id, "status": "completed", "model": "gpt-5.6-sol", "output": items, "usage": usage});
    events.push(json!({"type": "response.completed", "response": done}));
    for event in events {
        upstream.send(event.to_string()).await;
        assert_eq!(client.text().await, event.to_string());
    }
}

/// A question with a call and its result, over the socket.
pub async fn opened(client: &mut End, upstream: &mut End) {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"});
    let first = create(None, &[said("user", "look")]);
    client.send(first.clone()).await;
    assert_eq!(upstream.text().await, first);
    answer(client, upstream, "resp_1", &[call]).await;
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"});
    let delta = create(Some("resp_1"), &[output]);
    client.send(delta.clone()).await;
    assert_eq!(upstream.text().await, delta, "an untouched conversation passes as it is");
    answer(client, upstream, "resp_2", &[said("assistant", "done")]).await;
}
