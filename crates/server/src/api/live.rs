//! Live events, as server-sent events that can be resumed by number.
//!
//! Nothing is buffered per reader. Each reader has a position in the log and reads on from there, a page at a time and
//! at its own pace, so a slow reader misses nothing. Where several daemons share the store, the position is one in the
//! feed, and is valid on each of them.

use ctx_api::live::{After, LiveEvent, Reason, Reset};
use ctx_engine::Refusal;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::IntoResponse;
use bytes::Bytes;
use ctx_core::ErrorCode;
use ctx_service::streams::Watching;
use ctx_service::{Cursor, Service, now};
use http::{HeaderMap, header};
use http_body::Frame;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::Api;
use super::read::{asked, bad_request};
use crate::local::ControlError;
use crate::team::Permit;

/// Records per page: all that a reader holds in memory.
const PAGE: usize = 64;
/// A reader that is further behind should reload everything.
const MOST: u64 = 100_000;
/// Buffered additions to growing replies, per reader.
const WAITING: usize = 16;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub const DESCRIPTION: &str = "Events, each with an `id` of the form `EPOCH-SEQ`, or with one for several events where \
    daemons share a database; `x-events` is the schema of their data. The first lines carry only the id of the newest event. Without `after` and `Last-Event-ID`, the stream \
    begins with the next event. If it cannot resume from the given id, it begins with an event named `reset`: \
    reload your data and keep listening. A restart of the daemon changes the epoch. Lines that start with a colon \
    keep the connection alive. With `streaming`, replies are reported as they grow.";

/// The id of an event in a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Id {
    /// A bare number is valid in every epoch.
    epoch: Option<u64>,
    seq: u64,
}

fn parse(text: &str) -> Option<Id> {
    let (epoch, seq) = match text.split_once('-') {
        Some((epoch, seq)) => (Some(u64::from_str_radix(epoch, 16).ok()?), seq),
        None => (None, text),
    };
    let seq = seq.bytes().all(|byte| byte.is_ascii_digit()).then(|| seq.parse().ok())??;
    Some(Id { epoch, seq })
}

/// A position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Behind the record with this number.
    Number(u64),
    /// In the feed that several daemons share.
    Feed(Cursor),
}

/// The position that a reader asks for; `None` if its text is none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WantedPosition {
    Id(Id),
    Feed(Cursor),
}

fn wanted(text: &str) -> Option<WantedPosition> {
    parse(text).map(WantedPosition::Id).or_else(|| text.parse().ok().map(WantedPosition::Feed))
}

/// The start of a stream.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    After(u64),
    Reset(Reason),
}

/// `last` is the newest event. `Some(None)`: the given id is invalid.
fn start(wanted: Option<Option<Id>>, epoch: u64, last: u64) -> Start {
    match wanted {
        None => Start::After(last),
        Some(None) => Start::Reset(Reason::UnknownId),
        Some(Some(id)) if id.epoch.is_some_and(|other| other != epoch) => Start::Reset(Reason::Restarted),
        Some(Some(id)) if id.seq > last => Start::Reset(Reason::UnknownId),
        Some(Some(id)) if last - id.seq > MOST => Start::Reset(Reason::TooFarBehind),
        Some(Some(id)) => Start::After(id.seq),
    }
}

pub async fn events(
    api: Api,
    query: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
    permit: Option<Extension<Permit>>,
) -> Result<impl IntoResponse, ControlError> {
    let After { after, streaming, brief } = asked(query)?;
    let after = after.map(|after| {
        wanted(&after)
            .ok_or_else(|| bad_request(format!("`after` must be the number or id of an event, not `{after}`")))
    });
    let after = after.transpose()?;
    // A reconnecting browser repeats its first query and adds its position as a header.
    let resumed = headers.get("last-event-id").map(|id| id.to_str().ok().and_then(wanted));
    let wanted = resumed.or(after.map(Some));
    let service = api.0.service.clone();
    let (told, newest) = watch::channel(0);
    let is_shared = service.presence().is_some();
    if is_shared {
        service.listen_to_all(move || told.send(0).is_ok());
    } else {
        service.listen(move |record| told.send(record.seq).is_ok());
    }
    let last = api.ask(|service| Ok(service.store().last_seq()?)).await?;
    let epoch = api.0.around.started_at;
    let (at, reset) = if is_shared { shared(&api, wanted).await? } else { alone(wanted, epoch, last) };
    let id = id_of(epoch, at);
    let first = match reset {
        None => format!(": ok\nid: {id}\n\n"),
        Some(reason) => {
            let reset = LiveEvent::Reset(Reset { kind: "reset".to_owned(), reason, seq: last, at: now() });
            format!("event: reset\n{}", line(&id, &reset))
        }
    };
    let (send, receive) = mpsc::channel(1);
    let _ = send.try_send(first.into());
    let growing = streaming.then(|| growing(&service));
    let permit = permit.map(|Extension(permit)| permit);
    let reader = Reader { _api: Some(api), service, epoch, brief, permit, keep_alive: KEEP_ALIVE };
    tokio::spawn(tell(reader, at, newest, growing, send));
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((head, Body::new(Stream(receive))))
}

/// The start in the log of a single daemon, and the reason if it is not the wanted one.
fn alone(wanted: Option<Option<WantedPosition>>, epoch: u64, last: u64) -> (Position, Option<Reason>) {
    let ids = wanted.map(|wanted| match wanted {
        Some(WantedPosition::Id(id)) => Some(id),
        Some(WantedPosition::Feed(_)) | None => None,
    });
    match start(ids, epoch, last) {
        Start::After(at) => (Position::Number(at), None),
        Start::Reset(reason) => (Position::Number(last), Some(reason)),
    }
}

