//! The person of a request: by their key, or by a token of the identity provider if the settings accept such tokens.

use ctx_team::oidc::{Step, is_signed_token};
use ctx_team::{Identity, Scopes, TeamError};
use http::HeaderMap;

use super::key::{control_key, token_of};
use super::{KeyPlace, KeyRefusal, Team, key_of};
use crate::oidc::TokenTrouble;

/// The person that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential<'r> {
    Key(&'r [u8]),
    /// A token of the identity provider.
    Token(&'r [u8]),
}

impl Team {
    /// The credential of a proxied request, and where it stands.
    pub(crate) fn credential_of<'r>(
        &self,
        headers: &'r HeaderMap,
        query: Option<&'r str>,
    ) -> Option<(Credential<'r>, KeyPlace)> {
        let key = key_of(headers, query).map(|(key, place)| (self.read(key), place));
        let token = || Some((Credential::Token(token_of(headers)?), KeyPlace::Instead));
        key.or_else(|| token().filter(|_| self.takes_tokens()))
    }

    /// The credential of a request to the control API.
    pub(crate) fn control_credential<'r>(&self, headers: &'r HeaderMap) -> Option<Credential<'r>> {
        let token = || token_of(headers).filter(|_| self.takes_tokens()).map(Credential::Token);
        control_key(headers).map(|key| self.read(key)).or_else(token)
    }

    fn read<'r>(&self, key: &'r [u8]) -> Credential<'r> {
        match self.takes_tokens() && is_signed_token(key) {
            true => Credential::Token(key),
            false => Credential::Key(key),
        }
    }

    fn takes_tokens(&self) -> bool {
        self.oidc.as_ref().is_some_and(|oidc| oidc.rules().jwt_audience.is_some())
    }

    /// The person of a request. Only keys are limited to scopes.
    pub(crate) async fn identify(
        &self,
        credential: Option<Credential<'_>>,
        needed: Scopes,
    ) -> Result<Identity, KeyRefusal> {
        match credential.ok_or(KeyRefusal::Missing)? {
            Credential::Key(key) => self.recognise(Some(key), needed),
            Credential::Token(token) => self.recognise_token(token).await,
        }
    }

    async fn recognise_token(&self, token: &[u8]) -> Result<Identity, KeyRefusal> {
        let (oidc, token) = self.oidc.as_ref().zip(std::str::from_utf8(token).ok()).ok_or(KeyRefusal::IdentityWrong)?;
        let subject = oidc.bearer(token).await.ok_or(KeyRefusal::IdentityWrong)?.map_err(|trouble| {
            tracing::debug!(%trouble, "a token of the identity provider is refused");
            match trouble {
                TokenTrouble::Away(_) => KeyRefusal::IdentityUnchecked,
                TokenTrouble::Flaw(_) | TokenTrouble::Code => KeyRefusal::IdentityWrong,
            }
        })?;
        let step = self.registry.state().admit(&subject, oidc.rules());
        if let Ok(Step::Known(person)) = step {
            return Ok(Identity::without_key(person));
        }
        // The first request of an account is stored, so that its name stays its own.
        let (registry, oidc) = (self.registry.clone(), oidc.clone());
        let admit = move || registry.admit(|state| state.admit(&subject, oidc.rules()));
        match self.runtime.spawn_blocking(admit).await {
            Ok(Ok(identity)) => Ok(identity),
            Ok(Err(TeamError::Refused { message, .. })) if !self.registry.is_away() => {
                tracing::info!("refused a token of the identity provider: {message}");
                Err(KeyRefusal::IdentityRefused)
            }
            _ => Err(KeyRefusal::IdentityUnchecked),
        }
    }
}
