//! The body type of all responses to clients.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::connection::Turn;
use crate::proxy::AnswerBody;

pub(crate) type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(crate) struct Reply {
    content: Content,
    /// Its drop tells the connection that this reply is complete.
    turn: Option<Turn>,
    breaking: Option<BreakingReply>,
}

/// A reply that ends in the middle. hyper discards unwritten data when a body fails, but the client should get
/// everything that the upstream sent before it died: so the failure waits until the rest has been written.
struct BreakingReply {
    error: Option<BoxError>,
    /// The connection's count of flushes at the start.
    flushes: u32,
    patience: Pin<Box<Sleep>>,
}

/// The time after which a client that does not read loses the rest.
const BREAKING_PATIENCE: Duration = Duration::from_secs(10);

enum Content {
    Answer(AnswerBody),
    Whole(Option<Bytes>),
    Room { body: axum::body::Body, closing: Closing },
}

impl Reply {
    pub(crate) fn answer(body: AnswerBody) -> Self {
        Self { content: Content::Answer(body), turn: None, breaking: None }
    }

    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self { content: Content::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())), turn: None, breaking: None }
    }

    /// A reply from one of our own paths. Live streams never end; `closing` ends them when the daemon stops.
    pub(crate) fn local(body: axum::body::Body, closing: Closing) -> Self {
        Self { content: Content::Room { body, closing }, turn: None, breaking: None }
    }

    pub(crate) fn in_turn(response: Response<Self>, turn: Turn) -> Response<Self> {
        let reply = response.body();
        if !matches!(reply.content, Content::Answer(_)) && reply.size_hint().exact().is_some() {
            turn.reply_own();
        }
        response.map(|reply| Self { turn: Some(turn), ..reply })
    }
}

impl Reply {
    fn poll_breaking(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(breaking) = &mut self.breaking else { return Poll::Ready(None) };
        // No wake-up is needed: hyper polls a body after every flush.
        let written = self.turn.as_ref().is_none_or(|turn| turn.flushes() != breaking.flushes);
        if written || breaking.patience.as_mut().poll(context).is_ready() {
            return Poll::Ready(breaking.error.take().map(Err));
        }
        Poll::Pending
    }
}

impl Content {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self {
            Content::Answer(body) => body.poll_frame(context).map_err(Into::into),
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Room { body, closing } => match Pin::new(body).poll_frame(context) {
                Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
                Poll::Pending => closing.as_mut().poll(context).map(|()| None),
            },
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if this.breaking.is_some() {
            return this.poll_breaking(context);
        }
        match ready!(this.content.poll_frame(context)) {
            Some(Err(error)) => {
                let flushes = this.turn.as_ref().map_or(0, Turn::flushes);
                let patience = Box::pin(sleep(BREAKING_PATIENCE));
                this.breaking = Some(BreakingReply { error: Some(error), flushes, patience });
                this.poll_breaking(context)
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Answer(body) => body.is_end_stream(),
            Content::Whole(bytes) => bytes.is_none(),
            Content::Room { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Answer(body) => body.size_hint(),
            Content::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Content::Room { body, .. } => body.size_hint(),
        }
    }
}
