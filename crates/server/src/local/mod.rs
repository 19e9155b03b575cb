//! Our own paths: the control API and the page. Every request passes the access checks here, once; no other path leads
//! to a handler.

mod control;
mod embedded;
mod health;
mod login;
mod oidc;
mod page;
mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::IntoResponse;
use bytes::Bytes;
use ctx_api::face::{self, Face};
use ctx_core::ErrorCode;
use ctx_team::Scopes;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tower_service::Service;

pub use self::control::ControlError;
pub(crate) use self::control::{lacks, worded};
pub use self::embedded::is_embedded as page_is_embedded;
use self::health::Probe;
use crate::auth::{Auth, Caller, Holder, PagePass, Refusal, Session};
use crate::config::Limits;
use crate::listen::Stage;
use crate::proxy::RequestBody;
use crate::reply::Reply;
use crate::team::key::control_key;
use crate::team::{Desk, KeyLimits, KeyRefusal, Permit, Team, scope};

/// The place of the control API.
const CONTROL: &str = "/control/v1";

const NO_SNIFF: HeaderName = header::X_CONTENT_TYPE_OPTIONS;

/// The routes of a caller, and the desk that they belong to.
type Admission = (Router, Option<Arc<Desk>>);

pub(crate) struct LocalPaths {
    auth: Arc<Auth>,
    /// The routes of the daemon's operator.
    router: Router,
    team: Option<Arc<Team>>,
    /// The operator's conversations.
    service: Option<Arc<ctx_service::Service>>,
    /// The runtime of the handlers. It is not that of the worker, because a long computation must not block the
    /// worker's streams.
    runtime: Handle,
    stage: Stage,
    /// For a body of a request without credentials.
    head_timeout: Duration,
    body_idle_timeout: Duration,
}

impl LocalPaths {
    /// `control` has routes relative to `/control/v1`.
    pub(crate) fn new(
        auth: Arc<Auth>,
        control: Router,
        (team, service): (Option<Arc<Team>>, Option<Arc<ctx_service::Service>>),
        runtime: Handle,
        (stage, limits): (Stage, &Limits),
    ) -> Self {
        let Limits { head_timeout, body_idle_timeout, .. } = *limits;
        Self { auth, router: placed(control), team, service, runtime, stage, head_timeout, body_idle_timeout }
    }

