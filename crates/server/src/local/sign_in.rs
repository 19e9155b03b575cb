//! A person of a team signs in on the page with their key, and out again. The browser gets the same two halves of a
//! session as with the link of the operator; the key is not kept.

use axum::body::Body;
use axum::response::IntoResponse;
use ctx_core::ErrorCode;
use ctx_team::{Actor, Event, Scopes, TeamError};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;

use super::{ControlError, LocalPaths, NO_SNIFF, control, json};
use crate::auth::{Caller, Holder, Session};
use crate::team::{Note, Team, scope};

const SIGN_IN: &str = "/ui/sign-in";
const SIGN_OUT: &str = "/ui/sign-out";
pub(super) const TOO_OFTEN: &str = "You signed in too often within a minute.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    key: String,
}

impl LocalPaths {
    /// `None` if the request asks for neither.
    pub(super) async fn sign_in_or_out(&self, head: &Parts, body: Incoming) -> Option<Response<Body>> {
        let team = self.team.as_ref().filter(|_| head.method == Method::POST)?;
        let answered = match head.uri.path() {
            SIGN_IN => self.sign_in(team, head, body).await,
            SIGN_OUT => self.sign_out(team, head).await,
            _ => return None,
        };
        let mut response = answered.unwrap_or_else(|refused| refused);
        let headers = response.headers_mut();
        headers.insert(NO_SNIFF, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }

    async fn sign_in(&self, team: &Team, head: &Parts, body: Incoming) -> Result<Response<Body>, Response<Body>> {
        self.auth.admit_sign_in(head).map_err(control::refused)?;
        let body = self.body_of_anyone(body).await.map_err(IntoResponse::into_response)?;
        let SignIn { key } = serde_json::from_slice(&body).map_err(|_| unreadable())?;
        let identity = team.recognise(Some(key.trim().as_bytes()), scope::SIGN_IN).map_err(control::keyless)?;
        if !team.login_limits().may_sign_in(identity.person.id) {
            return Err(too_often());
        }
        let login = self.auth.log_in(&Holder::Key(identity.key.clone())).ok_or_else(no_session)?;
        team.note(identity.actor(), Note::SignedIn { with: format!("key {}", identity.key) }, 1);
        let mut response = json(StatusCode::OK, &json!({ "page_key": login.page_key }));
        for cookie in self.auth.set_cookies(head, &login) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// The browser forgets its session in any case. If the log cannot be written, a copy of it would stay valid, and the
    /// answer is an error.
    async fn sign_out(&self, team: &Team, head: &Parts) -> Result<Response<Body>, Response<Body>> {
        let session = match self.auth.admit_control(head).map_err(control::refused)? {
            Caller::Session(session) => session,
            Caller::Token => return Err(unreadable()),
        };
        let mut response = match self.end(team, session).await {
            Ok(()) => json(StatusCode::OK, &json!({ "signed_out": true })),
            Err(error) => error.into_response(),
        };
        for cookie in self.auth.clear_cookies(head) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(response)
    }

    async fn end(&self, team: &Team, session: Session) -> Result<(), ControlError> {
        let identity = match &session.holder {
            Holder::Operator => None,
            Holder::Key(key) => Some(team.recognise_session(&session.id, key, Scopes::NONE)),
            Holder::Person { id, unlinks, .. } => {
                Some(team.recognise_signed_in(&session.id, (*id, *unlinks), Scopes::NONE))
            }
        };
        let actor = match identity {
            None => Actor::OPERATOR,
            Some(Ok(identity)) => identity.actor(),
            // A session whose key or person is gone has ended already.
            Some(Err(_)) => return Ok(()),
        };
        let registry = team.registry().clone();
        let end = move || {
            let ended = registry.change(&actor, |state| match state.is_ended(&session.id) {
                true => Err(ended_already()),
                false => Ok((Event::SignedOut { person: actor.id, session: session.id.clone() }, ())),
            });
            // Of many requests at once, one writes.
            if registry.state().is_ended(&session.id) { Ok(()) } else { ended.map(|_| ()) }
        };
        let ended = self.runtime.spawn_blocking(end).await;
        let failed =
            |_| ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.");
        ended.map_err(failed)??;
        Ok(())
    }
}

fn unreadable() -> Response<Body> {
    let hint = "Send {\"key\": \"ctxk_…\"} as JSON.";
    ControlError::new(ErrorCode::BadRequest, "This is no sign-in.", hint).into_response()
}

fn ended_already() -> TeamError {
    let (message, hint) = ("The session has ended already.".to_owned(), "Sign in again.".to_owned());
    TeamError::Refused { code: ErrorCode::KeyNeeded, message, hint }
}

fn too_often() -> Response<Body> {
    ControlError::new(ErrorCode::TooOften, TOO_OFTEN, "Wait a minute, then try again. Open sessions stay valid.")
        .into_response()
}

fn no_session() -> Response<Body> {
    let message = "The system provides no random bytes for a session.";
    ControlError::new(ErrorCode::Internal, message, "Try again.").into_response()
}
