//! The upstream's answer while it streams in, together with the connection that brings it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;

use super::body::{Cut, RequestBody};
use super::pool::{Line, Pool, Seat};

pub(crate) struct Answer {
    incoming: Incoming,
    via: Via,
}

/// What the answer holds on to while it lasts.
pub(super) enum Via {
    /// An HTTP/1.1 connection that this answer drives, and the pool it goes back to.
    Line(Line, Arc<Pool>),
    /// An HTTP/1.1 connection that drives itself; it ends with the answer.
    Alone(
        #[expect(dead_code, reason = "held so that the connection lives as long as the answer")]
        http1::SendRequest<RequestBody>,
    ),
    Seat(#[expect(dead_code, reason = "held so that the stream counts as long as the answer")] Seat),
    Nothing,
}

impl Answer {
    pub(super) fn new(incoming: Incoming, via: Via) -> Self {
        let mut answer = Self { incoming, via };
        if answer.incoming.is_end_stream() {
            answer.release();
        }
        answer
    }

    pub(super) fn is_over(&self) -> bool {
        self.incoming.is_end_stream()
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }

    pub(super) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Via::Line(line, _) = &mut self.via {
            line.drive(context);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(context) else {
            return Poll::Pending;
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if self.incoming.is_end_stream() {
                    self.release();
                }
                Some(Ok(frame))
            }
            None if self.was_reset_politely() => Some(Err(Cut::upstream("the stream was reset"))),
            None => {
                self.release();
                None
            }
            Some(Err(error)) => {
                self.via = Via::Nothing;
                Some(Err(Cut::upstream(error)))
            }
        })
    }

    /// HTTP/2 lets an upstream reset a stream "without error", and hyper then ends the body as if it were
    /// complete. It is complete only if the upstream had also said so.
    fn was_reset_politely(&self) -> bool {
        matches!(self.via, Via::Seat(_)) && !self.incoming.is_end_stream()
    }

    /// The answer is through: its connection may serve the next request.
    fn release(&mut self) {
        if let Via::Line(line, pool) = std::mem::replace(&mut self.via, Via::Nothing)
            && line.is_free()
        {
            pool.rest(line);
        }
    }
}
