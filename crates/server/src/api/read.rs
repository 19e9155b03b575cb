//! Questions with one answer.

use std::path::PathBuf;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::IntoResponse;
use ctx_composer::edit::{Branches, Diff, Explained, HistoryView, Tags, misread};
use ctx_composer::provider::ProviderView;
use ctx_composer::recorder::Load;
use ctx_composer::view::{ContextMap, Conversations, Event, Frames, SentView, Shown, Timeline};
use ctx_composer::{Refusal, now};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Api;
use crate::local::{ControlError, page_is_embedded};
use crate::observer::Counts;

pub type Answer<T> = Result<Json<T>, ControlError>;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Serialize, JsonSchema)]
pub struct Status {
    version: &'static str,
    pid: u32,
    listen: Option<String>,
    upstream: String,
    /// The other upstreams.
    upstreams: Vec<UpstreamView>,
    home: PathBuf,
    started_at: u64,
    conversations: usize,
    /// Conversations with operations.
    edited: usize,
    requests: Requests,
    recorder: Load,
    store: Stored,
    /// The provider's own editing.
    provider: ProviderView,
    /// Where the system tells.
    memory_bytes: Option<u64>,
    /// Whether this program has the page in it.
    page: bool,
}

/// An upstream by its name.
#[derive(Clone, Serialize, JsonSchema)]
pub struct UpstreamView {
    pub name: String,
    pub url: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Requests {
    total: u64,
    in_flight: u64,
    /// Without a whole answer, though the client waited for it.
    failed: u64,
    /// The client left before the answer was whole.
    cancelled: u64,
    /// In a format that is not read: they passed, and nothing of them is shown.
    unread: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct Stored {
    path: PathBuf,
    bytes: u64,
    records: u64,
    blobs: u64,
    /// What could not be stored since the start.
    unsaved: u64,
    /// Files in the home that tell of acknowledged records which are missing.
    losses: Vec<PathBuf>,
    /// The file was removed or replaced while the daemon runs: commits are refused.
    gone: bool,
}

pub async fn status(State(api): State<Api>) -> Answer<Status> {
    let inside = api.0.clone();
    let Counts { total, in_flight, failed, cancelled, unread } = inside.traffic.counts();
    let recorder = inside.recorder.load();
    let (size, conversations, edited, unsaved) = api
        .ask(|composer| {
            let size = composer.store().size()?;
            Ok((size, composer.conversation_count(), composer.edited_count(), composer.unsaved()))
        })
        .await?;
    let trouble = inside.composer.store().trouble();
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        listen: inside.listen.get().map(ToString::to_string),
        upstream: inside.upstream.clone(),
        upstreams: inside.upstreams.clone(),
        home: inside.home.clone(),
        started_at: inside.started_at,
        conversations,
        edited,
        requests: Requests { total, in_flight, failed, cancelled, unread },
        recorder,
        store: Stored {
            path: inside.store_path.clone(),
            bytes: size.bytes(),
            records: size.records,
            blobs: size.blobs,
            unsaved,
            losses: trouble.losses,
            gone: trouble.gone,
        },
        provider: api.0.composer.provider_view(),
        memory_bytes: memory(),
        page: page_is_embedded(),
    }))
}

/// The memory this process holds, where the system tells.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

pub async fn conversations(State(api): State<Api>) -> Answer<Conversations> {
    let found = api.ask(|composer| Ok(composer.conversations())).await?;
    Ok(Json(Conversations { unread: api.0.recorder.load().requests, ..found }))
}

#[derive(Deserialize, JsonSchema)]
pub struct FramesQuery {
    /// Each frame with its steps.
    #[serde(default)]
    steps: bool,
    /// Also the frames that the client has left behind: from before a compaction, or rewound.
    #[serde(default)]
    all: bool,
    /// The point of the history that is meant; the newest without one.
    at: Option<String>,
}

