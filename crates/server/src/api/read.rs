//! Questions with one answer.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::IntoResponse;
use ctx_composer::edit::{Branches, Diff, Explained, HistoryView, Tags};
use ctx_composer::view::{Conversations, Frames, Shown, Timeline};
use ctx_composer::{Refusal, now};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Api;
use crate::rooms::{ControlError, page_is_embedded};

pub type Answer<T> = Result<Json<T>, ControlError>;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The note that the composer keeps of a conversation with operations.
const EDITED: &str = "edited";

pub async fn status(State(api): State<Api>) -> Answer<Value> {
    let inside = api.0.clone();
    let (total, in_flight, failed) = inside.traffic.counts();
    let load = inside.recorder.load();
    let (size, count, edited, unsaved) = api
        .ask(|composer| {
            let size = composer.store().size()?;
            let edited = composer.store().notes(EDITED)?.len();
            Ok((size, composer.conversations().conversations.len(), edited, composer.unsaved()))
        })
        .await?;
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "listen": inside.listen.get().map(ToString::to_string),
        "upstream": inside.upstream,
        "home": inside.home,
        "started_at": inside.started_at,
        "conversations": count,
        "edited": edited,
        "requests": { "total": total, "in_flight": in_flight, "failed": failed },
        "recorder": load,
        "store": { "path": inside.store_path, "bytes": size.bytes(), "records": size.records, "blobs": size.blobs, "unsaved": unsaved },
        "memory_bytes": memory(),
        "page": page_is_embedded(),
    })))
}

/// The memory this process holds, where the system tells.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

pub async fn conversations(State(api): State<Api>) -> Answer<Conversations> {
    api.ask(|composer| Ok(composer.conversations())).await.map(Json)
}

#[derive(Deserialize)]
pub struct FramesQuery {
    #[serde(default)]
    steps: bool,
    at: Option<String>,
}

pub async fn frames(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<FramesQuery>, QueryRejection>,
) -> Answer<Frames> {
    let FramesQuery { steps, at } = asked(query)?;
    api.ask(move |composer| composer.frames(&name, steps, at.as_deref())).await.map(Json)
}

/// The point of the history that is meant: the newest without one.
#[derive(Deserialize)]
pub struct AtQuery {
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

#[derive(Serialize)]
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

#[derive(Deserialize)]
pub struct DiffQuery {
    from: Option<String>,
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

pub async fn history(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<LimitQuery>, QueryRejection>,
) -> Answer<HistoryView> {
    let LimitQuery { limit } = asked(query)?;
    api.ask(move |composer| composer.history(&name, limit)).await.map(Json)
}

pub async fn branches(State(api): State<Api>, Path(name): Path<String>) -> Answer<Branches> {
    api.ask(move |composer| composer.branches(&name)).await.map(Json)
}

pub async fn tags(State(api): State<Api>, Path(name): Path<String>) -> Answer<Tags> {
    api.ask(move |composer| composer.tags(&name)).await.map(Json)
}

#[derive(Deserialize)]
pub struct LimitQuery {
    #[serde(default = "everything")]
    limit: usize,
}

fn everything() -> usize {
    usize::MAX
}

pub async fn timeline(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<LimitQuery>, QueryRejection>,
) -> Answer<Timeline> {
    let LimitQuery { limit } = asked(query)?;
    api.ask(move |composer| composer.timeline(&name, limit)).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purge {
    #[serde(default)]
    conversations: Vec<String>,
    older_than_days: Option<u64>,
    #[serde(default)]
    all: bool,
}

pub async fn purge(State(api): State<Api>, wish: Result<Json<Purge>, JsonRejection>) -> Answer<Value> {
    let wish = understood(wish)?;
    let ways = [!wish.conversations.is_empty(), wish.older_than_days.is_some(), wish.all];
    if ways.into_iter().filter(|given| *given).count() > 1 {
        return Err(bad_request("`conversations`, `older_than_days` and `all` exclude each other".to_owned()));
    }
    api.ask(move |composer| {
        // The store's own list: side traffic alone makes records that no listing shows.
        let all = composer.store().conversations()?;
        let ids: Vec<String> = match wish.older_than_days {
            _ if wish.all => all.into_iter().map(|found| found.id).collect(),
            Some(days) => {
                let oldest = now().saturating_sub(days.saturating_mul(DAY_MS));
                all.into_iter().filter(|found| found.last_at < oldest).map(|found| found.id).collect()
            }
            None => wish.conversations.iter().map(|name| composer.resolve(name)).collect::<Result<_, Refusal>>()?,
        };
        let purged = composer.purge(&ids)?;
        Ok(Json(json!({ "conversations": ids.len(), "bytes_freed": purged.bytes })))
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
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "The request is larger than anything the provider would take.",
            "Make it in several steps, or shorten it.",
        ),
        _ => bad_request(why.body_text()),
    })
}

fn bad_request(why: String) -> ControlError {
    ControlError::new(
        StatusCode::BAD_REQUEST,
        "bad-request",
        format!("The request is not understood: {}.", why.trim_end_matches('.')),
        "The client may be newer or older than the daemon; compare `ctx --version` with `ctx status`.",
    )
}
