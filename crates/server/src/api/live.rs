//! What happens, as it happens: server-sent events, resumed by sequence number.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::IntoResponse;
use bytes::Bytes;
use ctx_composer::view::event;
use http::{HeaderMap, header};
use http_body::Frame;
use serde::Deserialize;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Api;
use crate::rooms::ControlError;

/// Events that wait for a slow reader; one that falls further behind must connect again.
const WAITING: usize = 1024;
/// Events that a reader may catch up on.
const CATCH_UP: usize = 10_000;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub struct After {
    after: Option<u64>,
}

pub async fn events(
    State(api): State<Api>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ControlError> {
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = resumed.or(query.after);
    let (send, receive) = mpsc::channel(WAITING);
    api.0.composer.listen(move |record| match event(record) {
        Some(event) => send.try_send((record.seq, line(record.seq, &event))).is_ok(),
        None => !send.is_closed(),
    });
    // Listening began first, so nothing falls between what is read here and what comes.
    let missed = match after {
        Some(after) => api.ask(move |composer| Ok(composer.store().log(after, CATCH_UP)?)).await?.records,
        None => Vec::new(),
    };
    let sent = missed.last().map_or(0, |record| record.seq);
    let missed: Vec<u8> =
        missed.iter().filter_map(|record| event(record).map(|event| line(record.seq, &event))).flatten().collect();
    let mut beats = interval(KEEP_ALIVE);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stream = Stream { first: Some([b": ok\n\n".to_vec(), missed].concat().into()), sent, receive, beats };
    Ok(([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], Body::new(stream)))
}

fn line(seq: u64, event: &serde_json::Value) -> Vec<u8> {
    format!("id: {seq}\ndata: {event}\n\n").into_bytes()
}

struct Stream {
    first: Option<Bytes>,
    /// The highest number that was sent while catching up.
    sent: u64,
    receive: Receiver<(u64, Vec<u8>)>,
    beats: Interval,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        loop {
            match self.receive.poll_recv(context) {
                Poll::Ready(Some((seq, line))) if seq > self.sent => {
                    return Poll::Ready(Some(Ok(Frame::data(line.into()))));
                }
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        // A quiet line would look dead, and a reader that left would never be noticed.
        self.beats.poll_tick(context).map(|_| Some(Ok(Frame::data(Bytes::from_static(b": still here\n\n")))))
    }
}
