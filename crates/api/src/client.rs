//! An asynchronous client of the control API. Each exchange is HTTP/1.1 over a connection of its own.

mod events;

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{self, HeaderName};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::call::Call;
use crate::conversations::EXPORT_MEDIA;
use crate::error::{ApiError, ErrorBody};
use crate::face::{self, Face};

/// A daemon on this machine that does not accept a connection by then is not there.
const CONNECT: Duration = Duration::from_secs(3);
/// The daemon answers from memory or disk; anything that takes longer is lost.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// For files, which may be large, and for all conversations at once.
const LONG_PATIENCE: Duration = Duration::from_secs(600);
/// The daemon signs its own errors with this header.
const ERROR_HEADER: HeaderName = HeaderName::from_static("x-context-composer-error");

/// A failed exchange with the daemon.
#[derive(Debug)]
pub enum ClientError {
    /// Nothing listens at the address.
    Unreachable(String),
    /// The program at the address does not prove that it is the daemon.
    Untrusted(String),
    /// Something answered that is no daemon.
    NotADaemon,
    /// The answer did not come in time.
    TooSlow,
    /// The answer broke off.
    Cut(String),
    /// The daemon refused the call.
    Refused(ApiError),
    /// The answer has another form: the daemon is older or newer.
    NotUnderstood(serde_json::Error),
}

/// A byte stream to a daemon.
pub type Connection = Box<dyn Stream>;

pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens protected connections to a daemon on another machine.
pub trait Dial: Send + Sync {
    fn dial(&self) -> Pin<Box<dyn Future<Output = Result<Connection, ClientError>> + Send + '_>>;
}

/// Where a daemon is.
enum Place {
    /// On this machine, over plain HTTP.
    Local(SocketAddr),
    Remote {
        /// Its name in requests, with the port if it is not the usual one.
        host: String,
        dial: Arc<dyn Dial>,
    },
}

/// A client of the daemon at one address. Nothing is sent before the first call.
pub struct Client {
    place: Place,
    token: String,
    face: Face,
}

impl Client {
    /// A client of a daemon on this machine.
    pub fn new(address: SocketAddr, token: impl Into<String>) -> Client {
        Client { place: Place::Local(address), token: token.into(), face: Face::default() }
    }

    /// A client of the daemon that `dial` connects to.
    pub fn remote(host: impl Into<String>, dial: Arc<dyn Dial>, token: impl Into<String>) -> Client {
        let place = Place::Remote { host: host.into(), dial };
        Client { place, token: token.into(), face: Face::default() }
    }

    /// Asks for hints in the words of this reader.
    pub fn read_by(self, face: Face) -> Client {
        Client { face, ..self }
    }

    /// Makes a call.
    pub async fn call<T: DeserializeOwned>(&self, call: &Call<T>) -> Result<T, ClientError> {
        let method = if call.body.is_some() { Method::POST } else { Method::GET };
        let body = call.body.clone().map(Bytes::from).unwrap_or_default();
        let answer = self.ask(method, &call.path, body).await?;
        call.read(&answer).map_err(ClientError::NotUnderstood)
    }

    /// The bytes of a JSON answer as they came; `path` is relative to `/control/v1`.
    pub async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, ClientError> {
        within(patience(path), async { json(self.exchange(method, path, body).await?).await }).await
    }

    /// Makes a call that needs no credentials, and sends none; `path` is relative to `/control`.
    pub async fn call_without_key<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).unwrap_or_default();
        let request = Request::post(format!("/control{path}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(face::HEADER, self.face.name());
        let asked = async { json(send(&self.place, request, body.into()).await?).await };
        let answer = within(PATIENCE, asked).await?;
        serde_json::from_slice(&answer).map_err(ClientError::NotUnderstood)
    }

    /// Sends an exported conversation.
    pub async fn upload(&self, path: &str, file: Bytes) -> Result<Bytes, ClientError> {
        let sent = async { json(self.exchange_as(EXPORT_MEDIA, Method::POST, path, file).await?).await };
        within(LONG_PATIENCE, sent).await
    }

    /// An answer that is a file. `progress` is told how many bytes have come.
    pub async fn download(&self, path: &str, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, ClientError> {
        within(LONG_PATIENCE, async {
            let response = self.exchange(Method::GET, path, Bytes::new()).await?;
            let status = response.status();
            let (mut body, mut file) = (response.into_body(), Vec::new());
            while let Some(frame) = body.frame().await {
                let piece = frame.map_err(|error| ClientError::Cut(reason(&error)))?.into_data().unwrap_or_default();
                file.extend_from_slice(&piece);
                progress(file.len() as u64);
            }
            if status.is_success() { Ok(file) } else { Err(refusal(status, &file)) }
        })
        .await
    }

    /// Hands the JSON of live events to `sink` until it breaks off. The end of the stream is an error.
    pub async fn events<T>(&self, path: &str, mut sink: impl FnMut(&str) -> ControlFlow<T>) -> Result<T, ClientError> {
        let response = self.exchange(Method::GET, path, Bytes::new()).await?;
        let status = response.status();
        let mut body = response.into_body();
        if !status.is_success() {
            return Err(refusal(status, &collected(body).await?));
        }
        let mut reader = events::Reader::default();
        loop {
            let piece = match body.frame().await {
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Err(ClientError::Cut(reason(&error))),
                None => return Err(ClientError::Cut("the stream of events ended".to_owned())),
            };
            reader.feed(&piece);
            while let Some(event) = reader.next() {
                if let ControlFlow::Break(result) = sink(&event) {
                    return Ok(result);
                }
            }
        }
    }

    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>, ClientError> {
        self.exchange_as("application/json", method, path, body).await
    }

    async fn exchange_as(
        &self,
        media: &'static str,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/control/v1{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(face::HEADER, self.face.name());
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, media);
        }
        send(&self.place, request, body).await
    }
}

