//! A recording forwarder in front of a server under test.
//!
//! Each client connection gets its own connection to the target, and bytes are copied both ways as they arrive: nothing
//! is parsed on the way, so nothing can be altered; a cut stays a cut, a reset a reset and a half-closed side
//! half-closed. The records come from a passive copy. Even `Host` stays the recorder's own address.

use crate::background::Background;
use crate::http1::{Ending, Event, Head, Headers, Parser, RequestHead, ResponseHead, header};
use crate::observed::{NotObserved, ObservedValue};
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

/// A request and its response, once it has arrived.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Counted from 1 in the order of opening.
    pub connection: u64,
    pub method: String,
    pub target: String,
    /// In the original order and case.
    pub request_headers: Headers,
    /// The exact head of the request.
    pub request_head: Vec<u8>,
    /// The body of the request, without chunk framing.
    pub request_body: Vec<u8>,
    /// `None` while the request is being sent.
    pub request_ending: Option<Ending>,
    pub response: Option<RecordedResponse>,
}

#[derive(Debug, Clone)]
pub struct RecordedResponse {
    pub status: u16,
    pub headers: Headers,
    /// The body as sent, still compressed if it was; without chunk framing.
    pub body: Vec<u8>,
    /// `None` while the response is being sent.
    pub ending: Option<Ending>,
}

impl Exchange {
    pub fn request_header(&self, name: &str) -> Option<&str> {
        header(&self.request_headers, name)
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether the response has ended, complete or cut.
    pub fn is_over(&self) -> bool {
        let response = self.response.as_ref();
        response.is_some_and(|response| response.ending.is_some())
    }
}

/// A running recorder; dropping it closes its port and all its connections.
pub struct Recorder {
    exchanges: Arc<ObservedValue<Exchange>>,
    background: Background,
}

impl Recorder {
    /// Forwards to `target`, on a free port.
    pub fn start(target: SocketAddr) -> io::Result<Self> {
        let exchanges = Arc::new(ObservedValue::new());
        let shared = exchanges.clone();
        let background = Background::listen(0, "recorder", move |client, number| {
            forward(client, target, Conversation::new(shared.clone(), number))
        })?;
        Ok(Self { exchanges, background })
    }

    pub fn address(&self) -> SocketAddr {
        self.background.address()
    }

    /// The base URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// In the order of the starts of the requests.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.all()
    }

    /// Waits until the exchanges satisfy `condition`, and returns them.
    pub async fn wait_until(&self, condition: impl Fn(&[Exchange]) -> bool) -> Result<Vec<Exchange>, NotObserved> {
        self.exchanges.wait_until(condition).await
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, conversation: Conversation) {
    // To the client, an unreachable target looks like one that closes the connection.
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    let _ = server.set_nodelay(true);
    let requests = Requests { conversation: conversation.clone(), parser: Parser::default(), current: None };
    let responses = Responses { conversation, parser: Parser::default() };
    let outcome = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::try_join!(copy(from_client, to_server, requests), copy(from_server, to_client, responses))
    };
    if outcome.is_err() {
        // A reset is passed on to the other side.
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}

/// Closes both directions when it is dropped: a reset of one ends the other too.
struct UntilClosed<W: Watch> {
    watch: W,
    is_closed: bool,
}

impl<W: Watch> UntilClosed<W> {
    fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.watch.close();
        }
    }
}

impl<W: Watch> Drop for UntilClosed<W> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Copies one direction until it ends, and ends the other side the same way. An error means that the sender reset the
/// connection.
async fn copy(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, watch: impl Watch) -> io::Result<()> {
    let mut watch = UntilClosed { watch, is_closed: false };
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    loop {
        buffer.clear();
        let read = from.read_buf(&mut buffer).await;
        if !matches!(read, Ok(1..)) {
            watch.close();
        }
        if read? == 0 {
            // An error means that the other side is already closed.
            let _ = to.shutdown().await;
            return Ok(());
        }
        // Recorded before it is forwarded, so that its receiver finds the record.
        watch.watch.see(&buffer);
        if to.write_all(&buffer).await.is_err() {
            // This direction has no reader any more; the other one may still carry a response.
            watch.close();
            return Ok(());
        }
    }
}

