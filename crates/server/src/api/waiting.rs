//! Deferred edits and proposals.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::waiting::{Cancel, Several};
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};

use http::HeaderMap;

use super::Api;
use super::read::Answer;
use crate::local::face_of;

/// Applies several of them now.
pub async fn accept_many(
    api: Api,
    Path(name): Path<String>,
    headers: HeaderMap,
    several: Result<Json<Several>, JsonRejection>,
) -> Answer<PendingOutcome> {
    let (Several { ids, author }, face) = (api.signed(several)?, face_of(&headers));
    api.ask(move |service| service.accept_many(&name, &ids, &author, face)).await.map(Json)
}

pub async fn cancel_many(
    api: Api,
    Path(name): Path<String>,
    headers: HeaderMap,
    several: Result<Json<Several>, JsonRejection>,
) -> Answer<PendingOutcome> {
    let (Several { ids, author }, face) = (api.signed(several)?, face_of(&headers));
    api.ask(move |service| service.cancel_many(&name, &ids, &author, face)).await.map(Json)
}

pub async fn waiting(api: Api, Path(name): Path<String>) -> Answer<WaitingView> {
    api.ask(move |service| service.waiting(&name)).await.map(Json)
}

/// Applies one of them now.
pub async fn accept(
    api: Api,
    Path((name, edit)): Path<(String, String)>,
    accept: Result<Json<Cancel>, JsonRejection>,
) -> Answer<WaitView> {
    let Cancel { author } = api.signed(accept)?;
    api.ask(move |service| service.accept(&name, &edit, &author)).await.map(Json)
}

pub async fn cancel(
    api: Api,
    Path((name, edit)): Path<(String, String)>,
    cancel: Result<Json<Cancel>, JsonRejection>,
) -> Answer<WaitView> {
    let Cancel { author } = api.signed(cancel)?;
    api.ask(move |service| service.cancel(&name, &edit, &author)).await.map(Json)
}
