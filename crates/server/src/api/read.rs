//! Read-only requests with a single answer.

use ctx_api::conversations::{Purge, PurgeResult};
use ctx_api::frames::{AtQuery, FramesQuery};
use ctx_api::history::{DiffQuery, HistoryQuery};
use ctx_api::offloaded::{OffloadedQuery, OffloadedView};
use ctx_api::requests::Explanation;
use ctx_api::status::{OtherDaemon, Requests, Status, StoreStatus, WeekView};
use ctx_api::timeline::TimelineQuery;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::edit::misread;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::response::IntoResponse;
use ctx_api::conversations::Conversations;
use ctx_api::frames::Frames;
use ctx_api::history::{Branches, Diff, HistoryView, Tags};
use ctx_api::map::ContextMap;
use ctx_api::requests::SentView;
use ctx_api::show::ContentView;
use ctx_api::timeline::{Event, Timeline};
use ctx_service::now;
use http::{StatusCode, header};

use super::Api;
use crate::local::{ControlError, page_is_embedded};
use crate::observer::Counts;
use crate::team::guest::shared_with;

pub type Answer<T> = Result<Json<T>, ControlError>;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub async fn status(api: Api) -> Answer<Status> {
    let inside = api.0.clone();
    let Counts { total, in_flight, failed, cancelled, unread } = inside.traffic.counts();
    let recorder = inside.recorder.load();
    let (size, conversations, edited, unsaved) = api
        .ask(|service| {
            // A database out of reach tells no figures; everything else is known here.
            let size = match service.store().size() {
                Err(error) if error.is_temporary() => Default::default(),
                size => size?,
            };
            Ok((size, service.conversation_count(), service.edited_count(), service.unsaved()))
        })
        .await?;
    let trouble = inside.service.store().trouble();
    let presence = inside.service.presence().unwrap_or_default();
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        listen: inside.around.listen.get().map(ToString::to_string),
        upstream: inside.around.upstream.clone(),
        upstreams: inside.around.upstreams.clone(),
        home: inside.around.home.clone(),
        started_at: inside.around.started_at,
        conversations,
        edited,
        requests: Requests { total, in_flight, failed, cancelled, unread, elsewhere: inside.service.elsewhere() },
        recorder,
        store: StoreStatus {
            path: inside.around.store_path.clone(),
            bytes: size.bytes(),
            records: size.records,
            blobs: size.blobs,
            unsaved,
            losses: trouble.losses,
            gone: trouble.gone,
            away_since: presence.away.map(|away| now().saturating_sub(away.as_millis() as u64)),
            waiting_bytes: inside.service.waiting_bytes(),
            others: presence.others.into_iter().map(other_daemon).collect(),
        },
        provider: api.0.service.provider_view(),
        memory_bytes: memory(),
        page: page_is_embedded(),
        week: week(&inside.around.home).await,
        me: api.person(),
    }))
}

pub(super) fn other_daemon((name, silent): (String, std::time::Duration)) -> OtherDaemon {
    OtherDaemon { name, silent_ms: silent.as_millis() as u64 }
}

/// The newest replay of the home's conversations.
async fn week(home: &std::path::Path) -> Option<WeekView> {
    if home.as_os_str().is_empty() {
        return None;
    }
    let told = tokio::fs::read(home.join(WeekView::FILE)).await.ok()?;
    serde_json::from_slice(&told).ok()
}

/// The memory of this process, if the system reports it.
pub(super) fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

pub async fn conversations(api: Api) -> Answer<Conversations> {
    let mut found = api.ask(|service| Ok(service.conversations())).await?;
    if let Some(seat) = &api.0.seat {
        found.conversations.extend(shared_with(seat).await);
    }
    Ok(Json(Conversations { unread: api.0.recorder.load().requests, ..found }))
}

pub async fn frames(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<FramesQuery>, QueryRejection>,
) -> Answer<Frames> {
    let FramesQuery { steps, all, at } = asked(query)?;
    let found = api
        .ask(move |service| match all {
            true => service.all_frames(&name, steps, at.as_deref()),
            false => service.frames(&name, steps, at.as_deref()),
        })
        .await?;
    Ok(Json(Frames { unread: api.0.recorder.load().requests, ..found }))
}

pub async fn show(
    api: Api,
    Path((name, id)): Path<(String, String)>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<ContentView> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |service| service.show(&name, &id, at.as_deref())).await.map(Json)
}

pub async fn offloaded(
    api: Api,
    Path((name, handle)): Path<(String, String)>,
    query: Result<Query<OffloadedQuery>, QueryRejection>,
) -> Answer<OffloadedView> {
    let query = asked(query)?;
    api.ask(move |service| service.offloaded(&name, &handle, &query)).await.map(Json)
}

