//! Questions with one answer.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::IntoResponse;
use ctx_composer::view::{Conversations, Frames, Shown, Timeline};
use ctx_composer::{Refusal, now};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use crate::rooms::{ControlError, page_is_embedded};

type Answer<T> = Result<Json<T>, ControlError>;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub async fn status(State(api): State<Api>) -> Answer<Value> {
    let inside = api.0.clone();
    let (total, in_flight, failed) = inside.traffic.counts();
    let load = inside.recorder.load();
    let (size, count, unsaved) = api
        .ask(|composer| {
            let size = composer.store().size()?;
            Ok((size, composer.conversations().conversations.len(), composer.unsaved()))
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
}

pub async fn frames(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<FramesQuery>, QueryRejection>,
) -> Answer<Frames> {
    let Query(query) = query.map_err(|why| bad_request(why.body_text()))?;
    api.ask(move |composer| composer.frames(&name, query.steps, None)).await.map(Json)
}

pub async fn show(State(api): State<Api>, Path((name, id)): Path<(String, String)>) -> Answer<Shown> {
    api.ask(move |composer| composer.show(&name, &id, None)).await.map(Json)
}

pub async fn compose(State(api): State<Api>, Path(name): Path<String>) -> Result<impl IntoResponse, ControlError> {
    let bytes = api.ask(move |composer| composer.compose(&name, None)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

#[derive(Deserialize)]
pub struct TimelineQuery {
    #[serde(default = "everything")]
    limit: usize,
}

fn everything() -> usize {
    usize::MAX
}

pub async fn timeline(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<TimelineQuery>, QueryRejection>,
) -> Answer<Timeline> {
    let Query(query) = query.map_err(|why| bad_request(why.body_text()))?;
    api.ask(move |composer| composer.timeline(&name, query.limit)).await.map(Json)
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
    let Json(wish) = wish.map_err(|why| bad_request(why.body_text()))?;
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

fn bad_request(why: String) -> ControlError {
    ControlError::new(
        StatusCode::BAD_REQUEST,
        "bad-request",
        format!("The request is not understood: {why}."),
        "The client may be newer or older than the daemon; compare `ctx --version` with `ctx status`.",
    )
}