/// Sends a request without credentials through the daemon to its upstream. `Ok(None)`: it got there; `Ok(Some(words))`:
/// the daemon says why not.
pub async fn reach_upstream(address: SocketAddr, patience: Duration) -> Result<Option<String>, ClientError> {
    within(patience, async {
        let response = send(&Place::Local(address), Request::get("/"), Bytes::new()).await?;
        if !response.headers().contains_key(ERROR_HEADER) {
            return Ok(None);
        }
        let body = collected(response.into_body()).await?;
        let message = serde_json::from_slice::<ErrorMessage>(&body).map(|body| body.error.message);
        Ok(Some(message.unwrap_or_else(|_| "the daemon does not say why".to_owned())))
    })
    .await
}

/// An error of the proxy, in the form of the provider: it has no code where ours has one.
#[derive(serde::Deserialize)]
struct ErrorMessage {
    error: Message,
}

#[derive(serde::Deserialize)]
struct Message {
    message: String,
}

/// A purge takes the longer the more conversations there are.
fn patience(path: &str) -> Duration {
    if path == "/purge" { LONG_PATIENCE } else { PATIENCE }
}

async fn within<T>(patience: Duration, asked: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    timeout(patience, asked).await.unwrap_or(Err(ClientError::TooSlow))
}

async fn send(
    place: &Place,
    request: hyper::http::request::Builder,
    body: Bytes,
) -> Result<Response<Incoming>, ClientError> {
    let mut sender = connect(place).await?;
    let host = match place {
        Place::Local(address) => address.to_string(),
        Place::Remote { host, .. } => host.clone(),
    };
    let request = request
        .header(header::HOST, host)
        .header(header::USER_AGENT, concat!("ctx/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(body))
        .map_err(|error| ClientError::Cut(error.to_string()))?;
    // Neither an invalid HTTP response nor a connection closed without one comes from a daemon.
    sender.send_request(request).await.map_err(|_| ClientError::NotADaemon)
}

async fn connect(place: &Place) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let connection: Connection = match place {
        Place::Local(address) => Box::new(connect_locally(*address).await?),
        Place::Remote { dial, .. } => dial.dial().await?,
    };
    let (sender, connection) = handshake(TokioIo::new(connection)).await.map_err(|_| ClientError::NotADaemon)?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn connect_locally(address: SocketAddr) -> Result<TcpStream, ClientError> {
    let socket = match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(connected) => connected.map_err(|error| ClientError::Unreachable(connect_reason(&error)))?,
        Err(_) => return Err(ClientError::Unreachable("no connection in time".to_owned())),
    };
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

/// Why a connection was not made.
pub fn connect_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        _ => error.to_string(),
    }
}

/// The body of a successful JSON answer.
async fn json(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    let (head, body) = response.into_parts();
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    let body = collected(body).await?;
    if head.status.is_success() && is_json { Ok(body) } else { Err(refusal(head.status, &body)) }
}

async fn collected(body: Incoming) -> Result<Bytes, ClientError> {
    Ok(body.collect().await.map_err(|error| ClientError::Cut(reason(&error)))?.to_bytes())
}

/// The innermost cause: the outer ones only say that there is one.
fn reason(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(deeper) = deepest.source() {
        deepest = deeper;
    }
    deepest.to_string()
}

fn refusal(status: StatusCode, body: &[u8]) -> ClientError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error }) if !status.is_success() => ClientError::Refused(error),
        _ => ClientError::NotADaemon,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_may_take_longer_than_a_look() {
        assert!(patience("/purge") > patience("/status") && patience("/status") == PATIENCE);
    }
}