pub async fn compose(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Result<impl IntoResponse, ControlError> {
    let AtQuery { at } = asked(query)?;
    let bytes = api.ask(move |service| service.compose(&name, at.as_deref())).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

pub async fn sent(api: Api, Path((name, request)): Path<(String, String)>) -> Answer<SentView> {
    let request = request_number(&request)?;
    api.ask(move |service| service.sent(&name, request)).await.map(Json)
}

pub async fn sent_body(
    api: Api,
    Path((name, request)): Path<(String, String)>,
) -> Result<impl IntoResponse, ControlError> {
    let request = request_number(&request)?;
    let bytes = api.ask(move |service| service.sent_body(&name, request)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

/// A request by its name: `r17`, or `17`.
pub fn request_number(name: &str) -> Result<u32, ControlError> {
    let number = name.strip_prefix('r').unwrap_or(name).parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        ControlError::new(
            ErrorCode::UnknownRequest,
            format!("`{name}` does not name a request."),
            hint!["Requests are named r1, r2, …; ", Command::Timeline, " lists them."],
        )
    })
}

pub async fn explain(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<Explanation> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |service| {
        let explained = service.explain(&name, at.as_deref())?;
        // Usually nothing is wrong, which the service reports as a refusal.
        let problem = service.illness(&explained.conversation).ok().map(|illness| illness.problem);
        Ok(Explanation { explained, problem })
    })
    .await
    .map(Json)
}

pub async fn diff(api: Api, Path(name): Path<String>, query: Result<Query<DiffQuery>, QueryRejection>) -> Answer<Diff> {
    let DiffQuery { from, to } = asked(query)?;
    let (from, to) = (from.unwrap_or_else(|| "source".to_owned()), to.unwrap_or_else(|| "HEAD".to_owned()));
    api.ask(move |service| service.diff(&name, &from, &to)).await.map(Json)
}

pub async fn history(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Answer<HistoryView> {
    let HistoryQuery { limit, all, brief } = asked(query)?;
    let most = limit.unwrap_or(usize::MAX);
    api.ask(move |service| {
        let history = if all { service.whole_history(&name, most) } else { service.history(&name, most) }?;
        Ok(if brief { history.brief() } else { history })
    })
    .await
    .map(Json)
}

pub async fn map(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<ContextMap> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |service| service.map(&name, at.as_deref())).await.map(Json)
}

pub async fn branches(api: Api, Path(name): Path<String>) -> Answer<Branches> {
    api.ask(move |service| service.branches(&name)).await.map(Json)
}

pub async fn tags(api: Api, Path(name): Path<String>) -> Answer<Tags> {
    api.ask(move |service| service.tags(&name)).await.map(Json)
}

pub async fn timeline(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<TimelineQuery>, QueryRejection>,
) -> Answer<Timeline> {
    let TimelineQuery { limit, brief } = asked(query)?;
    api.ask(move |service| {
        let mut timeline = service.timeline(&name, limit.unwrap_or(usize::MAX))?;
        if brief {
            timeline.events = timeline.events.into_iter().map(Event::brief).collect();
        }
        Ok(timeline)
    })
    .await
    .map(Json)
}

pub async fn purge(api: Api, request: Result<Json<Purge>, JsonRejection>) -> Answer<PurgeResult> {
    let request = understood(request)?;
    let ways = [!request.conversations.is_empty(), request.older_than_days.is_some(), request.all];
    if ways.into_iter().filter(|given| *given).count() > 1 {
        return Err(bad_request("`conversations`, `older_than_days` and `all` exclude each other".to_owned()));
    }
    let chosen = api.ask(move |service| match request.older_than_days {
        // The store's own list: side traffic creates records that no list shows.
        _ if request.all => Ok(service.store().conversations()?.into_iter().map(|found| found.id).collect()),
        Some(days) => Ok(service.inactive_since(now().saturating_sub(days.saturating_mul(DAY_MS)))?),
        None => request.conversations.iter().map(|name| service.resolve(name)).collect::<Result<Vec<_>, Refusal>>(),
    });
    let ids = chosen.await?;
    // First, so that a failure leaves no share behind: if a session goes on, its next conversation gets the same id.
    api.end_access(ids.clone()).await?;
    let purged = api.ask(move |service| {
        let purged = service.purge(&ids)?;
        let residue = service.store().residue().to_owned();
        Ok(PurgeResult { conversations: ids.len(), bytes_freed: purged.bytes, residue })
    });
    let purged = purged.await?;
    api.note_taken("purged", purged.conversations as u64);
    Ok(Json(purged))
}

pub fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ControlError> {
    query.map(|Query(query)| query).map_err(|why| bad_request(why.body_text()))
}

/// A parsed body, or an error with its position.
pub fn understood<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, ControlError> {
    body.map(|Json(body)| body).map_err(|why| match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => bad_request(in_words(&why.body_text())),
    })
}

/// The refusal of a body that is too long.
pub fn too_large() -> ControlError {
    ControlError::new(
        ErrorCode::TooLarge,
        "The request is larger than the provider accepts.",
        "Split it into several requests, or shorten it.",
    )
}

/// The error in a body: its position, and a plain message.
fn in_words(said: &str) -> String {
    let said = said.strip_prefix("Failed to deserialize the JSON body into the target type: ").unwrap_or(said);
    if let Some(said) = said.strip_prefix("Failed to parse the request body as JSON: ") {
        let place = said.find(" at line ").map_or("", |at| &said[at..]);
        return format!("{}{place}", misread::in_words(said));
    }
    // The position comes first, if there is one.
    match said.split_once(": ").filter(|(place, _)| !place.contains(' ')) {
        Some((place, what)) if place.contains("operations[") => format!("{place}: {}", misread::of_operation(what)),
        Some((place, what)) => format!("{place}: {}", misread::in_words(what)),
        None => misread::in_words(said),
    }
}

pub fn bad_request(why: String) -> ControlError {
    ControlError::new(
        ErrorCode::BadRequest,
        format!("The request is invalid: {}.", why.trim_end_matches('.')),
        "See docs/api.md and /control/v1/openapi.json. A client of another version may send more.",
    )
}
