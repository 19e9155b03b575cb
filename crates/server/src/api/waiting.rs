//! Deferred edits and proposals.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use ctx_api::waiting::{Cancel, Several};
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};

use http::HeaderMap;

use super::Api;
use super::read::{Answer, understood};
use crate::local::face_of;

/// Applies several of them now.
pub async fn accept_many(
    State(api): State<Api>,
    Path(name): Path<String>,
    headers: HeaderMap,
    several: Result<Json<Several>, JsonRejection>,
) -> Answer<PendingOutcome> {
    let (Several { ids, author }, face) = (understood(several)?, face_of(&headers));
    api.ask(move |service| service.accept_many(&name, &ids, &author, face)).await.map(Json)
}

pub async fn cancel_many(
    State(api): State<Api>,
    Path(name): Path<String>,
    headers: HeaderMap,
    several: Result<Json<Several>, JsonRejection>,
) -> Answer<PendingOutcome> {
    let (Several { ids, author }, face) = (understood(several)?, face_of(&headers));
    api.ask(move |service| service.cancel_many(&name, &ids, &author, face)).await.map(Json)
}

pub async fn waiting(State(api): State<Api>, Path(name): Path<String>) -> Answer<WaitingView> {
    api.ask(move |service| service.waiting(&name)).await.map(Json)
}

/// Applies one of them now.
pub async fn accept(
    State(api): State<Api>,
    Path((name, wish)): Path<(String, String)>,
    accept: Result<Json<Cancel>, JsonRejection>,
) -> Answer<WaitView> {
    let Cancel { author } = understood(accept)?;
    api.ask(move |service| service.accept(&name, &wish, &author)).await.map(Json)
}

pub async fn cancel(
    State(api): State<Api>,
    Path((name, wish)): Path<(String, String)>,
    cancel: Result<Json<Cancel>, JsonRejection>,
) -> Answer<WaitView> {
    let Cancel { author } = understood(cancel)?;
    api.ask(move |service| service.cancel(&name, &wish, &author)).await.map(Json)
}
