//! The sockets of the provider: reads requests, writes replies as planned, and notices disconnecting clients.

use super::messages::unique;
use super::records::{Outcome, RequestRecord, decoded};
use super::routes::{Content, Provider, Reply};
use super::stream::Move;
use crate::http1::{Event, HttpError, Parser, RequestHead, header};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Serves one connection until either side ends it.
pub(crate) async fn connection(provider: Arc<Provider>, stream: TcpStream, number: u64) {
    let mut connection = Connection { stream, parser: Parser::default() };
    let mut nth = 0;
    loop {
        match connection.request().await {
            Ok(Some((head, body))) => {
                nth += 1;
                if !exchange(&provider, &mut connection, (number, nth), head, body).await {
                    return;
                }
            }
            Ok(None) => return,
            Err(UnreadableRequest::NotHttp) => {
                let refusal = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                let _ = connection.stream.write_all(refusal).await;
                return;
            }
            Err(UnreadableRequest::Socket) => return,
        }
    }
}

/// One request and its answer; false if the connection ends with it.
async fn exchange(
    provider: &Provider,
    connection: &mut Connection,
    (connection_number, nth): (u64, u64),
    head: RequestHead,
    raw: Bytes,
) -> bool {
    let persistent = match header(&head.headers, "connection") {
        Some(value) => !value.eq_ignore_ascii_case("close"),
        None => head.version != "HTTP/1.0",
    };
    let plain = decoded(&head.headers, &raw);
    let body: Option<Value> = plain.ok().and_then(|plain| serde_json::from_slice(&plain).ok());
    let mut answering = Answering {
        connection,
        extra_headers: &provider.options.headers,
        gzip: provider.options.gzip && accepts_gzip(&head),
        bodiless: head.method == "HEAD",
        retry_after: provider.options.retry_after,
    };

    let path = head.target.split('?').next().unwrap_or_default();
    if path.starts_with("/_fake/") {
        let reply = provider.control(&head.method, path, body.as_ref());
        return answering.send(reply, || {}).await.is_ok() && persistent;
    }

    let record = RequestRecord {
        number: provider.next_number(),
        seconds: provider.started.elapsed().as_secs_f64(),
        connection: connection_number,
        nth_on_connection: nth,
        version: head.version,
        method: head.method,
        target: head.target,
        headers: head.headers,
        body_bytes: raw.len(),
        body: raw,
        answer: None,
        outcome: None,
    };
    let number = record.number;
    provider.received(record.clone());
    let (reply, answer) = provider.reply(&record, body.as_ref());
    if let Some(answer) = answer {
        provider.decided(number, answer);
    }
    // Recorded before the last bytes leave, so that a reader of them finds the record.
    let completed = || provider.ended(number, Outcome::Complete);
    match answering.send(reply, completed).await {
        Ok(()) => persistent,
        Err(IncompleteAnswer::Cut) => {
            provider.ended(number, Outcome::Cut);
            false
        }
        Err(IncompleteAnswer::ClientGone) => {
            provider.ended(number, Outcome::ClientGone);
            false
        }
    }
}

fn accepts_gzip(head: &RequestHead) -> bool {
    header(&head.headers, "accept-encoding").is_some_and(|codings| codings.contains("gzip"))
}

struct Connection {
    stream: TcpStream,
    parser: Parser<RequestHead>,
}

/// The reason why no request could be read.
enum UnreadableRequest {
    NotHttp,
    Socket,
}

impl From<HttpError> for UnreadableRequest {
    fn from(_: HttpError) -> Self {
        Self::NotHttp
    }
}

impl From<io::Error> for UnreadableRequest {
    fn from(_: io::Error) -> Self {
        Self::Socket
    }
}

