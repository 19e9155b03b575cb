//! The client's socket, with two additions to hyper. Errors of hyper's own parser (400, 414, 431) are replaced with
//! errors in the provider's format. And when we close first, the rest of the client's data is read and discarded for a
//! moment: closing with unread bytes resets the connection, and the client would lose the response.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::phase::{Phase, PhaseCell};
use super::tls::ClientSocket;
use crate::proxy::errors;

/// A client that keeps sending is read for this many times the allowed pause.
const LONGEST_LINGER: u32 = 15;

pub(super) struct ClientWire {
    socket: ClientSocket,
    phase: Arc<PhaseCell>,
    /// The rest of our own response in place of the parser's.
    refusal: Bytes,
    linger: Duration,
    /// The deadlines for a pause, and in total.
    lingering: Option<(Pin<Box<Sleep>>, Instant)>,
}

impl ClientWire {
    pub(super) fn new(socket: ClientSocket, phase: Arc<PhaseCell>, linger: Duration) -> Self {
        Self { socket, phase, refusal: Bytes::new(), linger, lingering: None }
    }

    /// Bytes written outside a request can only be the parser's own response.
    fn takes_over(&mut self, first: &[u8]) -> bool {
        match self.phase.get() {
            Phase::Serving | Phase::Finishing | Phase::ReplyingOwn | Phase::FinishingOwn | Phase::Upgraded => false,
            Phase::Refusing => true,
            Phase::New | Phase::ReadingHead | Phase::Resting => {
                self.phase.enter(Phase::Refusing);
                self.refusal = in_bytes(&errors::malformed(status_of(first)));
                true
            }
        }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(_))) {
            self.phase.wrote();
        }
        written
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.refusal.has_remaining() {
            let written = ready!(Pin::new(&mut self.socket).poll_write(context, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when the client has closed too, has paused, or does not stop.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let limit = self.linger;
        let (silence, last) = self.lingering.get_or_insert_with(|| {
            let now = Instant::now();
            (Box::pin(tokio::time::sleep_until(now + limit)), now + LONGEST_LINGER * limit)
        });
        let mut waste = [0u8; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut waste);
            match Pin::new(&mut self.socket).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    silence.as_mut().reset((Instant::now() + limit).min(*last));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return silence.as_mut().poll(context),
            }
        }
    }
}

impl AsyncRead for ClientWire {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.socket).poll_read(context, buffer);
        if buffer.filled().len() > before && matches!(this.phase.get(), Phase::New | Phase::Resting) {
            this.phase.enter(Phase::ReadingHead);
        }
        read
    }
}

impl AsyncWrite for ClientWire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.takes_over(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut this.socket).poll_write(context, bytes);
        this.note(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.takes_over(slices.first().map_or(&[], |slice| slice)) {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut this.socket).poll_write_vectored(context, slices);
        this.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// hyper flushes after handing over everything, so a finishing reply is finished now.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.phase.finished();
        ready!(this.poll_refusal(context))?;
        ready!(Pin::new(&mut this.socket).poll_flush(context))?;
        this.phase.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        ready!(Pin::new(&mut this.socket).poll_shutdown(context))?;
        ready!(this.poll_linger(context));
        Poll::Ready(Ok(()))
    }
}

/// The status in `HTTP/1.1 431 …`.
fn status_of(line: &[u8]) -> StatusCode {
    line.get(9..12).and_then(|digits| StatusCode::from_bytes(digits).ok()).unwrap_or(StatusCode::BAD_REQUEST)
}

fn in_bytes(response: &Response<Bytes>) -> Bytes {
    let status = response.status();
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(b"HTTP/1.1 ");
    bytes.extend_from_slice(status.as_str().as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    bytes.extend_from_slice(b"\r\n");
    for (name, value) in response.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"connection: close\r\n\r\n");
    bytes.extend_from_slice(response.body());
    bytes.into()
}
