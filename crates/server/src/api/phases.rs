//! Phases of the work.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::phases::{PhaseRequest, PhasesView};

use super::Api;
use super::read::Answer;

pub async fn phases(api: Api, Path(name): Path<String>) -> Answer<PhasesView> {
    api.ask(move |service| service.phases(&name)).await.map(Json)
}

pub async fn phase(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<PhaseRequest>, JsonRejection>,
) -> Answer<PhasesView> {
    let request = api.signed(request)?;
    api.ask(move |service| service.phase(&name, &request)).await.map(Json)
}
