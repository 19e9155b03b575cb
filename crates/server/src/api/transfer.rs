//! Exports and imports a conversation with its history as one file.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::response::IntoResponse;
pub use ctx_api::conversations::EXPORT_MEDIA as MEDIA;
use ctx_api::conversations::{ImportQuery, ImportResult};
use ctx_core::ErrorCode;
use http::header;

use super::Api;
use super::read::{Answer, asked};
use crate::local::ControlError;

/// The path of imports.
pub const IMPORT: &str = "/import";
/// Larger than a conversation that fills the largest window many times.
const LARGEST_FILE: usize = 1024 * 1024 * 1024;

pub async fn export(api: Api, Path(name): Path<String>) -> Result<impl IntoResponse, ControlError> {
    let (id, file) = api.ask(move |service| service.export(&name)).await?;
    api.note_taken("exported", 1);
    let name = format!("attachment; filename=\"{id}.ctx\"");
    Ok(([(header::CONTENT_TYPE, MEDIA.to_owned()), (header::CONTENT_DISPOSITION, name)], file))
}

pub async fn import(api: Api, query: Result<Query<ImportQuery>, QueryRejection>, body: Body) -> Answer<ImportResult> {
    let ImportQuery { dry_run } = asked(query)?;
    let file = to_bytes(body, LARGEST_FILE).await.map_err(|_| {
        ControlError::new(
            ErrorCode::TooLarge,
            "The file is too large or incomplete.",
            "Nothing was changed. Try again.",
        )
    })?;
    let importer = api.importer();
    api.ask(move |service| service.take_in(&file, dry_run, importer.as_deref())).await.map(Json)
}
