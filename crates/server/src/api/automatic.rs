//! The automatic editor: context usage, and clearing by hand.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::context::{ContextView, WorthView};
use ctx_api::edit::Clear;
use ctx_api::edit::EditResult;

use super::Api;
use super::read::Answer;

pub async fn context(api: Api, Path(name): Path<String>) -> Answer<ContextView> {
    api.ask(move |service| service.context(&name)).await.map(Json)
}

pub async fn worth(api: Api, Path(name): Path<String>) -> Answer<WorthView> {
    api.ask(move |service| service.worth(&name)).await.map(Json)
}

pub async fn clear(
    api: Api,
    Path(name): Path<String>,
    clear: Result<Json<Clear>, JsonRejection>,
) -> Answer<EditResult> {
    let Clear { reason, author } = api.signed(clear)?;
    let reason = reason.map_or_else(|| format!("asked for by {author}"), |reason| format!("{reason} ({author})"));
    api.ask(move |service| service.clear_now(&name, &reason).map(|done| service.noting_uploads(done))).await.map(Json)
}
