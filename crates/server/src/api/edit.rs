//! Edit requests. Each becomes a commit, or is refused without a change.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::edit::Heal;
use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::history::HistoryRequest;

use super::Api;
use super::read::Answer;

pub async fn operations(
    api: Api,
    Path(name): Path<String>,
    edit: Result<Json<EditRequest>, JsonRejection>,
) -> Answer<EditResult> {
    let edit = api.signed(edit)?;
    if super::helper::is_wanted(&api, &edit) {
        return super::helper::apply(&api, name, edit).await;
    }
    api.ask(move |service| service.apply(&name, edit).map(|applied| service.noting_uploads(applied))).await.map(Json)
}

pub async fn history(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<HistoryRequest>, JsonRejection>,
) -> Answer<EditResult> {
    let request = api.signed(request)?;
    api.ask(move |service| service.go(&name, request).map(|applied| service.noting_uploads(applied))).await.map(Json)
}

pub async fn heal(api: Api, Path(name): Path<String>, heal: Result<Json<Heal>, JsonRejection>) -> Answer<EditResult> {
    let Heal { author, note, expect, dry_run, when } = api.signed(heal)?;
    let edit = EditRequest { operations: Vec::new(), author, note, expect, dry_run, when };
    api.ask(move |service| service.heal(&name, edit).map(|applied| service.noting_uploads(applied))).await.map(Json)
}
