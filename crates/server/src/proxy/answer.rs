//! The upstream's response as it streams in, together with its connection.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use tokio::time::{Instant, timeout_at};

use super::body::{EarlyEnd, RequestBody};
use super::pool::{Line, Pool, Seat};

pub(crate) struct Answer {
    incoming: Incoming,
    via: Via,
    /// Data that was read in advance.
    ahead: VecDeque<Result<Frame<Bytes>, EarlyEnd>>,
    /// No data follow it.
    is_read: bool,
}

/// The resources that the response keeps alive.
pub(super) enum Via {
    /// An HTTP/1.1 connection that this response drives, and the pool it returns to.
    Line(Line, Arc<Pool>),
    /// An HTTP/1.1 connection that drives itself and ends with the response.
    Alone(
        #[expect(dead_code, reason = "held so that the connection lives as long as the answer")]
        http1::SendRequest<RequestBody>,
    ),
    Seat(#[expect(dead_code, reason = "held so that the stream counts as long as the answer")] Seat),
    Nothing,
}

impl Answer {
    pub(super) fn new(incoming: Incoming, via: Via) -> Self {
        let mut answer = Self { incoming, via, ahead: VecDeque::new(), is_read: false };
        if answer.incoming.is_end_stream() {
            answer.release();
        }
        answer
    }

    pub(super) fn is_over(&self) -> bool {
        self.ahead.is_empty() && (self.is_read || self.incoming.is_end_stream())
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        let mut hint = self.incoming.size_hint();
        if !self.ahead.is_empty() {
            let frames = self.ahead.iter().flatten().filter_map(Frame::data_ref);
            let ahead: u64 = frames.map(|chunk| chunk.len() as u64).sum();
            if let Some(upper) = hint.upper() {
                hint.set_upper(upper + ahead);
            }
            hint.set_lower(hint.lower() + ahead);
        }
        hint
    }

    /// The whole body, if it is at most `most` long and complete by the deadline. A later reader misses nothing.
    pub(super) async fn peek(&mut self, most: usize, deadline: Instant) -> Option<Vec<u8>> {
        if self.size_hint().lower() > most as u64 {
            return None;
        }
        let mut body = Vec::new();
        for frame in &self.ahead {
            body.extend_from_slice(frame.as_ref().ok()?.data_ref().map_or(&[], |chunk| chunk));
        }
        while !self.is_read && body.len() <= most {
            let next = poll_fn(|context| self.poll_incoming(context));
            let Some(frame) = timeout_at(deadline, next).await.ok()? else {
                self.is_read = true;
                break;
            };
            let is_cut = frame.is_err();
            body.extend_from_slice(frame.as_ref().ok().and_then(Frame::data_ref).map_or(&[], |chunk| chunk));
            self.ahead.push_back(frame);
            if is_cut {
                return None;
            }
        }
        (body.len() <= most).then_some(body)
    }

    /// The beginning of the body: as much as `is_enough` asks for, unless the deadline or the end comes first, or it is
    /// longer than `most`. A later reader misses nothing.
    pub(super) async fn peek_beginning(
        &mut self,
        most: usize,
        deadline: Instant,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Vec<u8> {
        let mut body = Vec::new();
        for frame in self.ahead.iter().flatten() {
            body.extend_from_slice(frame.data_ref().map_or(&[], |chunk| chunk));
        }
        while !self.is_read && body.len() <= most && !is_enough(&body) {
            let next = poll_fn(|context| self.poll_incoming(context));
            let Ok(frame) = timeout_at(deadline, next).await else { break };
            let Some(frame) = frame else {
                self.is_read = true;
                break;
            };
            let is_cut = frame.is_err();
            body.extend_from_slice(frame.as_ref().ok().and_then(Frame::data_ref).map_or(&[], |chunk| chunk));
            self.ahead.push_back(frame);
            if is_cut {
                break;
            }
        }
        body
    }

    pub(super) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EarlyEnd>>> {
        match self.ahead.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => self.poll_incoming(context),
        }
    }

    fn poll_incoming(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EarlyEnd>>> {
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
            None if self.was_reset_politely() => Some(Err(EarlyEnd::upstream("the stream was reset"))),
            None => {
                self.release();
                None
            }
            Some(Err(error)) => {
                self.via = Via::Nothing;
                Some(Err(EarlyEnd::upstream(error)))
            }
        })
    }

    /// HTTP/2 lets an upstream reset a stream "without error", and hyper then ends the body as if it were complete. It
    /// is complete only if the upstream had also said so.
    fn was_reset_politely(&self) -> bool {
        matches!(self.via, Via::Seat(_)) && !self.incoming.is_end_stream()
    }

    /// The response is complete: its connection may serve the next request.
    fn release(&mut self) {
        if let Via::Line(line, pool) = std::mem::replace(&mut self.via, Via::Nothing)
            && line.is_free()
        {
            pool.rest(line);
        }
    }
}
