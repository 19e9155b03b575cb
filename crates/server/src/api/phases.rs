//! Phases of the work.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use ctx_api::phases::{PhaseWish, PhasesView};

use super::Api;
use super::read::{Answer, understood};

pub async fn phases(State(api): State<Api>, Path(name): Path<String>) -> Answer<PhasesView> {
    api.ask(move |service| service.phases(&name)).await.map(Json)
}

pub async fn phase(
    State(api): State<Api>,
    Path(name): Path<String>,
    wish: Result<Json<PhaseWish>, JsonRejection>,
) -> Answer<PhasesView> {
    let wish = understood(wish)?;
    api.ask(move |service| service.phase(&name, &wish)).await.map(Json)
}