impl Connection {
    /// The next request with its whole body; `None` if the client is done.
    async fn request(&mut self) -> Result<Option<(RequestHead, Bytes)>, UnreadableRequest> {
        let mut head = None;
        let mut pieces = Vec::new();
        loop {
            match self.parser.next(false)? {
                Some(Event::Head(arrived)) => {
                    if header(&arrived.headers, "expect").is_some() {
                        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
                        self.stream.write_all(go_on).await?;
                    }
                    head = Some(arrived);
                }
                Some(Event::Body(piece)) => pieces.push(piece),
                Some(Event::End) => return Ok(head.map(|head| (head, pieces.concat().into()))),
                None => {
                    if self.stream.read_buf(self.parser.buffer()).await? == 0 {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Waits, unless the client closes the connection.
    async fn wait(&mut self, time: Duration) -> Result<(), IncompleteAnswer> {
        if time.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = closed(&mut self.stream, &mut self.parser) => Err(IncompleteAnswer::ClientGone),
        }
    }
}

/// Ends when the client disconnects. Its earlier data are kept for the next request.
async fn closed(stream: &mut TcpStream, parser: &mut Parser<RequestHead>) {
    while !matches!(stream.read_buf(parser.buffer()).await, Ok(0) | Err(_)) {}
}

/// The reason for an incomplete answer.
enum IncompleteAnswer {
    Cut,
    ClientGone,
}

impl From<io::Error> for IncompleteAnswer {
    fn from(_: io::Error) -> Self {
        Self::ClientGone
    }
}

/// The writing side of one exchange.
struct Answering<'a> {
    connection: &'a mut Connection,
    extra_headers: &'a [(String, String)],
    gzip: bool,
    bodiless: bool,
    retry_after: u64,
}

impl Answering<'_> {
    async fn send(&mut self, reply: Reply, completed: impl FnOnce()) -> Result<(), IncompleteAnswer> {
        self.connection.wait(reply.delay).await?;
        match reply.content {
            Content::Json(value) => self.whole(reply.status, &value, completed).await,
            Content::Stream { moves, slow } => self.stream(moves, slow, completed).await,
        }
    }

    async fn whole(&mut self, status: u16, value: &Value, completed: impl FnOnce()) -> Result<(), IncompleteAnswer> {
        let mut data = super::json::compact(value).into_bytes();
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if matches!(status, 429 | 529) && self.retry_after > 0 {
            headers.push(("retry-after", self.retry_after.to_string()));
        }
        if self.gzip {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&data)?;
            data = encoder.finish()?;
            headers.push(("content-encoding", "gzip".to_owned()));
        }
        headers.push(("content-length", data.len().to_string()));
        let mut wire = self.head(status, &headers);
        if !self.bodiless {
            wire.extend_from_slice(&data);
        }
        completed();
        Ok(self.connection.stream.write_all(&wire).await?)
    }

    async fn stream(
        &mut self,
        moves: Vec<Move>,
        slow: Duration,
        completed: impl FnOnce(),
    ) -> Result<(), IncompleteAnswer> {
        let mut encoder = self.gzip.then(|| GzEncoder::new(Vec::new(), Compression::default()));
        let mut headers = vec![
            ("content-type", "text/event-stream; charset=utf-8".to_owned()),
            ("cache-control", "no-cache".to_owned()),
            ("transfer-encoding", "chunked".to_owned()),
        ];
        if encoder.is_some() {
            headers.push(("content-encoding", "gzip".to_owned()));
        }
        let head = self.head(200, &headers);
        self.connection.stream.write_all(&head).await?;
        for step in moves {
            match step {
                Move::Send(event) => {
                    let data = match &mut encoder {
                        Some(encoder) => {
                            encoder.write_all(event.as_bytes())?;
                            // Every event must reach the client at once, not when a block is full.
                            encoder.flush()?;
                            std::mem::take(encoder.get_mut())
                        }
                        None => event.into_bytes(),
                    };
                    self.connection.stream.write_all(&chunk(&data)).await?;
                    self.connection.wait(slow).await?;
                }
                Move::Wait(time) => self.connection.wait(time).await?,
                Move::Cut => return Err(IncompleteAnswer::Cut),
            }
        }
        let mut end = match encoder {
            Some(encoder) => chunk(&encoder.finish()?),
            None => Vec::new(),
        };
        end.extend_from_slice(b"0\r\n\r\n");
        completed();
        Ok(self.connection.stream.write_all(&end).await?)
    }

    fn head(&self, status: u16, headers: &[(&str, String)]) -> Vec<u8> {
        let reason = if status < 400 { "OK" } else { "Error" };
        let mut head = format!(
            "HTTP/1.1 {status} {reason}\r\nrequest-id: req_fake{:020}\r\n\
             anthropic-organization-id: org-fake\r\nx-fake-upstream: 1\r\n",
            unique()
        );
        let extra = self.extra_headers.iter();
        let extra = extra.map(|(name, value)| (name.as_str(), value));
        let own = headers.iter().map(|(name, value)| (*name, value));
        for (name, value) in extra.chain(own) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

fn chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
