//! Money and the cache: models, the ledger, and why something was missed.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use ctx_composer::view::{Asked, Grouping, Misses, ModelsView, Stats};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use super::read::{Answer, asked, request_number};

/// Misses that are listed unless more are wanted.
const USUAL: usize = 20;

pub async fn models(State(api): State<Api>) -> Answer<ModelsView> {
    api.ask(|composer| Ok(composer.models())).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub struct StatsQuery {
    /// By what figures are summed up; by conversation without it.
    #[serde(default)]
    by: Grouping,
    /// Only from the day on in which this lies, in milliseconds since 1970. Days are those of UTC.
    since: Option<u64>,
    /// One conversation only.
    conv: Option<String>,
    /// At most so many groups; the sums are of all.
    limit: Option<usize>,
}

pub async fn stats(State(api): State<Api>, query: Result<Query<StatsQuery>, QueryRejection>) -> Answer<Stats> {
    let StatsQuery { by, since, conv, limit } = asked(query)?;
    let wanted = Asked { by, since, conversation: conv, most: limit };
    api.ask(move |composer| composer.stats(&wanted)).await.map(Json)
}

#[derive(Deserialize, JsonSchema)]
pub struct MissesQuery {
    /// One request, by its name (`r17`) or number, whether it missed something or not.
    request: Option<String>,
    /// At most so many; 20 without it.
    limit: Option<usize>,
}

pub async fn misses(
    State(api): State<Api>,
    Path(name): Path<String>,
    query: Result<Query<MissesQuery>, QueryRejection>,
) -> Answer<Misses> {
    let MissesQuery { request, limit } = asked(query)?;
    let request = request.as_deref().map(request_number).transpose()?;
    api.ask(move |composer| composer.misses(&name, request, limit.unwrap_or(USUAL))).await.map(Json)
}