    pub(crate) async fn control(&self, request: Request<Incoming>) -> Response<Reply> {
        let (mut head, incoming) = request.into_parts();
        if let Some(probe) = Probe::of(head.uri.path()).filter(|_| self.auth.admit_health(&head).is_ok()) {
            return self.room(probe.answer(self.stage.is_draining(), self.service.as_ref()));
        }
        let face = face_of(&head.headers);
        if login::concerns(&head) {
            return self.room(control::worded(self.machine_login(&head, incoming).await, face));
        }
        // The desk stays open until the handler is done.
        let (mut router, _desk) = match self.admit(&mut head).await {
            Ok(admitted) => admitted,
            Err(refused) => return self.room(control::worded(refused, face)),
        };
        let is_own_page = is_own_page(&head.headers);
        let body = RequestBody::unwatched(incoming, self.body_idle_timeout);
        let mut request = Request::from_parts(head, Body::new(body));
        if is_own_page {
            request.extensions_mut().insert(OwnPage);
        }
        let handled = self.runtime.spawn(async move { router.call(request).await });
        let mut response = match handled.await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panicked) => {
                tracing::error!(%panicked, "a control handler failed");
                control::failed()
            }
        };
        response = control::worded(response, face);
        let headers = response.headers_mut();
        headers.insert(NO_SNIFF, HeaderValue::from_static("nosniff"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        self.room(response)
    }

    /// The routes for the caller: of the person whose key the request has, or of the operator. The request remembers the
    /// scopes of the key, and what a long stream needs to stay open.
    async fn admit(&self, head: &mut Parts) -> Result<Admission, Response<Body>> {
        let path = head.uri.path().strip_prefix(CONTROL).unwrap_or_default();
        let (needed, ended) = (scope::needed(&head.method, path), scope::ended_key(&head.method, path));
        let found = self.team.as_ref().and_then(|team| Some((team, team.control_credential(&head.headers)?)));
        let Some((team, credential)) = found else {
            return match self.auth.admit_control(head) {
                Ok(Caller::Token) => Ok((self.router.clone(), None)),
                Ok(Caller::Session(session)) => self.admit_session(&session, needed, head).await,
                // Under whatever name: without a key there is nothing to protect.
                Err(refusal) if self.team.is_some() && is_keyless(&head.headers, refusal) => {
                    Err(control::keyless(KeyRefusal::Missing))
                }
                Err(refusal) => Err(control::refused(refusal)),
            };
        };
        self.auth.admit_keyed(head).map_err(control::refused)?;
        let first = if ended.is_some() { Scopes::NONE } else { needed };
        let identity = team.identify(Some(credential), first).await.map_err(control::keyless)?;
        let missing = needed.without(identity.scopes);
        if ended.is_some_and(|key| key != identity.key) && !missing.is_empty() {
            return Err(control::keyless(KeyRefusal::Lacks(missing)));
        }
        head.extensions.insert(identity.scopes);
        head.extensions.insert(KeyLimits::of(&identity));
        head.extensions.insert(Permit::of_request(team.registry(), &identity));
        let desk = team.desk(identity.person.id).await.map_err(IntoResponse::into_response)?;
        Ok((placed(desk.routes.clone()), Some(desk)))
    }

    /// The routes for a signed-in browser.
    async fn admit_session(
        &self,
        session: &Session,
        needed: Scopes,
        head: &mut Parts,
    ) -> Result<Admission, Response<Body>> {
        let (identity, team) = match (&session.holder, &self.team) {
            (Holder::Operator, None) => return Ok((self.router.clone(), None)),
            (Holder::Operator, Some(team)) if !team.registry().state().is_ended(&session.id) => {
                head.extensions.insert(Permit::of_session(team.registry(), session));
                return Ok((self.router.clone(), None));
            }
            (Holder::Operator, Some(_)) => return Err(control::keyless(KeyRefusal::Missing)),
            (Holder::Key(_) | Holder::Person { .. }, None) => return Err(control::refused(Refusal::TokenWrong)),
            (Holder::Key(key), Some(team)) => (team.recognise_session(&session.id, key, needed), team),
            (Holder::Person { id, unlinks, .. }, Some(team)) => {
                (team.recognise_signed_in(&session.id, (*id, *unlinks), needed), team)
            }
        };
        let identity = identity.map_err(control::keyless)?;
        head.extensions.insert(identity.scopes);
        head.extensions.insert(KeyLimits::of(&identity));
        head.extensions.insert(Permit::of_session(team.registry(), session));
        let desk = team.desk(identity.person.id).await.map_err(IntoResponse::into_response)?;
        Ok((placed(desk.routes.clone()), Some(desk)))
    }

    pub(crate) async fn page(&self, request: Request<Incoming>) -> Response<Reply> {
        let (head, incoming) = request.into_parts();
        if let Some(response) = self.sign_in_or_out(&head, incoming).await {
            return self.room(response);
        }
        if let Some(mut response) = self.sign_in_elsewhere(&head).await {
            page::secure(response.headers_mut());
            return response.map(Reply::whole);
        }
        if self.team.is_some() && !self.auth.is_trusted_key(&head) {
            let mut response = page::moved(&page::without_key(&head.uri));
            page::secure(response.headers_mut());
            return response.map(Reply::whole);
        }
        let mut response = match self.auth.admit_page(&head) {
            _ if head.method != Method::GET && head.method != Method::HEAD => page::wrong_method(),
            Ok(PagePass::Link) => self.log_in(&head),
            Ok(PagePass::Known) => file_of(&head),
            // The page itself shows how to sign in. Its files are not secret.
            Err(Refusal::TokenMissing | Refusal::TokenWrong) if self.team.is_some() && !has_token(&head.uri) => {
                file_of(&head)
            }
            Err(Refusal::TokenMissing | Refusal::TokenWrong) => page::needs_link(),
            Err(Refusal::ForeignHost | Refusal::ForeignOrigin | Refusal::Navigation) => page::foreign(),
        };
        page::secure(response.headers_mut());
        if head.method == Method::HEAD {
            *response.body_mut() = Bytes::new();
        }
        response.map(Reply::whole)
    }

    /// Exchanges the link for a session: the browser gets the cookie, the page its key.
    fn log_in(&self, head: &Parts) -> Response<Bytes> {
        let Some(login) = self.auth.log_in(&Holder::Operator) else { return page::no_session() };
        let mut response = page::moved(&page::with_key(&head.uri, &login.page_key));
        for cookie in self.auth.set_cookies(head, &login) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }

    /// The body of a request without credentials. It has as long as a head, however steadily it comes: everyone can send
    /// one.
    async fn body_of_anyone(&self, incoming: Incoming) -> Result<Bytes, ControlError> {
        /// Names, codes and keys are short.
        const LARGEST: usize = 4096;
        match tokio::time::timeout(self.head_timeout, to_bytes(Body::new(incoming), LARGEST)).await {
            Ok(read) => Ok(read.unwrap_or_default()),
            Err(_) => {
                let message = format!("The request body took longer than {} s.", self.head_timeout.as_secs());
                let stalled = ControlError::new(ErrorCode::RequestStalled, message, "Send it again, all at once.");
                Err(ControlError { status: StatusCode::REQUEST_TIMEOUT, ..stalled })
            }
        }
    }

    fn room(&self, response: Response<Body>) -> Response<Reply> {
        let mut stage = self.stage.clone();
        let closing = Box::pin(async move { stage.closing().await });
        response.map(|body| Reply::local(body, closing))
    }
}

/// The routes of the control API at their place.
fn placed(control: Router) -> Router {
    let control = control.fallback(control::unknown_path).method_not_allowed_fallback(control::wrong_method);
    Router::new().nest(CONTROL, control).fallback(control::unknown_path)
}

/// A request that our own page sent for a signed-in person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnPage;

/// Whether an admitted request comes from our own page: it has a session instead of a key or the token, and an origin,
/// which was checked.
fn is_own_page(headers: &HeaderMap) -> bool {
    let has_key = control_key(headers).is_some() || headers.contains_key(header::AUTHORIZATION);
    !has_key && headers.contains_key(header::ORIGIN)
}

/// Whether a refused request lacks a key: it has no credentials at all, or the session of a browser that is over.
fn is_keyless(headers: &HeaderMap, refusal: Refusal) -> bool {
    let is_over = matches!(refusal, Refusal::TokenMissing | Refusal::TokenWrong);
    !headers.contains_key(header::AUTHORIZATION) && (is_over || !headers.contains_key(header::COOKIE))
}

fn has_token(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("token=")))
}

fn file_of(head: &Parts) -> Response<Bytes> {
    match head.uri.path().strip_prefix("/ui/") {
        Some(name) => page::serve(embedded::ASSETS, name, &head.headers),
        None => page::moved("/ui/"),
    }
}

fn json(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The reader of the hints in the response to a request.
pub(crate) fn face_of(headers: &HeaderMap) -> Face {
    Face::named(headers.get(face::HEADER).map(HeaderValue::as_bytes))
}
