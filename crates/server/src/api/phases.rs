//! Phases of the work.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::phases::{PhaseAction, PhaseRequest, PhasesView};

use ctx_engine::log::PhaseSummary;

use super::read::Answer;
use super::{Api, helper};

pub async fn phases(api: Api, Path(name): Path<String>) -> Answer<PhasesView> {
    api.ask(move |service| service.phases(&name)).await.map(Json)
}

pub async fn phase(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<PhaseRequest>, JsonRejection>,
) -> Answer<PhasesView> {
    let request = api.signed(request)?;
    let ends = request.action == PhaseAction::End;
    let view = api.ask(move |service| service.phase(&name, &request)).await?;
    let ended = view.phases.iter().filter(|phase| phase.ended.is_some()).max_by_key(|phase| phase.ended);
    if let Some((ended, at)) = ended.filter(|_| ends).and_then(|phase| Some((phase, phase.ended?))) {
        let summary = PhaseSummary { phase: ended.name.clone(), ended: at, waits_for: None };
        helper::summarize_phase(&api, &view.conversation, summary).await;
    }
    Ok(Json(view))
}
