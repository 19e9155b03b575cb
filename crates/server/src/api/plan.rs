//! Plans: looked at as a whole, and made if that is wanted.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use ctx_composer::edit::{Plan, PlanView};

use super::Api;
use super::read::{Answer, understood};

pub async fn plan(
    State(api): State<Api>,
    Path(name): Path<String>,
    plan: Result<Json<Plan>, JsonRejection>,
) -> Answer<PlanView> {
    let plan = understood(plan)?;
    api.ask(move |composer| composer.plan(&name, plan)).await.map(Json)
}
