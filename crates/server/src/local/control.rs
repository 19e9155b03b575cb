//! The words of the control API that do not belong to any one handler: its error shape and its refusals.

use axum::body::Body;
use axum::response::IntoResponse;
use ctx_api::codes::status_of;
use ctx_core::ErrorCode;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use super::json;
use crate::auth::Refusal;
use crate::hints;
use crate::proxy::errors::ERROR_HEADER;

/// What every control handler answers when it cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ControlError {
    pub status: StatusCode,
    /// Stable, for programs.
    pub code: ErrorCode,
    /// One sentence, for people.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl ControlError {
    /// The status follows from the code.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status_of(code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code, message: message.into(), hint: hint.into() }
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response<Body> {
        let mut response =
            json(self.status, &json!({ "error": { "code": self.code, "message": self.message, "hint": self.hint } }));
        response.headers_mut().insert(ERROR_HEADER, HeaderValue::from_static(self.code.as_str()));
        response.extensions_mut().insert(self);
        response
    }
}

/// A refusal whose hint speaks of a shell, for whoever has none.
pub(super) fn without_shell(response: Response<Body>) -> Response<Body> {
    let Some(error) = response.extensions().get::<ControlError>() else { return response };
    let hint = hints::for_page(&error.hint);
    if hint == error.hint {
        return response;
    }
    let mut reworded = ControlError { hint, ..error.clone() }.into_response();
    // The router says which methods a path takes.
    let allowed = response.headers().get(header::ALLOW).cloned();
    reworded.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    reworded
}

pub(super) fn refused(refusal: Refusal) -> Response<Body> {
    let error = match refusal {
        Refusal::TokenMissing => ControlError::new(
            ErrorCode::TokenNeeded,
            "The control API needs the daemon's token.",
            "Send it as `Authorization: Bearer …`; it is in the file `token` of the daemon's home. The ctx commands do. \
             In a browser, open the link that `ctx ui` prints.",
        ),
        Refusal::TokenWrong => ControlError::new(
            ErrorCode::TokenWrong,
            "This is not the token, or not a session, of this daemon.",
            "In a browser, open the link that `ctx ui` prints. Otherwise read the token from the file `token` of the daemon's home; `--home` or CTX_HOME may point to another one.",
        ),
        Refusal::ForeignHost => ControlError::new(
            ErrorCode::ForeignHost,
            "The request was addressed to another host name.",
            "Use the address that the daemon listens on, or localhost.",
        ),
        Refusal::ForeignOrigin | Refusal::Navigation => ControlError::new(
            ErrorCode::CrossSite,
            "Web pages of other sites may not use the control API.",
            "Open the page with `ctx ui`.",
        ),
    };
    let mut response = error.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

pub(super) fn failed() -> Response<Body> {
    ControlError::new(
        ErrorCode::Internal,
        "The daemon could not finish this; this is a defect.",
        "Forwarding goes on. Please report it with the daemon's log.",
    )
    .into_response()
}

pub(super) async fn unknown_path() -> ControlError {
    ControlError::new(
        ErrorCode::UnknownPath,
        "The control API has no such path.",
        "The client may be newer or older than the daemon; compare `ctx --version` with `ctx status`.",
    )
}

pub(super) async fn wrong_method() -> ControlError {
    ControlError::new(
        ErrorCode::WrongMethod,
        "This path of the control API does not take this method.",
        "The client may be newer or older than the daemon; compare `ctx --version` with `ctx status`.",
    )
}
