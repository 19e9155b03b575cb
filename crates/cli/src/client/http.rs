//! One HTTP/1.1 exchange with the daemon over a fresh loopback connection.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use ctx_server::{CLIENT, SHELL};
use ctx_wire::sse;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{self, HeaderName};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A daemon on this machine that does not take a connection by then is not there.
const CONNECT: Duration = Duration::from_secs(3);
/// The daemon signs its own errors with this.
const ERROR_HEADER: HeaderName = HeaderName::from_static("x-context-composer-error");

#[derive(Debug)]
pub(super) enum Trouble {
    Unreachable(String),
    /// Somebody answered, but no daemon answers like this.
    NotOurs,
    TooSlow,
    Cut(String),
    /// The control API's own words.
    Refused {
        code: String,
        message: String,
        hint: String,
    },
}

pub(super) async fn within<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    timeout(patience, asked).await.unwrap_or(Err(Trouble::TooSlow))
}

pub(super) async fn ask(
    address: SocketAddr,
    token: &str,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Bytes, Trouble> {
    let response = exchange(address, Some(token), method, path, body).await?;
    let (head, body) = response.into_parts();
    let is_json = head
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/json"));
    let body = body.collect().await.map_err(|error| Trouble::Cut(reason(&error)))?.to_bytes();
    if head.status.is_success() && is_json {
        return Ok(body);
    }
    Err(refusal(head.status, &body))
}

/// An answer that is a file.
pub(super) async fn fetch(
    address: SocketAddr,
    token: &str,
    path: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<u8>, Trouble> {
    let response = exchange(address, Some(token), Method::GET, path, Bytes::new()).await?;
    let status = response.status();
    let (mut body, mut file) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        let piece = frame.map_err(|error| Trouble::Cut(reason(&error)))?.into_data().unwrap_or_default();
        file.extend_from_slice(&piece);
        progress(file.len() as u64);
    }
    if status.is_success() { Ok(file) } else { Err(refusal(status, &file)) }
}

/// Hands the events to `sink` until it breaks off, or the stream ends (which is trouble).
pub(super) async fn listen<T>(
    address: SocketAddr,
    token: &str,
    path: &str,
    mut sink: impl FnMut(&str) -> ControlFlow<T>,
) -> Result<T, Trouble> {
    let response = exchange(address, Some(token), Method::GET, path, Bytes::new()).await?;
    let status = response.status();
    let mut body = response.into_body();
    if !status.is_success() {
        let body = body.collect().await.map_err(|error| Trouble::Cut(reason(&error)))?.to_bytes();
        return Err(refusal(status, &body));
    }
    let mut reader = sse::Reader::new();
    loop {
        let piece = match body.frame().await {
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => return Err(Trouble::Cut(reason(&error))),
            None => return Err(Trouble::Cut("the stream of events ended".to_owned())),
        };
        let mut enough = None;
        reader.feed(&piece, &mut |event| {
            if enough.is_none()
                && let ControlFlow::Break(result) = sink(event.data)
            {
                enough = Some(result);
            }
        });
        if let Some(result) = enough {
            return Ok(result);
        }
    }
}

pub(super) async fn reach_upstream(address: SocketAddr) -> Result<Option<String>, Trouble> {
    let response = exchange(address, None, Method::GET, "/", Bytes::new()).await?;
    if !response.headers().contains_key(ERROR_HEADER) {
        return Ok(None);
    }
    let body = response.into_body().collect().await.map_err(|error| Trouble::Cut(reason(&error)))?.to_bytes();
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(said["error"]["message"].as_str().unwrap_or("the daemon does not say why").to_owned()))
}

async fn exchange(
    address: SocketAddr,
    token: Option<&str>,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Response<Incoming>, Trouble> {
    let mut sender = connect(address).await?;
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, address.to_string())
        .header(header::USER_AGENT, concat!("ctx/", env!("CARGO_PKG_VERSION")))
        .header(CLIENT, SHELL);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if !body.is_empty() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let request = request.body(Full::new(body)).map_err(|error| Trouble::Cut(error.to_string()))?;
    // What cannot be read as HTTP was not written by a daemon; neither was a closed door without a word.
    sender.send_request(request).await.map_err(|_| Trouble::NotOurs)
}

async fn connect(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Trouble> {
    let socket = match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(connected) => connected.map_err(|error| Trouble::Unreachable(connect_reason(&error)))?,
        Err(_) => return Err(Trouble::Unreachable("no connection in time".to_owned())),
    };
    let _ = socket.set_nodelay(true);
    let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(|_| Trouble::NotOurs)?;
    tokio::spawn(connection);
    Ok(sender)
}

pub(super) fn connect_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        _ => error.to_string(),
    }
}

/// The innermost cause: the outer ones only say that there is one.
fn reason(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(deeper) = deepest.source() {
        deepest = deeper;
    }
    deepest.to_string()
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorWords,
}

#[derive(Deserialize)]
struct ErrorWords {
    code: String,
    message: String,
    #[serde(default)]
    hint: Option<String>,
}

fn refusal(status: StatusCode, body: &[u8]) -> Trouble {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error }) if !status.is_success() => {
            Trouble::Refused { code: error.code, message: error.message, hint: error.hint.unwrap_or_default() }
        }
        _ => Trouble::NotOurs,
    }
}
