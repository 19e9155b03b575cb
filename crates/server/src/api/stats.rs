//! Costs and the cache: models, usage, and cache misses.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use ctx_api::cache::Misses;
use ctx_api::cache::MissesQuery;
use ctx_api::models::ModelsView;
use ctx_api::stats::Stats;
use ctx_api::stats::StatsQuery;
use ctx_service::view::StatsScope;

use super::Api;
use super::read::{Answer, asked, request_number};

/// The default number of misses.
const USUAL: usize = 20;

pub async fn models(api: Api) -> Answer<ModelsView> {
    api.ask(|service| Ok(service.models())).await.map(Json)
}

pub async fn stats(api: Api, query: Result<Query<StatsQuery>, QueryRejection>) -> Answer<Stats> {
    let StatsQuery { by, since, conv, limit } = asked(query)?;
    let wanted = StatsScope { by, since, conversation: conv, most: limit };
    api.ask(move |service| service.stats(&wanted)).await.map(Json)
}

pub async fn misses(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<MissesQuery>, QueryRejection>,
) -> Answer<Misses> {
    let MissesQuery { request, limit } = asked(query)?;
    let request = request.as_deref().map(request_number).transpose()?;
    api.ask(move |service| service.misses(&name, request, limit.unwrap_or(USUAL))).await.map(Json)
}
