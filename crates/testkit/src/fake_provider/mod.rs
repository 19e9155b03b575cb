//! A strict, scripted stand-in for the Anthropic Messages API, on loopback.
//!
//! Directives in the prompt itself script its answers, so that one prompt string drives a whole agent loop without any
//! set-up here. It searches the newest human text (not reminders and tool results); a directive is on its own line or
//! between `;;`. Directives before a `THEN` make one assistant message; `THEN` starts the one that answers the tool
//! results.
//!
//! | directive | effect |
//! |---|---|
//! | `SAY:text` | a text block |
//! | `THINK:text` | a signed thinking block |
//! | `REDACTED` | a redacted thinking block |
//! | `USE_TOOL:Name:argument` | a tool call; the argument is a JSON object, or the tool's main argument |
//! | `FIND_TOOL:text` | a search of the provider for deferred tools whose definition contains the text |
//! | `THEN` | the next assistant message |
//! | `BIG:n` | a text block of n characters |
//! | `USAGE:n` | report n input tokens |
//! | `STOP:reason` | this stop reason |
//! | `DELAY:seconds` | wait before the head of the response |
//! | `SLOW:seconds` | wait after each event |
//! | `HANG:seconds` | fall silent after the first delta, then go on |
//! | `FAIL:status[:k[:message]]` | an HTTP error for the first k attempts (1) |
//! | `MIDERR:type[:k]` | an error event after the first delta, first k attempts |
//! | `CUT[:k]` | drop the connection after the first delta, first k attempts |
//!
//! Without directives it says `ok N`; a request for JSON gets the smallest value of its schema, a request for a summary
//! gets one, and a classifier gets `<block>no</block>`.
//!
//! Endpoints: `POST /v1/messages`, `POST /v1/messages/count_tokens`, `GET /v1/models[/{id}]`,
//! `GET|HEAD /` and `/api/hello`; for tests in other languages `GET /_fake/requests[/{n}]`,
//! `POST /_fake/reset`, `POST /_fake/enqueue` (the JSON of [`QueuedAnswer`]).

mod answer;
pub(crate) mod binding;
pub(crate) mod cache;
mod directives;
mod editing;
pub(crate) mod json;
mod messages;
mod prompt;
mod records;
pub(crate) mod refusal;
pub(crate) mod request;
mod routes;
mod serve;
mod signature;
mod stream;
mod tool_search;
pub(crate) mod validate;

pub use answer::QueuedAnswer;
pub use editing::ContextEditing;
pub use records::{Outcome, RequestRecord};
pub use validate::{check, thinking_after};

use crate::background::Background;
use crate::observed::NotObserved;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The API removes system blocks that start with this first.
pub const VOLATILE_SYSTEM: &str = "x-anthropic-billing-header";

#[derive(Debug, Clone)]
pub struct Options {
    /// 0 picks a free port.
    pub port: u16,
    /// Refuse everything that the real API refuses.
    pub strict: bool,
    /// Refuse, or drop on request, thinking whose prefix was altered.
    pub bind_thinking: bool,
    /// Compress responses for clients that accept it.
    pub gzip: bool,
    /// Write every request into this folder.
    pub record: Option<PathBuf>,
    /// Also write the raw body.
    pub record_raw: bool,
    /// Seconds of the `retry-after` header on 429 and 529; 0 omits it.
    pub retry_after: u64,
    /// Further response headers.
    pub headers: Vec<(String, String)>,
    /// Answer unknown paths with 200 and an empty object instead of 404.
    pub unknown_ok: bool,
    pub volatile_system: String,
    /// Edits prompts on request, and refuses invalid requests for that.
    pub context_editing: Option<ContextEditing>,
    /// Searches deferred tools on request, and refuses what the API refuses of them.
    pub tool_search: bool,
    /// The data of a model in `GET /v1/models`, by id.
    pub models: Vec<(String, serde_json::Value)>,
    /// Discard the bodies of answered requests: for load tests and long runs.
    pub forget_bodies: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            strict: false,
            bind_thinking: false,
            gzip: false,
            record: None,
            record_raw: false,
            retry_after: 0,
            headers: Vec::new(),
            unknown_ok: false,
            volatile_system: VOLATILE_SYSTEM.to_owned(),
            context_editing: None,
            tool_search: false,
            models: Vec::new(),
            forget_bodies: false,
        }
    }
}

impl Options {
    /// As strict as the API on its newest models.
    pub fn strict() -> Self {
        Self { strict: true, bind_thinking: true, ..Self::default() }
    }
}

/// A running provider; dropping it closes its port and all its connections.
pub struct FakeProvider {
    provider: Arc<routes::Provider>,
    background: Background,
}

impl FakeProvider {
    pub fn start(options: Options) -> io::Result<Self> {
        if let Some(folder) = &options.record {
            std::fs::create_dir_all(folder)?;
        }
        let port = options.port;
        let provider = Arc::new(routes::Provider::new(options));
        let shared = provider.clone();
        let background = Background::listen(port, "fake-provider", move |stream, number| {
            serve::connection(shared.clone(), stream, number)
        })?;
        Ok(Self { provider, background })
    }

    pub fn address(&self) -> SocketAddr {
        self.background.address()
    }

    /// The base URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The requests since the start or the last reset, in order of arrival.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.provider.records.all()
    }

    /// Waits until the records satisfy `condition`, and returns them.
    pub async fn wait_until(
        &self,
        condition: impl Fn(&[RequestRecord]) -> bool,
    ) -> Result<Vec<RequestRecord>, NotObserved> {
        self.provider.records.wait_until(condition).await
    }

    pub fn enqueue(&self, answer: QueuedAnswer) {
        self.provider.enqueue(answer);
    }

    /// Clears records, failure counters, the prompt cache and queued answers.
    pub fn reset(&self) {
        self.provider.reset();
    }
}
