//! Requests to a daemon that serves a team: the key is checked in memory, leads to the desk of its person, and is
//! removed. It never reaches the provider, an observer or the log: a request with a key in a place where it would not be
//! removed is refused.

use std::sync::Arc;

use ctx_team::Identity;
use ctx_wire::Provider;
use http::Uri;
use http::request::Parts;
use http::uri::PathAndQuery;

use super::Proxy;
use super::errors::Failure;
use crate::team::key::{has_token, misplaced, without_key};
use crate::team::{Credential, Desk, KeyPlace, Permit, Team, scope, without};

/// The person of a request.
pub(super) struct AdmittedPerson {
    pub(super) desk: Arc<Desk>,
    team: Arc<Team>,
    identity: Identity,
    place: KeyPlace,
    /// The token of the identity provider that named the person.
    token: Option<Vec<u8>>,
}

impl Proxy {
    pub(super) async fn admit(&self, team: &Arc<Team>, head: &mut Parts) -> Result<AdmittedPerson, Failure> {
        self.auth.admit_keyed(head).map_err(Failure::Refused)?;
        if let Some(place) = misplaced(&head.headers, &head.uri) {
            return Err(Failure::MisplacedKey { place });
        }
        let found = team.credential_of(&head.headers, head.uri.query());
        let identity =
            team.identify(found.map(|(credential, _)| credential), scope::FORWARD).await.map_err(Failure::Key)?;
        let place = found.map_or(KeyPlace::Beside, |(_, place)| place);
        let token = match found {
            Some((Credential::Token(token), _)) => Some(token.to_vec()),
            _ => None,
        };
        let has_own_keys = team.credentials().gateway.is_some();
        if let Some(uri) = readdressed(&head.uri, has_own_keys) {
            head.uri = uri;
        }
        let desk = team.desk(identity.person.id).await.map_err(|error| Failure::NoDesk { why: error.message })?;
        Ok(AdmittedPerson { desk, team: team.clone(), identity, place, token })
    }
}

impl AdmittedPerson {
    /// For a socket, which may outlive the key.
    pub(super) fn permit(&self) -> Permit {
        Permit::of_request(self.team.registry(), &self.identity)
    }

    /// Removes the key, and gives the request the credential for its upstream.
    pub(super) fn equip(&self, (upstream, path): (&str, &PathAndQuery), head: &mut Parts) -> Result<(), Failure> {
        let named = Provider::ALL.into_iter().find(|provider| provider.name() == upstream);
        let provider = named.unwrap_or_else(|| Provider::of(path.path(), &|name| head.headers.contains_key(name)));
        let mut headers = std::mem::take(&mut head.headers);
        // The token may stand in a second place as well.
        if let Some(token) = &self.token {
            headers = without(headers, |_, value| has_token(value, token));
        }
        let whose = (self.place, &self.identity.person.groups);
        let brought = (headers, path.query());
        head.headers = self.team.credentials().give(brought, (upstream, provider), whose).map_err(Failure::Unpaid)?;
        Ok(())
    }
}

/// The address without a key, or without `all` credentials of the client; `None` if it contains none.
fn readdressed(uri: &Uri, all: bool) -> Option<Uri> {
    let query = without_key(uri.query()?, all)?;
    let mark = if query.is_empty() { "" } else { "?" };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}{mark}{query}", uri.path())).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_loses_only_its_key() {
        let of = |uri: &str| readdressed(&uri.parse().expect("a uri"), false).map(|uri| uri.to_string());
        assert_eq!(of("/v1beta/models/m?alt=sse&key=ctxk_1").as_deref(), Some("/v1beta/models/m?alt=sse"));
        assert_eq!(of("http://host/a?key=ctxk_1").as_deref(), Some("http://host/a"));
        assert_eq!(of("/a?key=own"), None);
        assert_eq!(of("/a"), None);
    }
}
