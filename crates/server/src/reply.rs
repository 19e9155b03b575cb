//! The one body type that goes back to clients, whoever made it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};

use crate::connection::Turn;
use crate::proxy::AnswerBody;

pub(crate) type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(crate) struct Reply {
    content: Content,
    /// Tells the connection, by being dropped, that this reply is through.
    _turn: Option<Turn>,
}

enum Content {
    Answer(AnswerBody),
    Whole(Option<Bytes>),
    Room { body: axum::body::Body, closing: Closing },
}

impl Reply {
    pub(crate) fn answer(body: AnswerBody) -> Self {
        Self { content: Content::Answer(body), _turn: None }
    }

    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self { content: Content::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())), _turn: None }
    }

    /// A reply from one of our own rooms. Live streams have no end of their own; `closing` ends them when
    /// the daemon stops.
    pub(crate) fn room(body: axum::body::Body, closing: Closing) -> Self {
        Self { content: Content::Room { body, closing }, _turn: None }
    }

    pub(crate) fn in_turn(response: Response<Self>, turn: Turn) -> Response<Self> {
        response.map(|reply| Self { _turn: Some(turn), ..reply })
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().content {
            Content::Answer(body) => body.poll_frame(context).map_err(Into::into),
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Room { body, closing } => match Pin::new(body).poll_frame(context) {
                Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
                Poll::Pending => closing.as_mut().poll(context).map(|()| None),
            },
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
