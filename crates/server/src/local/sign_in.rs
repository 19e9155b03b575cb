//! A person of a team signs in on the page with their key, and out again. The browser gets the same two halves of a
//! session as with the link of the operator; the key is not kept.

use axum::body::{Body, to_bytes};
use axum::response::IntoResponse;
use ctx_core::ErrorCode;
use ctx_team::{Actor, Event, Scopes};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;

use super::{ControlError, LocalPaths, NO_SNIFF, control, json};
use crate::auth::{Caller, Holder, Session};
use crate::team::{Team, scope};

const SIGN_IN: &str = "/ui/sign-in";
const SIGN_OUT: &str = "/ui/sign-out";
/// A key has 69 characters.
const LARGEST: usize = 4096;

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
        let body = to_bytes(Body::new(body), LARGEST).await.map_err(|_| unreadable())?;
        let SignIn { key } = serde_json::from_slice(&body).map_err(|_| unreadable())?;
        let identity = team.recognise(Some(key.trim().as_bytes()), scope::SIGN_IN).map_err(control::keyless)?;
        let login = self.auth.log_in(&Holder::Key(identity.key.clone())).ok_or_else(no_session)?;
        let actor = identity.actor();
        let event = Event::SignedIn { person: actor.id, with: format!("key {}", identity.key) };
        self.enter(team, actor, event);
        let mut response = json(StatusCode::OK, &json!({ "page_key": login.page_key }));
        for cookie in self.auth.set_cookies(head, &login) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// Enters a sign-in into the audit log, behind the answer: people sign in while the database is away, too.
    pub(super) fn enter(&self, team: &Team, actor: Actor, event: Event) {
        let registry = team.registry().clone();
        self.runtime.spawn_blocking(move || {
            if let Err(error) = registry.change(&actor, |_| Ok((event.clone(), ()))) {
                tracing::warn!(%error, "could not enter a sign-in into the audit log");
            }
        });
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
            Holder::Person { id, .. } => Some(team.recognise_signed_in(&session.id, *id, Scopes::NONE)),
        };
        let actor = match identity {
            None => Actor::OPERATOR,
            Some(Ok(identity)) => identity.actor(),
            // A session whose key or person is gone has ended already.
            Some(Err(_)) => return Ok(()),
        };
        let (registry, person) = (team.registry().clone(), actor.id);
        let event = Event::SignedOut { person, session: session.id };
        let ended = self.runtime.spawn_blocking(move || registry.change(&actor, |_| Ok((event.clone(), ())))).await;
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

fn no_session() -> Response<Body> {
    let message = "The system provides no random bytes for a session.";
    ControlError::new(ErrorCode::Internal, message, "Try again.").into_response()
}
