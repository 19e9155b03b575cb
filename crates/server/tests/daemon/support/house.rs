//! The whole daemon with its service, and an upstream whose every byte the test writes.

use std::net::SocketAddr;
use std::sync::Arc;

use ctx_server::daemon::Daemon;
use ctx_server::{ServerConfig, Token, Upstream};
use ctx_service::Service;
use ctx_service::edit::Folder;
use ctx_store::{MemoryStore, Store};
use ctx_wire::provider_edits::Rules;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::body_of;
use super::raw::{Peer, RawServer};

pub struct Router {
    pub address: SocketAddr,
    token: String,
    pub home: tempfile::TempDir,
    _stop: oneshot::Sender<()>,
}

impl Router {
    pub async fn before(server: &RawServer) -> Self {
        Self::with(&format!("http://{}", server.address), |_| {}).await
    }

    pub async fn with(upstream: &str, change: impl FnOnce(&mut ServerConfig)) -> Self {
        Self::on(Arc::new(MemoryStore::new()), upstream, change).await
    }

    /// On another one's store.
    pub async fn on(store: Arc<dyn Store>, upstream: &str, change: impl FnOnce(&mut ServerConfig)) -> Self {
        Self::asking(store, upstream, change, Rules::default()).await
    }

    /// With the provider's own editing.
    pub async fn asking(
        store: Arc<dyn Store>,
        upstream: &str,
        change: impl FnOnce(&mut ServerConfig),
        rules: Rules,
    ) -> Self {
        let home = tempfile::tempdir().expect("a home");
        let token = Token::generate().expect("a token");
        let address = upstream;
        let upstream = Upstream::new(address.parse().expect("an upstream address"));
        let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into(), upstream, token.clone());
        config.workers = 2;
        change(&mut config);
        let service = Service::open(store.clone()).unwrap_or_else(|_| Service::open_away(store, Vec::new()));
        let service =
            service.offloading_to(Folder::in_home(home.path())).with_provider(Arc::new(Arc::new(rules)), address);
        let service = Arc::new(service);
        let path = home.path().to_owned();
        let daemon = Daemon::bind(config, service, path.clone(), path).await.expect("an open port");
        let address = daemon.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(daemon.run(async {
            let _ = stopped.await;
        }));
        Self { address, token: token.expose().to_owned(), home, _stop: stop }
    }

    pub async fn connect(&self) -> Peer {
        Peer::connect(self.address).await
    }

    /// Calls the control API; returns the raw response.
    pub async fn raw(&self, method: &str, path: &str, body: &str) -> String {
        self.raw_with(method, path, body, "").await
    }

    /// The response to a GET for this reader of hints, with any status.
    pub async fn read_by(&self, reader: &str, path: &str) -> Value {
        let answer = self.raw_with("GET", path, "", &format!("ctx-client: {reader}\r\n")).await;
        serde_json::from_str(body_of(&answer)).expect(&answer)
    }

    async fn raw_with(&self, method: &str, path: &str, body: &str, lines: &str) -> String {
        let mut client = self.connect().await;
        let (host, token, length) = (self.address, &self.token, body.len());
        client
            .send(format!(
                "{method} /control/v1/{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{lines}\
                 Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            ))
            .await;
        String::from_utf8(client.rest().await).expect("text")
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Live events, including the head.
    pub async fn listen(&self) -> Peer {
        self.listen_from("", "").await
    }

    /// With a query and header lines.
    pub async fn listen_from(&self, query: &str, lines: &str) -> Peer {
        let mut listener = self.connect().await;
        let (host, token) = (self.address, &self.token);
        let head = format!("Host: {host}\r\nAuthorization: Bearer {token}\r\n{lines}");
        listener.send(format!("GET /control/v1/events{query} HTTP/1.1\r\n{head}\r\n")).await;
        listener
    }

    pub async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let answer = self.raw(method, path, body).await;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(&answer);
        (status, serde_json::from_str(body_of(&answer)).expect(&answer))
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, "").await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, &body.to_string()).await;
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    /// Checks a refusal, and returns its message.
    pub async fn refuses(&self, method: &str, path: &str, body: &str, status: u16, code: &str) -> String {
        let (given, answer) = self.ask(method, path, body).await;
        assert_eq!((given, answer["error"]["code"].as_str()), (status, Some(code)), "{path} {body}: {answer}");
        assert!(!answer["error"]["hint"].as_str().expect("a hint").is_empty());
        answer["error"]["message"].as_str().expect("a message").to_owned()
    }

    pub async fn edit(&self, session: &str, operations: Value) -> Value {
        self.post(&format!("conversations/{session}/operations"), &json!({"operations": operations, "author": "test"}))
            .await
    }

    /// Deletes a second question, so that later requests are composed.
    pub async fn delete_second(&self, session: &str) {
        self.edit(session, json!([{"op": "delete", "ids": ["t2"]}])).await;
    }

    /// One complete exchange; returns the request that the upstream received.
    pub async fn talk(&self, server: &RawServer, session: &str, body: &str) -> Arrived {
        self.talk_with(server, session, body, ANSWER).await
    }

    /// The same with this answer.
    pub async fn talk_with(&self, server: &RawServer, session: &str, body: &str, said: &str) -> Arrived {
        let mut client = self.connect().await;
        client.send(request(session, body)).await;
        let mut arrived = Arrived::at(server).await;
        arrived.peer.send(answer("200 OK", said)).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200 "));
        client.rest().await;
        arrived
    }

    /// The request that the provider would get now.
    pub async fn composed(&self, session: &str) -> String {
        let answer = self.raw("GET", &format!("conversations/{session}/compose"), "").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        body_of(&answer).to_owned()
    }
}

