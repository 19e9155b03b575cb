//! The connection to a running daemon: finds it, calls its control API, and distinguishes the possible failures. The
//! calls themselves belong to the verbs.

mod find;
mod job;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
pub use ctx_api::call::encoded;
use ctx_api::call::{Call, Conversation};
use ctx_api::client::{ClientError, connect_reason};
use ctx_api::face::Face;
use ctx_api::status::Status;
use ctx_api::timeline::TimelineQuery;
use ctx_core::ErrorCode;
use ctx_server::Token;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

pub use self::find::Whereabouts;
use crate::failure::Failure;
use crate::output::busy::Busy;
use crate::output::words;

/// The timeout for probing an address.
const KNOCK: Duration = Duration::from_secs(1);

/// Shown while the daemon works.
const WAITING: &str = "waiting for the daemon";

/// A daemon's address and token. Nothing has been sent yet.
pub struct Client {
    api: ctx_api::client::Client,
    token: Token,
    /// The source of the address, for error messages.
    found: find::FoundAddress,
    runtime: Runtime,
}

impl Client {
    pub fn find(whereabouts: &Whereabouts) -> Result<Self, Failure> {
        let (found, token) = whereabouts.look()?;
        let api = ctx_api::client::Client::new(found.address(), token.expose()).read_by(Face::Shell);
        Ok(Self { api, token, found, runtime: runtime()? })
    }

    /// The same for an agent: hints name tools.
    pub fn for_agent(self) -> Self {
        Self { api: self.api.read_by(Face::Tools), ..self }
    }

    /// The same, if a program listens at the address.
    pub fn there(self) -> Result<Self, Failure> {
        match std::net::TcpStream::connect_timeout(&self.address(), KNOCK) {
            Ok(_) => Ok(self),
            Err(error) => Err(self.found.explain(ClientError::Unreachable(connect_reason(&error)))),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.api.address()
    }

    /// The link that signs a browser in, optionally to one conversation.
    pub fn page_link(&self, conversation: Option<&str>) -> String {
        page_link(self.address(), &self.token, conversation)
    }

    /// The bytes of the response; `path` is relative to `/control/v1`.
    pub fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.ask(path, None)
    }

    /// Makes a call and parses its response.
    pub fn call<T: DeserializeOwned>(&self, call: &Call<T>) -> Result<T, Failure> {
        let _busy = Busy::start(WAITING);
        self.runtime.block_on(self.api.call(call)).map_err(|error| self.found.explain(error))
    }

    /// The full id of the conversation with this name.
    pub fn resolve(&self, name: &str) -> Result<String, Failure> {
        let query = TimelineQuery { limit: Some(1), ..TimelineQuery::default() };
        Ok(self.call(&Conversation(name).timeline(&query))?.conversation)
    }

    /// The response to a request with this body.
    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<Bytes, Failure> {
        self.ask(path, Some(&serde_json::to_string(body).unwrap_or_default()))
    }

    /// Sends a file.
    pub fn upload(&self, path: &str, file: Vec<u8>) -> Result<Bytes, Failure> {
        let doing = format!("importing {}", words::bytes(file.len() as u64));
        self.send(Method::POST, path, Bytes::from(file), doing)
    }

    /// Downloads a file and reports its progress.
    pub fn download(&self, path: &str, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, Failure> {
        self.runtime.block_on(self.api.download(path, progress)).map_err(|error| self.found.explain(error))
    }

    /// Sends a GET, or a POST with this body.
    pub fn ask(&self, path: &str, body: Option<&str>) -> Result<Bytes, Failure> {
        match body {
            Some(body) => self.send(Method::POST, path, Bytes::from(body.to_owned()), WAITING),
            None => self.send(Method::GET, path, Bytes::new(), WAITING),
        }
    }

    fn send(&self, method: Method, path: &str, body: Bytes, doing: impl Into<String>) -> Result<Bytes, Failure> {
        let _busy = Busy::start(doing);
        self.runtime.block_on(self.api.ask(method, path, body)).map_err(|error| self.found.explain(error))
    }

    /// Passes the JSON of every live event to `sink` until it has enough. The stream ends only with the daemon.
    pub fn events(
        &self,
        path: &str,
        sink: impl FnMut(&str) -> ControlFlow<Result<(), Failure>>,
    ) -> Result<(), Failure> {
        match self.runtime.block_on(self.api.events(path, sink)) {
            Ok(ended) => ended,
            Err(error) => Err(self.found.explain(error)),
        }
    }

    pub fn status(&self) -> Result<Status, Failure> {
        self.call(&ctx_api::call::status())
    }
}

/// Sends a request without credentials through the daemon at this address to the upstream. `Ok(None)`: it arrived;
/// `Ok(Some(words))`: the daemon's reason why not.
pub fn reach_upstream(address: SocketAddr, patience: Duration) -> Result<Option<String>, Failure> {
    let reached = ctx_api::client::reach_upstream(callable(address), patience);
    runtime()?.block_on(reached).map_err(|error| find::FoundAddress::Told { address }.explain(error))
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ErrorCode::NoRuntime, format!("cannot start the client: {error}")))
}

pub fn page_link(address: SocketAddr, token: &Token, conversation: Option<&str>) -> String {
    let place = conversation.map(|id| format!("#/{}/frames", encoded(id, ""))).unwrap_or_default();
    format!("http://{}/ui/?token={}{place}", callable(address), token.expose())
}

/// Parses a response. A daemon of another version may use another form.
pub fn understood<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(answer).map_err(|error| not_understood(&error))
}

fn not_understood(error: &serde_json::Error) -> Failure {
    Failure::new(ErrorCode::NotUnderstood, format!("cannot parse the daemon's response: {error}"))
        .hint("their versions may differ: compare `ctx --version` with `ctx status`")
}

/// A path of the control API that names a conversation.
pub fn of_conversation(conversation: &str, rest: &str) -> String {
    format!("/conversations/{}/{rest}", encoded(conversation, ""))
}

/// Replaces an address that cannot be connected to, such as 0.0.0.0.
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
