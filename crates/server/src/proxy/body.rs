//! The two bodies of an exchange: each chunk is shown to the observer and forwarded at once. Nothing is buffered; a
//! slow reader slows the writer down. (A held request is complete before it is forwarded.)

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::answer::Answer;
use super::held::Whole;
use crate::watch::{Ending, RequestTap, ResponseTap};

/// The progress of the request body. Shared with the response side: an early response is handled differently, and a
/// broken request explains a broken exchange.
#[derive(Default)]
pub(super) struct Progress(AtomicU8);

const FLOWING: u8 = 0;
const COMPLETE: u8 = 1;
const BROKEN: u8 = 2;
const STALLED: u8 = 3;

impl Progress {
    fn set(&self, state: u8) {
        self.0.store(state, Ordering::Release);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.0.load(Ordering::Acquire) == COMPLETE
    }

    /// The client stopped in the middle.
    pub(super) fn is_broken(&self) -> bool {
        self.0.load(Ordering::Acquire) == BROKEN
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.0.load(Ordering::Acquire) == STALLED
    }
}

/// A body that ended early. It ends the other side's connection the same way.
#[derive(Debug)]
pub(crate) struct EarlyEnd {
    whose: &'static str,
    reason: Box<dyn std::error::Error + Send + Sync>,
}

impl EarlyEnd {
    pub(super) fn upstream(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { whose: "upstream", reason: reason.into() }
    }

    fn client(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { whose: "client", reason: reason.into() }
    }
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the {} ended early: {}", self.whose, self.reason)
    }
}

impl std::error::Error for EarlyEnd {}

/// The client's body, forwarded to the upstream.
pub(crate) struct RequestBody {
    source: Source,
    progress: Arc<Progress>,
}

enum Source {
    Streamed(StreamedBody),
    Whole(Whole),
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, eye: RequestTap, idle_timeout: Duration) -> Self {
        let progress = Arc::new(Progress(AtomicU8::new(FLOWING)));
        let mut streamed = StreamedBody { incoming, eye, silence: Silence::new(idle_timeout) };
        if streamed.incoming.is_end_stream() {
            streamed.finish(&progress, COMPLETE);
        }
        Self { source: Source::Streamed(streamed), progress }
    }

    /// Of a request that no observer sees.
    pub(crate) fn unwatched(incoming: Incoming, idle_timeout: Duration) -> Self {
        Self::new(incoming, RequestTap::new(None), idle_timeout)
    }

    pub(super) fn whole(whole: Whole) -> Self {
        let state = if whole.is_over() { COMPLETE } else { FLOWING };
        Self { source: Source::Whole(whole), progress: Arc::new(Progress(AtomicU8::new(state))) }
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = EarlyEnd;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EarlyEnd>>> {
        let this = self.get_mut();
        match &mut this.source {
            Source::Streamed(streamed) => streamed.poll_frame(&this.progress, context),
            Source::Whole(whole) => {
                let frame = whole.next();
                if whole.is_over() {
                    this.progress.set(COMPLETE);
                }
                Poll::Ready(frame.map(Ok))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Streamed(streamed) => streamed.incoming.is_end_stream(),
            Source::Whole(whole) => whole.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Streamed(streamed) => streamed.incoming.size_hint(),
            Source::Whole(whole) => whole.size_hint(),
        }
    }
}

/// Forwarded as it arrives.
struct StreamedBody {
    incoming: Incoming,
    eye: RequestTap,
    silence: Silence,
}

impl StreamedBody {
    fn finish(&mut self, progress: &Progress, state: u8) {
        progress.set(state);
        self.eye.end(state == COMPLETE);
    }

    fn poll_frame(
        &mut self,
        progress: &Progress,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EarlyEnd>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(context) else {
            if self.silence.is_too_long(context) {
                self.finish(progress, STALLED);
                return Poll::Ready(Some(Err(EarlyEnd::client("no more bytes came"))));
            }
            return Poll::Pending;
        };
        self.silence.is_broken();
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if let Some(chunk) = frame.data_ref() {
                    self.eye.chunk(chunk);
                }
                if self.incoming.is_end_stream() {
                    self.finish(progress, COMPLETE);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                self.finish(progress, BROKEN);
                Some(Err(EarlyEnd::client(error)))
            }
            None => {
                self.finish(progress, COMPLETE);
                None
            }
        })
    }
}

/// Measures the pause of a body that is being read. The timer is set once and moved only when it fires, so a busy body
/// costs no timer work.
struct Silence {
    limit: Duration,
    since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    fn new(limit: Duration) -> Self {
        Self { limit, since: None, alarm: None }
    }

    fn is_broken(&mut self) {
        self.since = None;
    }

    fn is_too_long(&mut self, context: &mut Context<'_>) -> bool {
        let deadline = *self.since.get_or_insert_with(Instant::now) + self.limit;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        while alarm.as_mut().poll(context).is_ready() {
            if Instant::now() >= deadline {
                return true;
            }
            alarm.as_mut().reset(deadline);
        }
        false
    }
}

/// The upstream's body, forwarded to the client.
pub(crate) struct AnswerBody {
    answer: Answer,
    eye: ResponseTap,
    shape: Shape,
}

/// The size that hyper is told in advance. It writes a declared length only if it expects a body, so an empty body with
/// a declared length pretends to be one until it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    AsItCame,
    EmptyWithLength,
    /// For example for a 304: the length of a body that is not sent.
    EmptyWithForeignLength,
}

impl AnswerBody {
    pub(super) fn new(answer: Answer, mut eye: ResponseTap, shape: Shape) -> Self {
        if answer.is_over() {
            eye.end(Ending::Complete);
        }
        Self { answer, eye, shape }
    }

    pub(crate) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EarlyEnd>>> {
        if self.answer.is_over() {
            self.shape = Shape::AsItCame;
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = self.answer.poll_frame(context) else {
            return Poll::Pending;
        };
        match &frame {
            Some(Ok(frame)) => {
                if let Some(chunk) = frame.data_ref() {
                    self.eye.chunk(chunk);
                }
                if self.answer.is_over() {
                    self.eye.end(Ending::Complete);
                }
            }
            Some(Err(_)) => self.eye.end(Ending::Cut),
            None => self.eye.end(Ending::Complete),
        }
        Poll::Ready(frame)
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.shape == Shape::AsItCame && self.answer.is_over()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.shape {
            Shape::EmptyWithForeignLength => SizeHint::default(),
            Shape::AsItCame | Shape::EmptyWithLength => self.answer.size_hint(),
        }
    }
}
