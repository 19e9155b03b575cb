//! A machine of a person asks to sign in, and takes its key once the person has approved. Both need no credentials, so
//! both are limited; the page's part is in the control API.

use axum::body::Body;
use axum::response::IntoResponse;
use ctx_api::team::{LoginKey, LoginPoll, LoginRequest, LoginStart};
use ctx_core::ErrorCode;
use ctx_service::now;
use ctx_team::{KeyText, LOGIN_LIFETIME, LoginCode, LoginProgress, LoginSecret, Registry, StoredChange, TeamError};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{ControlError, LocalPaths, NO_SNIFF, control, json};
use crate::team::{LOGIN_INTERVAL, Team};

const ASK: &str = "/control/login";
const TAKE: &str = "/control/login/key";

/// Whether a request belongs here.
pub(super) fn concerns(head: &Parts) -> bool {
    matches!(head.uri.path(), ASK | TAKE)
}

impl LocalPaths {
    pub(super) async fn machine_login(&self, head: &Parts, body: Incoming) -> Response<Body> {
        let mut response = match self.answer_machine(head, body).await {
            Ok(response) => response,
            Err(error) => error.into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(NO_SNIFF, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    async fn answer_machine(&self, head: &Parts, body: Incoming) -> Result<Response<Body>, ControlError> {
        let Some(team) = &self.team else {
            return Err(ControlError::new(
                ErrorCode::NoTeam,
                "This daemon serves one person and has no sign-in.",
                "Set `enabled = true` under [team] in the home's ctx.toml, and restart it.",
            ));
        };
        if head.method != Method::POST {
            return Err(control::wrong_method().await);
        }
        // No page asks for itself, not even our own.
        let is_of_page = head.headers.contains_key(header::ORIGIN) || self.auth.admit_health(head).is_err();
        if is_of_page {
            return Err(ControlError::new(
                ErrorCode::CrossSite,
                "Pages cannot ask for a key.",
                "A machine signs in from its terminal.",
            ));
        }
        let body = self.body_of_anyone(body).await?;
        match head.uri.path() {
            ASK => self.begin_login(team, &understood::<LoginRequest>(&body)?).await,
            _ => self.take_login(team, &understood::<LoginPoll>(&body)?).await,
        }
    }

    async fn begin_login(&self, team: &Team, request: &LoginRequest) -> Result<Response<Body>, ControlError> {
        if !team.login_limits().may_ask() {
            return Err(too_often("Many machines ask to sign in at the moment."));
        }
        let made = LoginCode::generate().zip(LoginSecret::generate());
        let (code, secret) = made.ok_or_else(no_random)?;
        let start = LoginStart {
            code: code.to_string(),
            secret: secret.expose_secret().to_owned(),
            expires_in: LOGIN_LIFETIME / 1000,
            interval: LOGIN_INTERVAL.as_secs(),
        };
        let machine = request.machine.clone();
        self.blocking(team, move |registry| registry.ask_login(&code, &secret, &machine)).await?;
        Ok(json(StatusCode::OK, &json!(start)))
    }

    async fn take_login(&self, team: &Team, poll: &LoginPoll) -> Result<Response<Body>, ControlError> {
        if !team.login_limits().may_poll(&poll.secret) {
            return Err(too_often("The login is polled too often."));
        }
        let code = LoginCode::parse(&poll.code);
        let secret = LoginSecret::of(&poll.secret);
        let text = KeyText::generate().ok_or_else(no_random)?;
        let taken = self.blocking(team, move |registry| {
            let code = code.ok_or_else(TeamError::unknown_login)?;
            take(registry, &code, &secret, &text)
        });
        let answer = taken.await?.unwrap_or(LoginKey { interval: LOGIN_INTERVAL.as_secs(), ..LoginKey::default() });
        Ok(json(StatusCode::OK, &json!(answer)))
    }

    /// Runs `act` where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        team: &Team,
        act: impl FnOnce(&Registry) -> Result<T, TeamError> + Send + 'static,
    ) -> Result<T, ControlError> {
        let registry = team.registry().clone();
        let acted = self.runtime.spawn_blocking(move || act(&registry)).await;
        let failed =
            |_| ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.");
        Ok(acted.map_err(failed)??)
    }
}

/// The key of an approved login; `None` while undecided.
fn take(
    registry: &Registry,
    code: &LoginCode,
    secret: &LoginSecret,
    text: &KeyText,
) -> Result<Option<LoginKey>, TeamError> {
    if registry.login_progress(code, secret)? == LoginProgress::Pending {
        return Ok(None);
    }
    let actor = registry.state().approver(code, secret, now())?;
    let StoredChange { value, warnings } = registry.change(&actor, |state| {
        let event = state.take_login(code, secret, text, now())?;
        Ok((event, state.name_of(actor.id)))
    })?;
    // Its note would expire anyway.
    let _ = registry.forget_login(code);
    let id = text.id();
    let state = registry.state();
    let expires_at = state.keys().find(|key| key.id == id).and_then(|key| key.expires_at);
    let key = Some(text.expose_secret().to_owned());
    Ok(Some(LoginKey { interval: 0, key, id: Some(id), person: Some(value), expires_at, warnings }))
}

fn understood<T: DeserializeOwned>(body: &[u8]) -> Result<T, ControlError> {
    serde_json::from_slice(body).map_err(|_| {
        let hint = "Client and daemon may have different versions; compare them.";
        ControlError::new(ErrorCode::BadRequest, "This is not the login of a machine.", hint)
    })
}

fn too_often(message: &str) -> ControlError {
    ControlError::new(ErrorCode::TooOften, message, "Wait a moment, then try again.")
}

fn no_random() -> ControlError {
    ControlError::new(ErrorCode::Internal, "The system provides no random bytes for a login.", "Try again.")
}
