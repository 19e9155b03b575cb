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
use ctx_composer::{Composer, Refusal};
use http::{HeaderMap, StatusCode, header};
use http_body::Frame;
use serde::Deserialize;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Api;
use crate::rooms::ControlError;

/// Events that wait for a slow reader; one that falls further behind must connect again.
const WAITING: usize = 1024;
/// Records that are read at once while a reader catches up, and how often at most.
const PAGE: usize = 10_000;
const PAGES: usize = 20;
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
    let (sent, missed) = match after {
        Some(after) => {
            api.ask(move |composer| catch_up(after, |after| page(composer, after))).await?.ok_or_else(too_far_behind)?
        }
        None => (0, Vec::new()),
    };
    let mut beats = interval(KEEP_ALIVE);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stream = Stream { first: Some([b": ok\n\n".to_vec(), missed].concat().into()), sent, receive, beats };
    Ok(([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], Body::new(stream)))
}

/// A stretch of the log.
struct Page {
    /// Records in it, sound or not.
    count: usize,
    /// The last record's number.
    last: Option<u64>,
    lines: Vec<u8>,
}

fn page(composer: &Composer, after: u64) -> Result<Page, Refusal> {
    let found = composer.store().log(after, PAGE)?;
    let sound = found.records.last().map(|record| record.seq);
    let last = sound.max(found.skipped.last().map(|skipped| skipped.seq));
    let lines = found.records.iter().filter_map(|record| Some(line(record.seq, &event(record)?))).flatten().collect();
    Ok(Page { count: found.records.len() + found.skipped.len(), last, lines })
}

/// The lines of everything after this number, and the last number that was read. `None`: it is too much.
fn catch_up(
    mut after: u64,
    mut read: impl FnMut(u64) -> Result<Page, Refusal>,
) -> Result<Option<(u64, Vec<u8>)>, Refusal> {
    let mut lines = Vec::new();
    for _ in 0..PAGES {
        let page = read(after)?;
        after = page.last.unwrap_or(after);
        lines.extend(page.lines);
        if page.count < PAGE {
            return Ok(Some((after, lines)));
        }
    }
    Ok(None)
}

fn too_far_behind() -> ControlError {
    ControlError::new(
        StatusCode::GONE,
        "too-far-behind",
        format!("More than {} records have come since then, too many to send as events.", PAGE * PAGES - 1),
        "Read what happened with `ctx timeline`, and watch from now on.",
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of so many records, each with a line of one byte.
    fn log_of(records: u64) -> impl FnMut(u64) -> Result<Page, Refusal> {
        move |after| {
            let count = records.saturating_sub(after).min(PAGE as u64);
            let last = (count > 0).then_some(after + count);
            Ok(Page { count: count as usize, last, lines: vec![b'.'; count as usize] })
        }
    }

    fn caught_up(records: u64, after: u64) -> Option<(u64, usize)> {
        let outcome = catch_up(after, log_of(records)).unwrap_or_default();
        outcome.map(|(last, lines)| (last, lines.len()))
    }

    #[test]
    fn a_reader_catches_up_on_everything_however_many_pages_it_takes() {
        assert_eq!(caught_up(0, 0), Some((0, 0)));
        assert_eq!(caught_up(7, 7), Some((7, 0)));
        assert_eq!(caught_up(35_000, 5), Some((35_000, 34_995)));
        assert_eq!(caught_up(20_000, 0), Some((20_000, 20_000)), "a page that is just full");
    }

    #[test]
    fn a_reader_that_is_too_far_behind_is_refused_instead_of_missing_something() {
        let most = (PAGE * PAGES) as u64 - 1;
        assert_eq!(caught_up(most, 0), Some((most, most as usize)));
        assert_eq!(caught_up(most + 1, 0), None);
    }
}
