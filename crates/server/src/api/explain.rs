//! Rules and error codes, explained.

use axum::Json;
use axum::extract::Path;

use super::read::Answer;
use crate::explain::{Term, Terms};

pub async fn all() -> Json<Terms> {
    Json(Terms::known())
}

pub async fn one(Path(name): Path<String>) -> Answer<Term> {
    Terms::known().find(&name).cloned().map(Json)
}