pub async fn frames(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<FramesQuery>, QueryRejection>,
) -> Answer<Frames> {
    let FramesQuery { steps, all, at } = asked(query)?;
    let found = api
        .ask(move |composer| match all {
            true => composer.all_frames(&name, steps, at.as_deref()),
            false => composer.frames(&name, steps, at.as_deref()),
        })
        .await?;
    Ok(Json(Frames { unread: api.0.recorder.load().requests, ..found }))
}

/// The point of the history that is meant: the newest without one.
#[derive(Deserialize, JsonSchema)]
pub struct AtQuery {
    /// A commit, the beginning of its id, a tag, a branch, `HEAD` or `source`.
    at: Option<String>,
}

pub async fn show(
    State(api): State<Api>,
    Path((name, id)): Path<(String, String)>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<Shown> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |composer| composer.show(&name, &id, at.as_deref())).await.map(Json)
}

pub async fn compose(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Result<impl IntoResponse, ControlError> {
    let AtQuery { at } = asked(query)?;
    let bytes = api.ask(move |composer| composer.compose(&name, at.as_deref())).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

pub async fn sent(State(api): State<Api>, Path((name, request)): Path<(String, String)>) -> Answer<SentView> {
    let request = request_number(&request)?;
    api.ask(move |composer| composer.sent(&name, request)).await.map(Json)
}

pub async fn sent_body(
    State(api): State<Api>,
    Path((name, request)): Path<(String, String)>,
) -> Result<impl IntoResponse, ControlError> {
    let request = request_number(&request)?;
    let bytes = api.ask(move |composer| composer.sent_body(&name, request)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

/// A request by its name: `r17`, or `17`.
pub fn request_number(name: &str) -> Result<u32, ControlError> {
    let number = name.strip_prefix('r').unwrap_or(name).parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        ControlError::new(
            "unknown-request",
            format!("`{name}` is not the name of a request."),
            "Requests are called r1, r2, and so on; `ctx timeline` lists them.",
        )
    })
}

#[derive(Serialize, JsonSchema)]
pub struct Explanation {
    #[serde(flatten)]
    explained: Explained,
    /// What the provider refuses, if `ctx heal` knows a way out.
    problem: Option<String>,
}

pub async fn explain(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<Explanation> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |composer| {
        let explained = composer.explain(&name, at.as_deref())?;
        // Health is the rule, and it comes as a refusal.
        let problem = composer.illness(&explained.conversation).ok().map(|illness| illness.problem);
        Ok(Explanation { explained, problem })
    })
    .await
    .map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub struct DiffQuery {
    /// A point of the history; `source` without one.
    from: Option<String>,
    /// `HEAD` without one.
    to: Option<String>,
}

pub async fn diff(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<DiffQuery>, QueryRejection>,
) -> Answer<Diff> {
    let DiffQuery { from, to } = asked(query)?;
    let (from, to) = (from.unwrap_or_else(|| "source".to_owned()), to.unwrap_or_else(|| "HEAD".to_owned()));
    api.ask(move |composer| composer.diff(&name, &from, &to)).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub struct HistoryQuery {
    /// The newest so many; all without it.
    limit: Option<usize>,
    /// The commits of all branches, not only of the one that is looked at.
    #[serde(default)]
    all: bool,
    /// Only the beginning of long texts in operations, and no raw JSON.
    #[serde(default)]
    brief: bool,
}

pub async fn history(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Answer<HistoryView> {
    let HistoryQuery { limit, all, brief } = asked(query)?;
    let most = limit.unwrap_or(usize::MAX);
    api.ask(move |composer| {
        let history = if all { composer.whole_history(&name, most) } else { composer.history(&name, most) }?;
        Ok(if brief { history.brief() } else { history })
    })
    .await
    .map(Json)
}

pub async fn map(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<AtQuery>, QueryRejection>,
) -> Answer<ContextMap> {
    let AtQuery { at } = asked(query)?;
    api.ask(move |composer| composer.map(&name, at.as_deref())).await.map(Json)
}

pub async fn branches(State(api): State<Api>, Path(name): Path<String>) -> Answer<Branches> {
    api.ask(move |composer| composer.branches(&name)).await.map(Json)
}

pub async fn tags(State(api): State<Api>, Path(name): Path<String>) -> Answer<Tags> {
    api.ask(move |composer| composer.tags(&name)).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub struct TimelineQuery {
    /// The newest so many; all without it.
    limit: Option<usize>,
    /// Only the beginning of long texts in operations, and no raw JSON.
    #[serde(default)]
    brief: bool,
}

pub async fn timeline(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<TimelineQuery>, QueryRejection>,
) -> Answer<Timeline> {
    let TimelineQuery { limit, brief } = asked(query)?;
    api.ask(move |composer| {
        let mut timeline = composer.timeline(&name, limit.unwrap_or(usize::MAX))?;
        if brief {
            timeline.events = timeline.events.into_iter().map(Event::brief).collect();
        }
        Ok(timeline)
    })
    .await
    .map(Json)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Purge {
    #[serde(default)]
    conversations: Vec<String>,
    older_than_days: Option<u64>,
    #[serde(default)]
    all: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Purged {
    conversations: usize,
    bytes_freed: u64,
}

pub async fn purge(State(api): State<Api>, wish: Result<Json<Purge>, JsonRejection>) -> Answer<Purged> {
    let wish = understood(wish)?;
    let ways = [!wish.conversations.is_empty(), wish.older_than_days.is_some(), wish.all];
    if ways.into_iter().filter(|given| *given).count() > 1 {
        return Err(bad_request("`conversations`, `older_than_days` and `all` exclude each other".to_owned()));
    }
    api.ask(move |composer| {
        let ids: Vec<String> = match wish.older_than_days {
            // The store's own list: side traffic alone makes records that no listing shows.
            _ if wish.all => composer.store().conversations()?.into_iter().map(|found| found.id).collect(),
            Some(days) => composer.inactive_since(now().saturating_sub(days.saturating_mul(DAY_MS)))?,
            None => wish.conversations.iter().map(|name| composer.resolve(name)).collect::<Result<_, Refusal>>()?,
        };
        let purged = composer.purge(&ids)?;
        Ok(Json(Purged { conversations: ids.len(), bytes_freed: purged.bytes }))
    })
    .await
}

pub fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ControlError> {
    query.map(|Query(query)| query).map_err(|why| bad_request(why.body_text()))
}

/// A body, or what is wrong with it and where.
pub fn understood<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, ControlError> {
    body.map(|Json(body)| body).map_err(|why| match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ControlError::new(
            "too-large",
            "The request is larger than anything the provider would take.",
            "Make it in several steps, or shorten it.",
        ),
        _ => bad_request(in_words(&why.body_text())),
    })
}

/// What is wrong with a body: where, and in plain words.
fn in_words(said: &str) -> String {
    let said = said.strip_prefix("Failed to deserialize the JSON body into the target type: ").unwrap_or(said);
    if let Some(said) = said.strip_prefix("Failed to parse the request body as JSON: ") {
        let place = said.find(" at line ").map_or("", |at| &said[at..]);
        return format!("{}{place}", misread::in_words(said));
    }
    // The place comes first, where there is one.
    match said.split_once(": ").filter(|(place, _)| !place.contains(' ')) {
        Some((place, what)) if place.contains("operations[") => format!("{place}: {}", misread::of_operation(what)),
        Some((place, what)) => format!("{place}: {}", misread::in_words(what)),
        None => misread::in_words(said),
    }
}

pub fn bad_request(why: String) -> ControlError {
    ControlError::new(
        "bad-request",
        format!("The request is not understood: {}.", why.trim_end_matches('.')),
        "docs/api.md and /control/v1/openapi.json say what is understood; a client of another version may say more.",
    )
}
