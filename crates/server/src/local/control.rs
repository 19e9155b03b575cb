//! The error format of the control API, and refusals that belong to no handler.

use axum::body::Body;
use axum::response::IntoResponse;
use ctx_api::codes::status_of;
use ctx_api::error::{ApiError, ErrorBody};
use ctx_api::face::Face;
use ctx_core::hint;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, Hint};
use ctx_team::Scopes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use super::json;
use crate::auth::Refusal;
use crate::proxy::errors::ERROR_HEADER;
use crate::team::KeyRefusal;

/// The error of every control handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ControlError {
    pub status: StatusCode,
    /// A stable code, for programs.
    pub code: ErrorCode,
    /// One sentence, for people.
    pub message: String,
    /// Advice.
    pub hint: Hint,
    /// The name that it refers to.
    pub about: Option<String>,
}

impl ControlError {
    /// The code determines the status.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        let status = StatusCode::from_u16(status_of(code)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code, message: message.into(), hint: hint.into(), about: None }
    }
}

impl ControlError {
    /// The response for this reader.
    fn answer(self, face: Face) -> Response<Body> {
        let error = ApiError {
            code: self.code.into(),
            message: self.message.clone(),
            hint: Some(face.words(&self.hint)),
            about: self.about.clone(),
        };
        let mut response = json(self.status, &json!(ErrorBody { error }));
        response.headers_mut().insert(ERROR_HEADER, HeaderValue::from_static(self.code.as_str()));
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response<Body> {
        self.answer(Face::default())
    }
}

impl From<ctx_engine::Refusal> for ControlError {
    fn from(refusal: ctx_engine::Refusal) -> Self {
        Self { about: refusal.about, ..Self::new(refusal.code, refusal.message, refusal.hint) }
    }
}

/// The response in the words of its reader.
pub(crate) fn worded(response: Response<Body>, face: Face) -> Response<Body> {
    let Some(error) = response.extensions().get::<ControlError>().filter(|_| face != Face::default()) else {
        return response;
    };
    let mut reworded = error.clone().answer(face);
    // The router names the methods of a path.
    let allowed = response.headers().get(header::ALLOW).cloned();
    reworded.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    reworded
}

pub(super) fn refused(refusal: Refusal) -> Response<Body> {
    let error = match refusal {
        Refusal::TokenMissing => ControlError::new(
            ErrorCode::TokenNeeded,
            "The control API needs the daemon's token.",
            hint![
                "Send it as `Authorization: Bearer …`; it is in the file `token` in the daemon's home. In a browser, \
                 open the link that ",
                Command::Page,
                " prints."
            ],
        ),
        Refusal::TokenWrong => ControlError::new(
            ErrorCode::TokenWrong,
            "The token or session belongs to another daemon.",
            hint![
                "In a browser, open the link that ",
                Command::Page,
                " prints. Otherwise read the file `token` in the daemon's home; check --home and CTX_HOME."
            ],
        ),
        Refusal::ForeignHost => ControlError::new(
            ErrorCode::ForeignHost,
            "The request is addressed to another host name.",
            "Use the address that the daemon listens on, or localhost.",
        ),
        Refusal::ForeignOrigin | Refusal::Navigation => ControlError::new(
            ErrorCode::CrossSite,
            "Pages of other sites cannot use the control API.",
            hint!["Open the page with ", Command::Page, "."],
        ),
    };
    let mut response = error.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The refusal of a request to a team's daemon without the right key.
pub(super) fn keyless(why: KeyRefusal) -> Response<Body> {
    let error = match why {
        KeyRefusal::Missing => ControlError::new(
            ErrorCode::KeyNeeded,
            "This daemon serves a team and needs a key.",
            "Send it as `Authorization: Bearer ctxk_…` or in the header `x-ctx-key`. Admins make keys.",
        ),
        KeyRefusal::Wrong => ControlError::new(
            ErrorCode::KeyWrong,
            "The key is unknown, expired or revoked.",
            "Ask an admin for a new one.",
        ),
        KeyRefusal::Unchecked => ControlError::new(
            ErrorCode::KeyUnchecked,
            "The database with the keys is out of reach, and this key is not known here.",
            "Try again in a moment.",
        ),
        KeyRefusal::Lacks(missing) => lacks(missing),
        KeyRefusal::IdentityWrong => ControlError::new(
            ErrorCode::IdentityWrong,
            "The token of the identity provider has expired, or is not for this daemon.",
            "Get a new token for the audience of this daemon, or use a key.",
        ),
        KeyRefusal::IdentityRefused => ControlError::new(
            ErrorCode::IdentityRefused,
            "The identity provider knows you, but this team does not admit you.",
            "Ask an admin to add you, or for the right group.",
        ),
        KeyRefusal::IdentityUnchecked => ControlError::new(
            ErrorCode::IdentityUnchecked,
            "The token cannot be checked: the identity provider or the database is out of reach.",
            "Try again in a moment.",
        ),
    };
    error.into_response()
}

/// The refusal of a key that is not made for a request.
pub(crate) fn lacks(missing: Scopes) -> ControlError {
    ControlError::new(
        ErrorCode::ScopeNeeded,
        format!("This needs a key with the scope {missing}."),
        "Use another key, or ask for one with this scope; an `admin` key can create one.",
    )
}

pub(super) fn failed() -> Response<Body> {
    ControlError::new(
        ErrorCode::Internal,
        "The daemon failed; this is a bug.",
        "Requests still pass. Please report it with the daemon's log.",
    )
    .into_response()
}

fn other_version() -> Hint {
    hint!["Client and daemon may have different versions; compare ", Command::Version, " with ", Command::Status, "."]
}

pub(super) async fn unknown_path() -> ControlError {
    ControlError::new(ErrorCode::UnknownPath, "The control API has no such path.", other_version())
}

pub(super) async fn wrong_method() -> ControlError {
    ControlError::new(
        ErrorCode::WrongMethod,
        "This path of the control API does not support this method.",
        other_version(),
    )
}