/// A passive reader of one direction. It never fails: it skips what it cannot parse.
trait Watch {
    fn see(&mut self, bytes: &[u8]);
    fn close(&mut self);
}

/// The exchanges of one connection: responses come in the order of the requests.
#[derive(Clone)]
struct Conversation {
    exchanges: Arc<ObservedValue<Exchange>>,
    connection: u64,
    /// The positions of exchanges without a response, and whether they are HEADs.
    open: Arc<Mutex<VecDeque<(usize, bool)>>>,
}

impl Conversation {
    fn new(exchanges: Arc<ObservedValue<Exchange>>, connection: u64) -> Self {
        Self { exchanges, connection, open: Arc::default() }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, VecDeque<(usize, bool)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, index: Option<usize>, change: impl FnOnce(&mut Exchange)) {
        self.exchanges.change(|all| {
            if let Some(exchange) = index.and_then(|index| all.get_mut(index)) {
                change(exchange);
            }
        });
    }
}

struct Requests {
    conversation: Conversation,
    parser: Parser<RequestHead>,
    /// The exchange whose body is arriving: its response may arrive, and end, before the body does.
    current: Option<usize>,
}

impl Requests {
    fn begin(&mut self, head: RequestHead) {
        let is_head = head.method == "HEAD";
        let exchange = Exchange {
            connection: self.conversation.connection,
            method: head.method,
            target: head.target,
            request_headers: head.headers,
            request_head: head.raw.to_vec(),
            request_body: Vec::new(),
            request_ending: None,
            response: None,
        };
        let conversation = &self.conversation;
        conversation.exchanges.change(|all| {
            conversation.open().push_back((all.len(), is_head));
            self.current = Some(all.len());
            all.push(exchange);
        });
    }

    fn end(&mut self, ending: Ending) {
        self.conversation.change(self.current.take(), |exchange| {
            exchange.request_ending = Some(ending);
        });
    }
}

impl Watch for Requests {
    fn see(&mut self, bytes: &[u8]) {
        self.parser.buffer().extend_from_slice(bytes);
        while let Some(event) = next(&mut self.parser, false) {
            match event {
                Event::Head(head) => self.begin(head),
                Event::Body(piece) => self.conversation.change(self.current, |exchange| {
                    exchange.request_body.extend_from_slice(&piece);
                }),
                Event::End => self.end(Ending::Complete),
            }
        }
    }

    fn close(&mut self) {
        if let Some(ending) = self.parser.close() {
            self.end(ending);
        }
    }
}

struct Responses {
    conversation: Conversation,
    parser: Parser<ResponseHead>,
}

impl Responses {
    fn oldest(&self) -> Option<(usize, bool)> {
        self.conversation.open().front().copied()
    }

    fn change(&self, change: impl FnOnce(&mut Exchange)) {
        let index = self.oldest().map(|(index, _)| index);
        self.conversation.change(index, change);
    }

    fn change_response(&self, change: impl FnOnce(&mut RecordedResponse)) {
        self.change(|exchange| {
            if let Some(response) = &mut exchange.response {
                change(response);
            }
        });
    }

    fn end(&self, ending: Ending) {
        self.change_response(|response| response.ending = Some(ending));
        self.conversation.open().pop_front();
    }
}

impl Watch for Responses {
    fn see(&mut self, bytes: &[u8]) {
        self.parser.buffer().extend_from_slice(bytes);
        loop {
            let bodiless = self.oldest().is_some_and(|(_, is_head)| is_head);
            match next(&mut self.parser, bodiless) {
                Some(Event::Head(head)) => {
                    let response =
                        RecordedResponse { status: head.status, headers: head.headers, body: Vec::new(), ending: None };
                    self.change(|exchange| exchange.response = Some(response));
                }
                Some(Event::Body(piece)) => {
                    self.change_response(|response| response.body.extend_from_slice(&piece));
                }
                Some(Event::End) => self.end(Ending::Complete),
                None => return,
            }
        }
    }

    fn close(&mut self) {
        if let Some(ending) = self.parser.close() {
            self.end(ending);
        }
    }
}

/// The next event; bytes that are not HTTP end the parsing, not the copying.
fn next<H: Head>(parser: &mut Parser<H>, bodiless: bool) -> Option<Event<H>> {
    parser.next(bodiless).unwrap_or_default()
}
