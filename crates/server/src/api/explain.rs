//! Explains rules and error codes.

use axum::Json;
use axum::extract::Path;

use super::read::Answer;
use crate::explain;
use ctx_api::explain::{Term, Terms};

pub async fn all() -> Json<Terms> {
    Json(explain::known())
}

pub async fn one(Path(name): Path<String>) -> Answer<Term> {
    explain::find(&explain::known(), &name).cloned().map(Json)
}
