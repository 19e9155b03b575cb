//! Access to the control API. The tools call it like any other client: in the daemon within the process, in `ctx mcp`
//! over HTTP.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use ctx_api::call::Call;
use ctx_api::error::{ApiError, ErrorBody};
use ctx_api::face::{self, Face};
use ctx_core::{ErrorCode, ReceivedCode};
use ctx_team::Scopes;
use http::{Method, Request, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_service::Service;

use crate::local::{lacks, worded};
use crate::team::scope;

/// Twice the largest answer of the control API.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

/// A caller of the control API. `path` is relative to `/control/v1`.
pub trait Ask: Send + Sync + 'static {
    /// Sends a GET without a body, a POST with one.
    fn ask(&self, path: String, body: Option<String>) -> impl Future<Output = Result<Bytes, Refusal>> + Send;
}

/// Makes a call and parses its answer.
pub async fn call<T: DeserializeOwned>(ask: &impl Ask, call: Call<T>) -> Result<T, Refusal> {
    let answer = ask.ask(call.path.clone(), call.body.clone()).await?;
    call.read(&answer).map_err(|error| not_understood(&error))
}

/// A refusal: the problem, its cause and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: ReceivedCode,
    pub message: String,
    pub hint: String,
    /// Newer commits, if they are the cause.
    pub since: Vec<Value>,
}

impl Refusal {
    pub fn new(code: impl Into<ReceivedCode>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: hint.into(), since: Vec::new() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.message.trim_end_matches('.'))?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " {}", self.hint) }
    }
}

/// The control API for a caller whose key has these scopes. A tool needs those of the routes that it uses.
pub struct ScopedAsk<A> {
    pub ask: Arc<A>,
    pub scopes: Scopes,
}

impl<A: Ask> Ask for ScopedAsk<A> {
    async fn ask(&self, path: String, body: Option<String>) -> Result<Bytes, Refusal> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let needed = scope::needed(&method, path.split('?').next().unwrap_or_default());
        let missing = needed.without(self.scopes);
        if missing.is_empty() {
            return self.ask.ask(path, body).await;
        }
        let error = lacks(missing);
        Err(Refusal::new(error.code, error.message, Face::Tools.words(&error.hint)))
    }
}

/// The control API of this process.
pub struct InProcess(pub Router);

impl Ask for InProcess {
    async fn ask(&self, path: String, body: Option<String>) -> Result<Bytes, Refusal> {
        let request = match body {
            Some(body) => Request::post(path)
                .header(face::HEADER, Face::Tools.name())
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body)),
            None => Request::get(path).header(face::HEADER, Face::Tools.name()).body(Body::empty()),
        };
        let request = request.map_err(|error| not_understood(&error))?;
        let response = match self.0.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let response = worded(response, Face::Tools);
        let well = response.status().is_success();
        let bytes = to_bytes(response.into_body(), LARGEST_ANSWER).await.map_err(|error| not_understood(&error))?;
        if well {
            return Ok(bytes);
        }
        let body: ErrorBody = serde_json::from_slice(&bytes).map_err(|error| not_understood(&error))?;
        let ApiError { code, message, hint, .. } = body.error;
        Err(Refusal::new(code, message, hint.unwrap_or_default()))
    }
}

fn not_understood(error: &dyn fmt::Display) -> Refusal {
    Refusal::new(
        ErrorCode::NotUnderstood,
        format!("The daemon's response cannot be parsed: {error}."),
        "Compare `ctx --version` with ctx_status: the versions may differ.",
    )
}
