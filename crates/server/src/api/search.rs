//! Searches the text of conversations.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use ctx_api::search::SearchQuery;
use ctx_api::search::SearchResults;

use super::Api;
use super::read::{Answer, asked};

/// The default number of hits.
const USUAL: usize = 20;

pub async fn search(api: Api, query: Result<Query<SearchQuery>, QueryRejection>) -> Answer<SearchResults> {
    let SearchQuery { q, conv, limit } = asked(query)?;
    api.ask(move |service| service.search(&q, conv.as_deref(), limit.unwrap_or(USUAL))).await.map(Json)
}
