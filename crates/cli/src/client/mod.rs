//! The connection to a running daemon: finds it, calls its control API, and distinguishes the possible failures. The
//! calls themselves belong to the verbs.

mod find;
mod job;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::{ControlFlow, Deref};
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
use self::find::{FoundAddress, FoundDaemon};
use crate::failure::Failure;
use crate::gateway::GatewayUrl;
use crate::output::busy::Busy;
use crate::output::words;

/// The timeout for probing an address.
const KNOCK: Duration = Duration::from_secs(1);

/// Shown while the daemon works.
const WAITING: &str = "waiting for the daemon";

/// A daemon's address and token. Nothing has been sent yet.
pub struct Client {
    api: ctx_api::client::Client,
    /// For the link to the page of a daemon on this machine.
    token: Option<Token>,
    /// The source of the address, for error messages.
    found: FoundDaemon,
    runtime: Runtime,
}

/// A daemon on this machine.
pub struct LocalClient {
    client: Client,
    address: SocketAddr,
}

impl LocalClient {
    pub fn find(whereabouts: &Whereabouts) -> Result<Self, Failure> {
        let (found, token) = whereabouts.look()?;
        let address = found.address();
        let api = ctx_api::client::Client::new(address, token.expose()).read_by(Face::Shell);
        let client = Client { api, token: Some(token), found: FoundDaemon::Local(found), runtime: runtime()? };
        Ok(Self { client, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn into_client(self) -> Client {
        self.client
    }
}

impl Deref for LocalClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    /// The gateway that the user has chosen, else the daemon on this machine.
    pub fn find(whereabouts: &Whereabouts) -> Result<Self, Failure> {
        let Some(gateway) = whereabouts.gateway()? else {
            return LocalClient::find(whereabouts).map(LocalClient::into_client);
        };
        let api = gateway.client(&whereabouts.environment)?;
        Self::of_gateway(gateway.url, api)
    }

    /// A client of a gateway, whichever one is chosen.
    pub fn of_gateway(url: GatewayUrl, api: ctx_api::client::Client) -> Result<Self, Failure> {
        let api = api.read_by(Face::Shell);
        Ok(Self { api, token: None, found: FoundDaemon::Gateway(url), runtime: runtime()? })
    }

    /// The same for an agent: hints name tools.
    pub fn for_agent(self) -> Self {
        Self { api: self.api.read_by(Face::Tools), ..self }
    }

    /// The same, if a program listens at the address. No other is started in place of a gateway.
    pub fn there(self) -> Result<Self, Failure> {
        let FoundDaemon::Local(found) = &self.found else { return Ok(self) };
        match std::net::TcpStream::connect_timeout(&found.address(), KNOCK) {
            Ok(_) => Ok(self),
            Err(error) => Err(self.found.explain(ClientError::Unreachable(connect_reason(&error)))),
        }
    }

    /// The gateway, if the daemon is one.
    pub fn gateway(&self) -> Option<&GatewayUrl> {
        match &self.found {
            FoundDaemon::Gateway(url) => Some(url),
            FoundDaemon::Local(_) => None,
        }
    }

    /// The address of the daemon, for people.
    pub fn place(&self) -> String {
        self.found.to_string()
    }

    /// The link that signs a browser in, optionally to one conversation. On a gateway, people sign in themselves.
    pub fn page_link(&self, conversation: Option<&str>) -> String {
        match (&self.found, &self.token) {
            (FoundDaemon::Local(found), Some(token)) => page_link(found.address(), token, conversation),
            (FoundDaemon::Local(found), None) => format!("http://{}/ui/{}", found.address(), page_place(conversation)),
            (FoundDaemon::Gateway(url), _) => format!("{url}/ui/{}", page_place(conversation)),
        }
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

    /// Makes a call that needs no credentials, and sends none; `path` is relative to `/control`.
    pub fn call_without_key<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        let asked = self.api.call_without_key(path, body);
        self.runtime.block_on(asked).map_err(|error| self.found.explain(error))
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

    /// Sends an exported conversation.
    pub fn upload(&self, path: &str, file: Vec<u8>) -> Result<Bytes, Failure> {
        let _busy = Busy::start(format!("importing {}", words::bytes(file.len() as u64)));
        let sent = self.api.upload(path, Bytes::from(file));
        self.runtime.block_on(sent).map_err(|error| self.found.explain(error))
    }

    /// Downloads a file and reports its progress.
    pub fn download(&self, path: &str, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, Failure> {
        self.runtime.block_on(self.api.download(path, progress)).map_err(|error| self.found.explain(error))
    }

    /// Sends a GET, or a POST with this body.
    pub fn ask(&self, path: &str, body: Option<&str>) -> Result<Bytes, Failure> {
        match body {
            Some(body) => self.send(Method::POST, path, Bytes::from(body.to_owned())),
            None => self.send(Method::GET, path, Bytes::new()),
        }
    }

    fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Failure> {
        let _busy = Busy::start(WAITING);
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
    runtime()?.block_on(reached).map_err(|error| FoundDaemon::Local(FoundAddress::Told { address }).explain(error))
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ErrorCode::NoRuntime, format!("cannot start the client: {error}")))
}

pub fn page_link(address: SocketAddr, token: &Token, conversation: Option<&str>) -> String {
    format!("http://{}/ui/?token={}{}", callable(address), token.expose(), page_place(conversation))
}

fn page_place(conversation: Option<&str>) -> String {
    conversation.map(|id| format!("#/{}/frames", encoded(id, ""))).unwrap_or_default()
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
