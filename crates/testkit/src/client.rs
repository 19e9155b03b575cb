//! A raw HTTP/1.1 client: sends the exact headers and bytes it is given, and returns the exact response, including cut
//! connections.
//!
//! It does not redirect, retry or decode.

use crate::http1::{Ending, Event, Headers, HttpError, Parser, ResponseHead, header};
use bytes::Bytes;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A longer wait would be endless.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
    #[error("the answer is not HTTP/1.1: {0}")]
    Answer(#[from] HttpError),
    #[error("the server closed the connection without an answer")]
    NoAnswer,
    #[error("the connection closed in the middle of the answer")]
    Cut,
    #[error("the server sent nothing for {PATIENCE:?}")]
    Silence,
    #[error("{0:?} is not an http:// address with a port")]
    Address(String),
}

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    host: String,
    parser: Parser<ResponseHead>,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    pub body: Bytes,
    pub ending: Ending,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
    }
}

impl Client {
    /// Connects to the server of a base URL such as `http://127.0.0.1:9100`.
    pub async fn connect(url: &str) -> Result<Self, ClientError> {
        let host = url
            .strip_prefix("http://")
            .map(|rest| rest.split('/').next().unwrap_or_default())
            .filter(|host| host.contains(':'))
            .ok_or_else(|| ClientError::Address(url.to_owned()))?;
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: host.to_owned(), parser: Parser::default() })
    }

    /// Sends a request and reads the whole response. `Host` and `Content-Length` are added at the end, like in the
    /// stock client, unless they are given.
    pub async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Response, ClientError> {
        let head = self.start(method, target, headers, body).await?;
        self.finish(head).await
    }

    /// A `POST` of JSON without other headers.
    pub async fn post(&mut self, target: &str, body: &[u8]) -> Result<Response, ClientError> {
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        self.send("POST", target, &headers, body).await
    }

    pub async fn get(&mut self, target: &str) -> Result<Response, ClientError> {
        self.send("GET", target, &[], b"").await
    }

    /// Sends a request and waits for the head of its response.
    pub async fn start(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<ResponseHead, ClientError> {
        let mut wire = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        for (name, value) in headers {
            push_header(&mut wire, name, value);
        }
        if header(headers, "host").is_none() {
            push_header(&mut wire, "Host", &self.host);
        }
        let framed = ["content-length", "transfer-encoding"].iter().any(|name| header(headers, name).is_some());
        let wants_body = !matches!(method, "GET" | "HEAD") || !body.is_empty();
        if wants_body && !framed {
            push_header(&mut wire, "Content-Length", &body.len().to_string());
        }
        wire.extend_from_slice(b"\r\n");
        wire.extend_from_slice(body);
        self.stream.write_all(&wire).await?;
        match self.event(method == "HEAD").await? {
            Some(Event::Head(head)) => Ok(head),
            _ => Err(ClientError::NoAnswer),
        }
    }

    /// The next piece of the body as it arrives; `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, ClientError> {
        match self.event(false).await? {
            Some(Event::Body(piece)) => Ok(Some(piece)),
            Some(Event::Head(_) | Event::End) => Ok(None),
            None => match self.parser.close() {
                Some(Ending::Complete) => Ok(None),
                _ => Err(ClientError::Cut),
            },
        }
    }

    async fn finish(&mut self, head: ResponseHead) -> Result<Response, ClientError> {
        let mut body = Vec::new();
        let ending = loop {
            match self.event(false).await? {
                Some(Event::Body(piece)) => body.extend_from_slice(&piece),
                Some(Event::End) => break Ending::Complete,
                Some(Event::Head(_)) | None => break self.parser.close().unwrap_or(Ending::Cut),
            }
        };
        Ok(Response { status: head.status, headers: head.headers, body: body.into(), ending })
    }

    /// `None` if the connection closed. A reset counts as closed: the parser knows whether something was missing.
    async fn event(&mut self, bodiless: bool) -> Result<Option<Event<ResponseHead>>, ClientError> {
        loop {
            if let Some(event) = self.parser.next(bodiless)? {
                return Ok(Some(event));
            }
            let read = self.stream.read_buf(self.parser.buffer());
            match timeout(PATIENCE, read).await.map_err(|_| ClientError::Silence)? {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Values are Latin-1, as when read.
fn push_header(wire: &mut Vec<u8>, name: &str, value: &str) {
    wire.extend_from_slice(name.as_bytes());
    wire.extend_from_slice(b": ");
    wire.extend(value.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')));
    wire.extend_from_slice(b"\r\n");
}