/// The same in the feed that several daemons share.
async fn shared(api: &Api, wanted: Option<Option<WantedPosition>>) -> Result<(Position, Option<Reason>), ControlError> {
    let newest = Position::Feed(api.ask(|service| Ok(service.store().newest()?)).await?);
    let cursor = match wanted {
        None => return Ok((newest, None)),
        Some(Some(WantedPosition::Feed(cursor))) => cursor,
        Some(Some(WantedPosition::Id(Id { epoch: None, seq }))) => {
            let cursor = api.ask(move |service| Ok(service.store().cursor_behind(seq)?)).await?;
            return Ok((Position::Feed(cursor), None));
        }
        Some(_) => return Ok((newest, Some(Reason::UnknownId))),
    };
    let is_known = api.ask(move |service| match service.store().feed(&cursor, 1) {
        Err(error) if error.code() == ErrorCode::StoreCursor => Ok(false),
        found => Ok(found.map(|_| true)?),
    });
    Ok(if is_known.await? { (Position::Feed(cursor), None) } else { (newest, Some(Reason::Restarted)) })
}

/// Growing replies, and the subscription to them.
type GrowingReplies = (mpsc::Receiver<Bytes>, Watching);

fn growing(service: &Service) -> GrowingReplies {
    let (send, receive) = mpsc::channel(WAITING);
    let watching = service.streams().watch(move |streaming| {
        let data = serde_json::to_string(&LiveEvent::Streaming(streaming.clone())).unwrap_or_default();
        // Dropped if there is no space: the proxy never waits for a reader.
        let _ = send.try_send(format!("data: {data}\n\n").into());
    });
    (receive, watching)
}

async fn grown(growing: &mut Option<GrowingReplies>) -> Bytes {
    match growing {
        Some((receive, _)) => match receive.recv().await {
            Some(line) => line,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// The settings of one reader.
#[derive(Clone)]
struct Reader {
    /// Keeps the desk open.
    _api: Option<Api>,
    service: Arc<Service>,
    epoch: u64,
    brief: bool,
    /// In a team.
    permit: Option<Permit>,
    keep_alive: Duration,
}

impl Reader {
    /// Whether the reader may still listen: its key or session may have ended.
    fn is_admitted(&self) -> bool {
        self.permit.as_ref().is_none_or(Permit::is_valid)
    }
}

/// Sends everything stored after a number, then new events, until the reader disconnects or loses its
/// permit.
async fn tell(
    reader: Reader,
    mut at: Position,
    mut newest: watch::Receiver<u64>,
    mut growing: Option<GrowingReplies>,
    send: mpsc::Sender<Bytes>,
) {
    let mut beats = interval(reader.keep_alive);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats.reset();
    loop {
        let own = reader.clone();
        let read = tokio::task::spawn_blocking(move || page(&own, at)).await;
        // The reader reconnects and then gets the reason.
        let Ok(Ok(page)) = read else { return };
        at = page.end;
        if !reader.is_admitted() || (!page.lines.is_empty() && send.send(page.lines.into()).await.is_err()) {
            return;
        }
        if page.count == PAGE {
            continue;
        }
        loop {
            let line = tokio::select! {
                more = newest.changed() => if more.is_ok() { break } else { return },
                () = send.closed() => return,
                line = grown(&mut growing) => line,
                // Keeps the connection alive.
                _ = beats.tick() => Bytes::from_static(b": still here\n\n"),
            };
            if !reader.is_admitted() || send.send(line).await.is_err() {
                return;
            }
        }
    }
}

/// A page of the log.
struct Page {
    /// Records in it, including damaged ones.
    count: usize,
    /// The position behind it.
    end: Position,
    lines: Vec<u8>,
}

fn page(reader: &Reader, at: Position) -> Result<Page, Refusal> {
    let store = reader.service.store();
    let (found, end) = match at {
        Position::Number(after) => {
            let found = store.log(after, PAGE)?;
            let end = Position::Number(found.last_seq().unwrap_or(after));
            (found, end)
        }
        Position::Feed(cursor) => {
            let feed = store.feed(&cursor, PAGE)?;
            (feed.found, Position::Feed(feed.next))
        }
    };
    let told = |record| {
        let event = reader.service.event(record)?;
        Some(LiveEvent::Happened(Box::new(if reader.brief { event.brief() } else { event })))
    };
    let mut lines = String::new();
    for record in &found.records {
        let Some(event) = told(record) else { continue };
        match at {
            Position::Number(_) => lines.push_str(&line(&id_of(reader.epoch, Position::Number(record.seq)), &event)),
            Position::Feed(_) => lines.push_str(&data(&event)),
        }
    }
    // A reader that reconnects within a page gets it again.
    if matches!(end, Position::Feed(_)) && end != at {
        lines.push_str(&format!("id: {}\n\n", id_of(reader.epoch, end)));
    }
    Ok(Page { count: found.records.len() + found.skipped.len(), end, lines: lines.into_bytes() })
}

/// The id of a position in the stream.
fn id_of(epoch: u64, position: Position) -> String {
    match position {
        Position::Number(seq) => format!("{epoch:x}-{seq}"),
        Position::Feed(cursor) => cursor.to_string(),
    }
}

fn line(id: &str, event: &LiveEvent) -> String {
    format!("id: {id}\n{}", data(event))
}

fn data(event: &LiveEvent) -> String {
    format!("data: {}\n\n", serde_json::to_string(event).unwrap_or_default())
}

struct Stream(mpsc::Receiver<Bytes>);

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests;
