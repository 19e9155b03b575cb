//! Words found again in what has passed.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use ctx_composer::view::Found;
use serde::Deserialize;

use super::Api;
use super::read::{Answer, asked};

/// Hits that are enough unless more are wanted.
const USUAL: usize = 20;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct SearchQuery {
    /// Words, whatever their case.
    q: String,
    /// One conversation only.
    conv: Option<String>,
    /// Hits that are enough; 20 without it.
    limit: Option<usize>,
}

pub async fn search(State(api): State<Api>, query: Result<Query<SearchQuery>, QueryRejection>) -> Answer<Found> {
    let SearchQuery { q, conv, limit } = asked(query)?;
    api.ask(move |composer| composer.search(&q, conv.as_deref(), limit.unwrap_or(USUAL))).await.map(Json)
}
