//! Plans: previewed as a whole, and applied on request.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::plan::{Plan, PlanView};

use super::read::Answer;
use super::{Api, refused};

pub async fn plan(api: Api, Path(name): Path<String>, plan: Result<Json<Plan>, JsonRejection>) -> Answer<PlanView> {
    let plan = api.signed(plan)?;
    let is_open = plan.operations.iter().any(|planned| planned.operation.is_open());
    if !plan.apply || !is_open {
        return api.ask(move |service| service.plan(&name, plan)).await.map(Json);
    }
    // Texts are missing. If a model writes them, that takes time and must not block others.
    let look = Plan { apply: false, ..plan.clone() };
    let mut view = api.ask(move |service| service.plan(&name, look)).await?;
    let edit = ctx_engine::edit::plan_request(&plan, view.head.as_deref()).map_err(refused)?;
    let id = view.applied.conversation.clone();
    match super::helper::is_wanted(&api, &edit) {
        true => {
            let Json(applied) = super::helper::apply(&api, id, edit).await?;
            view.applied = applied;
        }
        false => view = api.ask(move |service| service.plan(&id, plan)).await?,
    }
    Ok(Json(view))
}
