//! Shared test support: a daemon on a free port, raw peers on both sides of it, and a recording observer. Everything
//! runs on loopback and stops by itself.

pub mod house;
pub mod raw;
pub mod recorder;
pub mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use ctx_server::{Limits, Server, ServerConfig, Token, Upstream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::raw::Peer;
use self::recorder::Recorder;

/// Nothing on loopback takes this long; a longer wait would be endless.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Waits with a timeout.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting: {what}"),
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    soon(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

pub struct Daemon {
    pub address: SocketAddr,
    pub token: String,
    pub recorder: Arc<Recorder>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<std::io::Result<()>>,
}

/// A daemon that is about to start.
pub struct Plan {
    pub config: ServerConfig,
    pub control: Router,
    pub recorder: Arc<Recorder>,
}

impl Plan {
    pub fn new(upstream: &str) -> Self {
        let upstream = Upstream::new(upstream.parse().expect("an upstream address"));
        let token = Token::generate().expect("a token");
        let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into(), upstream, token);
        config.limits = Limits { shutdown_grace: Duration::from_millis(200), ..Limits::default() };
        config.workers = 2;
        Self { config, control: Router::new(), recorder: Recorder::new() }
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.config.limits);
        self
    }

    pub fn upstream(mut self, change: impl FnOnce(&mut Upstream)) -> Self {
        change(&mut self.config.upstream);
        self
    }

    pub fn control(mut self, control: Router) -> Self {
        self.control = control;
        self
    }

    pub async fn start(self) -> Daemon {
        let token = self.config.token.expose().to_owned();
        let bound = Server::bind(self.config, self.recorder.clone(), self.control).await.expect("an open port");
        let address = bound.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(bound.run(async {
            let _ = stopped.await;
        }));
        Daemon { address, token, recorder: self.recorder, stop: Some(stop), running }
    }
}

impl Daemon {
    pub async fn before(upstream: SocketAddr) -> Self {
        Plan::new(&format!("http://{upstream}")).start().await
    }

    pub async fn connect(&self) -> Peer {
        Peer::connect(self.address).await
    }

    /// Sends one request on its own connection and reads the response to its end.
    pub async fn ask(&self, request: &str) -> String {
        let mut client = self.connect().await;
        client.send(request).await;
        String::from_utf8_lossy(&client.rest().await).into_owned()
    }

    /// A `GET` with `Connection: close`, the right `Host` and these header lines.
    pub async fn get(&self, path: &str, lines: &str) -> String {
        let host = self.address;
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{lines}Connection: close\r\n\r\n")).await
    }

    pub fn begin_shutdown(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub async fn ended(self) {
        soon("the daemon's end", self.running).await.expect("no panic").expect("a clean end");
    }
}

/// The body of a raw response.
pub fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// The value of a header in a raw head, by its lower-case name.
pub fn header_of<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n\r\n").next()?.lines().skip(1).find_map(|line| {
        let (given, value) = line.split_once(':')?;
        given.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Checks that a response is an error in the provider's format, and returns its message.
pub fn provider_error(answer: &str, status: u16, kind: &str, code: &str) -> String {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert_eq!(header_of(answer, "x-context-composer-error"), Some(code), "{answer}");
    assert_eq!(header_of(answer, "content-type"), Some("application/json"), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body_of(answer)).expect(answer);
    assert_eq!(body["type"], "error", "{answer}");
    assert_eq!(body["error"]["type"], kind, "{answer}");
    assert_eq!(body["request_id"], serde_json::Value::Null);
    assert!(body.as_object().expect("an object").contains_key("request_id"));
    body["error"]["message"].as_str().expect("a message").to_owned()
}
