//! Logins of machines, on the page: a signed-in person sees who asks, and approves or refuses.

use axum::Json;
use axum::extract::{FromRequestParts, Path};
use ctx_api::team::{LoginDecision, LoginView};
use ctx_core::ErrorCode;
use ctx_team::{LOGIN_LIFETIME, LoginCode, PendingLogin, TeamError};
use http::request::Parts;

use super::Api;
use super::read::Answer;
use crate::local::{ControlError, OwnPage};

/// A decision needs a click on our own page: a browser's session, and the page's origin. Neither a link nor a program
/// with a key suffices.
impl FromRequestParts<Api> for OwnPage {
    type Rejection = ControlError;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<OwnPage, ControlError> {
        parts.extensions.get::<OwnPage>().copied().ok_or_else(|| {
            ControlError::new(
                ErrorCode::CrossSite,
                "A login is decided on the daemon's page only.",
                "Open the page in a browser, sign in, and decide there.",
            )
        })
    }
}

pub async fn look(api: Api, Path(code): Path<String>) -> Answer<LoginView> {
    let (code, pending) = find(&api, &code).await?;
    Ok(Json(LoginView {
        code: code.to_string(),
        machine: pending.machine,
        asked_at: pending.asked_at,
        expires_at: pending.asked_at + LOGIN_LIFETIME,
    }))
}

pub async fn approve(api: Api, _: OwnPage, Path(code): Path<String>) -> Answer<LoginDecision> {
    decide(&api, &code, true).await
}

pub async fn refuse(api: Api, _: OwnPage, Path(code): Path<String>) -> Answer<LoginDecision> {
    decide(&api, &code, false).await
}

async fn decide(api: &Api, code: &str, approve: bool) -> Answer<LoginDecision> {
    let (_, pending) = find(api, code).await?;
    let machine = pending.machine.clone();
    let changed = api.change(move |state, actor| Ok((state.decide_login(actor, &pending, approve)?, ())));
    let warnings = changed.await?.warnings;
    Ok(Json(LoginDecision { machine, approved: approve, warnings }))
}

/// The pending login with this code. A person who guesses codes is stopped.
async fn find(api: &Api, text: &str) -> Result<(LoginCode, PendingLogin), ControlError> {
    let (seat, team) = api.seat()?;
    if !team.login_limits().may_try(seat.person()) {
        let message = "You tried too many unknown codes.";
        return Err(ControlError::new(ErrorCode::TooOften, message, "Wait a minute, then try again."));
    }
    let (code, registry) = (LoginCode::parse(text), team.registry().clone());
    let sought = code.clone();
    let found = tokio::task::spawn_blocking(move || match &sought {
        Some(code) => registry.pending_login(code),
        None => Ok(None),
    });
    let failed = |_| ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.");
    let found = found.await.map_err(failed)??;
    code.zip(found).ok_or_else(|| {
        team.login_limits().was_wrong(seat.person());
        TeamError::unknown_login().into()
    })
}
