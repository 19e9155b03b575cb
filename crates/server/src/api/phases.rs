//! Phases of the work.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::phases::{PhaseWish, PhasesView};

use super::Api;
use super::read::Answer;

pub async fn phases(api: Api, Path(name): Path<String>) -> Answer<PhasesView> {
    api.ask(move |service| service.phases(&name)).await.map(Json)
}

pub async fn phase(
    api: Api,
    Path(name): Path<String>,
    wish: Result<Json<PhaseWish>, JsonRejection>,
) -> Answer<PhasesView> {
    let wish = api.signed(wish)?;
    api.ask(move |service| service.phase(&name, &wish)).await.map(Json)
}
