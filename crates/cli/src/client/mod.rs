//! The way to a running daemon: finding it, asking its control API, and telling apart what can go wrong.
//! What is asked belongs to the verbs.

mod find;
mod http;
mod job;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use ctx_api::status::Status;
use ctx_api::timeline::Timeline;
use ctx_server::Token;
use hyper::Method;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

pub use self::find::{Whereabouts, is_running};
use crate::failure::Failure;
use crate::output::busy::Busy;

/// The daemon answers from memory or disk; nothing that takes longer is still at work.
const PATIENCE: Duration = Duration::from_secs(60);
/// For a look whether anybody is there at all.
const KNOCK: Duration = Duration::from_secs(1);
/// For files, which may be large.
const LONG_PATIENCE: Duration = Duration::from_secs(600);

/// A daemon that has a place, and the token for it. Nothing was sent yet.
pub struct Client {
    address: SocketAddr,
    token: Token,
    /// Why we think that a daemon is at this address, for the message if it is not.
    found: find::Found,
    runtime: Runtime,
}

impl Client {
    pub fn find(whereabouts: &Whereabouts) -> Result<Self, Failure> {
        let (found, token) = whereabouts.look()?;
        Ok(Self { address: found.address(), token, found, runtime: runtime()? })
    }

    /// The same, if something listens at its address.
    pub fn there(self) -> Result<Self, Failure> {
        match std::net::TcpStream::connect_timeout(&self.address, KNOCK) {
            Ok(_) => Ok(self),
            Err(error) => Err(self.found.explain(http::Trouble::Unreachable(http::connect_reason(&error)))),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link that lets a browser in, perhaps to one conversation.
    pub fn page_link(&self, conversation: Option<&str>) -> String {
        page_link(self.address, &self.token, conversation)
    }

    /// The answer's bytes as they came; `path` is relative to `/control/v1`.
    pub fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.ask(Method::GET, path, Bytes::new())
    }

    /// The whole id of the conversation that is meant by this name.
    pub fn resolve(&self, name: &str) -> Result<String, Failure> {
        let timeline: Timeline = understood(&self.get(&of_conversation(name, "timeline?limit=1"))?)?;
        Ok(timeline.conversation)
    }

    pub fn post(&self, path: &str, body: &serde_json::Value) -> Result<Bytes, Failure> {
        self.ask(Method::POST, path, Bytes::from(body.to_string()))
    }

    /// Sends a file.
    pub fn upload(&self, path: &str, file: Vec<u8>) -> Result<Bytes, Failure> {
        self.ask(Method::POST, path, Bytes::from(file))
    }

    /// A file, and how much of it has come so far.
    pub fn download(&self, path: &str, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, Failure> {
        let path = api(path);
        let asked = http::fetch(self.address, self.token.expose(), &path, progress);
        self.runtime.block_on(http::within(LONG_PATIENCE, asked)).map_err(|trouble| self.found.explain(trouble))
    }

    fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Failure> {
        let _busy = Busy::start("waiting for the daemon");
        let path = api(path);
        let asked = http::ask(self.address, self.token.expose(), method, &path, body);
        self.runtime.block_on(http::within(PATIENCE, asked)).map_err(|trouble| self.found.explain(trouble))
    }

    /// Hands every live event's JSON to `sink` until it has enough. An end of the stream is the daemon's end.
    pub fn events(
        &self,
        path: &str,
        sink: impl FnMut(&str) -> ControlFlow<Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let path = api(path);
        let listened = http::listen(self.address, self.token.expose(), &path, sink);
        match self.runtime.block_on(listened) {
            Ok(ended) => ended,
            Err(trouble) => Err(self.found.explain(trouble)),
        }
    }
}

/// Sends a request without credentials through the daemon at this address to the upstream. `Ok(None)`: it got
/// there; `Ok(Some(words))`: the daemon says why not.
pub fn reach_upstream(address: SocketAddr, patience: Duration) -> Result<Option<String>, Failure> {
    let reached = http::within(patience, http::reach_upstream(callable(address)));
    runtime()?.block_on(reached).map_err(|trouble| find::Found::Told { address }.explain(trouble))
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::new("no-runtime", format!("the system does not let the program wait for answers: {error}"))
    })
}

pub fn page_link(address: SocketAddr, token: &Token, conversation: Option<&str>) -> String {
    let place = conversation.map(|id| format!("#/{}/frames", encoded(id, ""))).unwrap_or_default();
    format!("http://{}/ui/?token={}{place}", callable(address), token.expose())
}

/// What an answer means. A daemon of another version may say it differently.
pub fn understood<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(answer).map_err(|error| {
        Failure::new("not-understood", format!("the daemon's answer is not understood: {error}")).hint(
            "the daemon may be older or newer than this program: compare `ctx --version` with `ctx status --json`",
        )
    })
}

/// A path of the control API that names a conversation.
pub fn of_conversation(conversation: &str, rest: &str) -> String {
    format!("/conversations/{}/{rest}", encoded(conversation, ""))
}

/// Percent-encoding for one part of a path; `spared` stays as it is.
pub fn encoded(text: &str, spared: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            _ if spared.as_bytes().contains(&byte) => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn api(path: &str) -> String {
    format!("/control/v1{path}")
}

/// An address such as 0.0.0.0 can be listened on but not called.
pub fn callable(listen: SocketAddr) -> SocketAddr {
    match listen {
        SocketAddr::V4(address) if address.ip().is_unspecified() => {
            SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), address.port())
        }
        SocketAddr::V6(address) if address.ip().is_unspecified() => {
            SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port())
        }
        other => other,
    }
}

impl Client {
    pub fn status(&self) -> Result<Status, Failure> {
        understood(&self.get("/status")?)
    }
}
