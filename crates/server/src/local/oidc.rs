//! A person of a team signs in at the identity provider: the browser goes there, and comes back with a code. Refusals are
//! pages with words of our own; nothing that the provider or the address says is repeated.

use std::sync::Arc;

use bytes::Bytes;
use ctx_team::oidc::{FLOW_LIFETIME, Flow, ReturnedCode, Subject};
use ctx_team::{Identity, TeamError};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::json;

use super::sign_in::TOO_OFTEN;
use super::{LocalPaths, page};
use crate::auth::{FLOW, Holder};
use crate::oidc::{Oidc, RETURN, TokenTrouble, seconds};
use crate::team::{Note, Team};

/// The ways to sign in, for the page.
const WAYS: &str = "/ui/sign-in/ways";

impl LocalPaths {
    /// `None` if the request is about something else.
    pub(super) async fn sign_in_elsewhere(&self, head: &Parts) -> Option<Response<Bytes>> {
        let team = self.team.as_ref().filter(|_| head.method == Method::GET)?;
        if head.uri.path() == WAYS {
            return Some(self.ways(team, head));
        }
        let behind = head.uri.path().strip_prefix(FLOW)?;
        let oidc = team.oidc()?;
        match behind {
            "" => Some(self.begin(oidc, head).await),
            RETURN => Some(self.come_back(team, oidc, head).await),
            _ => None,
        }
    }

    fn ways(&self, team: &Team, head: &Parts) -> Response<Bytes> {
        if self.auth.admit_health(head).is_err() {
            return page::foreign();
        }
        let provider = team.oidc().map(|oidc| oidc.settings().label.as_str());
        let mut response = Response::new(Bytes::from(json!({ "provider": provider }).to_string()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Sends the browser to the provider.
    async fn begin(&self, oidc: &Arc<Oidc>, head: &Parts) -> Response<Bytes> {
        match self.auth.admit_flow(head) {
            Ok(true) => {}
            // The cookie must belong to the name under which the browser comes back.
            Ok(false) => return page::moved(oidc.start()),
            Err(_) => return page::foreign(),
        }
        let Some(flow) = Flow::begin(self.auth.flow_key(), seconds()) else { return page::no_session() };
        let address = match oidc.authorization(&flow).await {
            Ok(address) => address,
            Err(_) => return away(),
        };
        let mut response = page::moved(&address);
        let cookie = self.auth.flow_cookie(head, &flow.cookie(), FLOW_LIFETIME);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        response
    }

    /// The browser is back. Whatever comes of it, this sign-in is over.
    async fn come_back(&self, team: &Team, oidc: &Arc<Oidc>, head: &Parts) -> Response<Bytes> {
        if self.auth.admit_flow(head) != Ok(true) {
            return page::foreign();
        }
        let mut response = match self.signed_in(team, oidc, head).await {
            Ok(response) => response,
            Err(refused) => *refused,
        };
        let cookie = self.auth.flow_cookie(head, "", 0);
        if let Some(cookie) = cookie {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }

    async fn signed_in(
        &self,
        team: &Team,
        oidc: &Arc<Oidc>,
        head: &Parts,
    ) -> Result<Response<Bytes>, Box<Response<Bytes>>> {
        let returned = ReturnedCode::parse(head.uri.query().unwrap_or_default()).ok_or_else(strange)?;
        let mut begun = self.auth.flow_cookies(head);
        let flow = begun.find_map(|cookie| {
            Flow::resume(self.auth.flow_key(), cookie, seconds()).filter(|flow| flow.is_state(&returned.state))
        });
        let flow = flow.ok_or_else(strange)?;
        if returned.code.is_none() {
            return Err(refused(StatusCode::FORBIDDEN, "The identity provider did not sign you in."));
        }
        let subject = oidc.exchange(&flow, &returned).await.map_err(|trouble| {
            tracing::warn!(%trouble, "a sign-in failed");
            match trouble {
                TokenTrouble::Away(_) => Box::new(away()),
                TokenTrouble::Code | TokenTrouble::Flaw(_) => {
                    let words = "The identity provider's answer is not valid. The daemon's log has the reason.";
                    refused(StatusCode::FORBIDDEN, words)
                }
            }
        })?;
        // From before: if the account is unlinked meanwhile, the session is over at once.
        let before = team.registry().state();
        let identity = self.admit_subject(team, oidc, subject).await?;
        if !team.login_limits().may_sign_in(identity.person.id) {
            let words = format!("{TOO_OFTEN} Wait a minute, then try again. Open sessions stay valid.");
            return Err(refused(StatusCode::TOO_MANY_REQUESTS, &words));
        }
        let until = seconds() + oidc.settings().session.as_secs();
        let id = identity.person.id;
        let holder = Holder::Person { id, until, unlinks: before.unlinks(id) };
        let login = self.auth.log_in(&holder).ok_or_else(|| Box::new(page::no_session()))?;
        team.note(identity.actor(), Note::SignedIn { with: "the identity provider".to_owned() }, 1);
        let mut response = page::entered(&login.page_key);
        for cookie in self.auth.set_cookies(head, &login) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(response)
    }

    async fn admit_subject(
        &self,
        team: &Team,
        oidc: &Arc<Oidc>,
        subject: Subject,
    ) -> Result<Identity, Box<Response<Bytes>>> {
        let (registry, oidc) = (team.registry().clone(), oidc.clone());
        let admitted = self
            .runtime
            .spawn_blocking(move || registry.admit(|state| state.sign_in(&subject, oidc.rules())))
            .await
            .map_err(|_| Box::new(page::no_session()))?;
        admitted.map_err(|error| match error {
            TeamError::Refused { message, hint, .. } => {
                tracing::info!("refused a sign-in: {message}");
                refused(StatusCode::FORBIDDEN, &format!("{message} {hint}"))
            }
            TeamError::Store(error) => {
                tracing::warn!(%error, "a sign-in could not be stored");
                let words = "The database is out of reach, so nothing was changed. Try again in a moment.";
                refused(StatusCode::SERVICE_UNAVAILABLE, words)
            }
        })
    }
}

/// A callback without its login: from another browser, outdated, or forged.
fn strange() -> Box<Response<Bytes>> {
    let words = "This sign-in did not begin in this browser, or it took longer than ten minutes. Begin again.";
    refused(StatusCode::BAD_REQUEST, words)
}

fn away() -> Response<Bytes> {
    let words = "The identity provider cannot be reached, or is not set up rightly. Try again in a moment, or sign in \
                 with a key. The daemon's log has the reason.";
    *refused(StatusCode::SERVICE_UNAVAILABLE, words)
}

fn refused(status: StatusCode, words: &str) -> Box<Response<Bytes>> {
    Box::new(page::not_signed_in(status, words))
}