pub const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}"#;

/// The same from this model.
pub fn answered_by(model: &str) -> String {
    ANSWER.replace("\"model\":\"m\"", &format!("\"model\":\"{model}\""))
}

/// This many questions, all but the last answered.
pub fn conversation(topic: &str, questions: usize) -> String {
    let mut messages = Vec::new();
    for number in 1..=questions {
        messages.push(json!({"role": "user", "content": format!("{topic} question {number}")}));
        if number < questions {
            messages.push(json!({"role": "assistant", "content": format!("{topic} answer {number}")}));
        }
    }
    json!({"model": "m", "max_tokens": 100, "thinking": {"type": "adaptive"}, "messages": messages}).to_string()
}

pub fn request(session: &str, body: &str) -> String {
    head(session, &format!("Content-Length: {}\r\n", body.len())) + body
}

/// A head with the given framing, followed by `X-Last`.
pub fn head(session: &str, framing: &str) -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Session-Id: {session}\r\n{framing}X-Last: 1\r\nConnection: close\r\n\r\n"
    )
}

/// A response after which the upstream closes the connection.
pub fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request as the upstream received it.
pub struct Arrived {
    pub head: String,
    pub body: Vec<u8>,
    pub peer: Peer,
}

impl Arrived {
    pub async fn at(server: &RawServer) -> Self {
        Self::from(server.accept().await).await
    }

    pub async fn from(mut peer: Peer) -> Self {
        let head = peer.head().await;
        let body = match super::header_of(&head, "content-length") {
            Some(length) => peer.exactly(length.parse().expect("a length")).await,
            None => peer.chunked().await.0,
        };
        Self { head, body, peer }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        super::header_of(&self.head, name)
    }

    /// Its questions.
    pub fn questions(&self) -> Vec<String> {
        let body: Value = serde_json::from_slice(&self.body).expect("JSON");
        let messages = body["messages"].as_array().expect("messages").iter();
        let text = |message: &Value| match &message["content"] {
            Value::Array(blocks) => blocks.iter().map(|block| block["text"].as_str().unwrap_or_default()).collect(),
            content => content.as_str().unwrap_or_default().to_owned(),
        };
        messages.filter(|message| message["role"] == "user").map(text).collect()
    }
}
