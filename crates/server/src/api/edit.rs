//! Edit requests. Each becomes a commit, or is refused without a change.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::edit::Heal;
use ctx_api::edit::{EditResult, Wish};
use ctx_api::history::Way;

use super::Api;
use super::read::Answer;

pub async fn operations(
    api: Api,
    Path(name): Path<String>,
    wish: Result<Json<Wish>, JsonRejection>,
) -> Answer<EditResult> {
    let wish = api.signed(wish)?;
    if super::helper::is_wanted(&api, &wish) {
        return super::helper::apply(&api, name, wish).await;
    }
    api.ask(move |service| service.apply(&name, wish).map(|applied| service.noting_uploads(applied))).await.map(Json)
}

pub async fn history(api: Api, Path(name): Path<String>, way: Result<Json<Way>, JsonRejection>) -> Answer<EditResult> {
    let way = api.signed(way)?;
    api.ask(move |service| service.go(&name, way).map(|applied| service.noting_uploads(applied))).await.map(Json)
}

pub async fn heal(api: Api, Path(name): Path<String>, heal: Result<Json<Heal>, JsonRejection>) -> Answer<EditResult> {
    let Heal { author, note, expect, dry_run, when } = api.signed(heal)?;
    let wish = Wish { operations: Vec::new(), author, note, expect, dry_run, when };
    api.ask(move |service| service.heal(&name, wish).map(|applied| service.noting_uploads(applied))).await.map(Json)
}
