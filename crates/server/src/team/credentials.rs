//! The credentials with which a team's requests go to the providers: the clients' own, or the gateway's. One never
//! stands in for the other.

use std::collections::BTreeSet;

use ctx_wire::Provider;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::key::KeyPlace;
use crate::secret::{self, Secret};

#[derive(Clone, Debug, Default)]
pub struct UpstreamCredentials {
    /// The gateway's keys. `None`: each client brings its own credential.
    pub gateway: Option<Vec<GatewayKey>>,
    /// Pass the logins of subscriptions.
    pub passes_subscriptions: bool,
}

/// A key of the gateway. It lives in memory only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayKey {
    /// The name of the upstream.
    pub upstream: String,
    /// The people who use it; everyone without another key by default.
    pub group: Option<String>,
    pub key: Secret,
}

/// Why a request has no credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoCredential {
    /// The client sent none.
    Missing,
    /// The gateway has none for this upstream, and passes no others.
    NoKey,
    Subscription,
}

impl UpstreamCredentials {
    /// The headers of a request to an upstream, with the right credential and without the person's key. The query is
    /// without it already.
    pub(crate) fn give(
        &self,
        (headers, query): (HeaderMap, Option<&str>),
        (upstream, provider): (&str, Provider),
        (place, groups): (KeyPlace, &BTreeSet<String>),
    ) -> Result<HeaderMap, NoCredential> {
        let Some(keys) = &self.gateway else {
            if place == KeyPlace::Instead {
                return Err(NoCredential::Missing);
            }
            let own = without(headers, super::key::is_key);
            return match self.passes_subscriptions || !has_subscription((&own, query), provider) {
                true => Ok(own),
                false => Err(NoCredential::Subscription),
            };
        };
        let key = choose(keys, upstream, groups).ok_or(NoCredential::NoKey)?;
        let (name, before) = provider.key_header().ok_or(NoCredential::NoKey)?;
        let value = HeaderValue::from_str(&format!("{before}{}", key.expose_secret()));
        let mut value = value.map_err(|_| NoCredential::NoKey)?;
        value.set_sensitive(true);
        // The client's own credentials stay here.
        let is_credential =
            |name: &HeaderName, value: &HeaderValue| secret::is_secret_header(name) || super::key::is_key(name, value);
        let mut given = without(headers, is_credential);
        given.insert(HeaderName::from_static(name), value);
        Ok(given)
    }
}

/// The key of one of the person's groups; otherwise that for everyone.
fn choose<'a>(keys: &'a [GatewayKey], upstream: &str, groups: &BTreeSet<String>) -> Option<&'a Secret> {
    let fitting = || keys.iter().filter(|key| key.upstream == upstream);
    let of_group = fitting().find(|key| key.group.as_ref().is_some_and(|group| groups.contains(group)));
    of_group.or_else(|| fitting().find(|key| key.group.is_none())).map(|key| &key.key)
}

/// Whether a request has the login of a subscription, or none that is known, for a provider that takes nothing else.
fn has_subscription((headers, query): (&HeaderMap, Option<&str>), provider: Provider) -> bool {
    let in_header = headers.iter().filter(|(name, _)| secret::is_secret_header(name));
    let in_header = in_header.map(|(_, value)| String::from_utf8_lossy(value.as_bytes()));
    let in_query = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let in_query = in_query.filter(|(name, _)| secret::is_secret_parameter(name));
    let in_query = in_query.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy());
    provider.key_header().is_none() || in_header.chain(in_query).any(|text| provider.is_subscription(&text))
}

/// A new map, because removing an entry moves the last one into its place.
pub(crate) fn without(headers: HeaderMap, goes: impl Fn(&HeaderName, &HeaderValue) -> bool) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.keys_len());
    let mut current = None;
    for (name, value) in headers {
        current = name.or(current);
        if let Some(name) = current.as_ref().filter(|name| !goes(name, &value)) {
            kept.append(name.clone(), value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn given(
        credentials: &UpstreamCredentials,
        pairs: &[(&'static str, &'static str)],
        (upstream, provider): (&str, Provider),
        groups: &[&str],
    ) -> Result<Vec<String>, NoCredential> {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let (_, place) = super::super::key_of(&headers(pairs), None).expect("a key");
        let given = credentials.give((headers(pairs), None), (upstream, provider), (place, &groups))?;
        let line = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().expect("text"));
        Ok(given.iter().map(line).collect())
    }

    const ANTHROPIC: (&str, Provider) = ("anthropic", Provider::Anthropic);

    #[test]
    fn an_own_credential_passes_and_nothing_replaces_a_missing_one() {
        let own = UpstreamCredentials::default();
        let pairs = [("a", "1"), ("x-ctx-key", "ctxk_1"), ("x-api-key", "sk-own"), ("z", "2")];
        assert_eq!(
            given(&own, &pairs, ANTHROPIC, &[]),
            Ok(vec!["a: 1".into(), "x-api-key: sk-own".into(), "z: 2".into()])
        );
        let instead = [("authorization", "Bearer ctxk_1")];
        assert_eq!(given(&own, &instead, ANTHROPIC, &[]), Err(NoCredential::Missing));
    }

    #[test]
    fn the_login_of_a_subscription_needs_the_operators_consent() {
        let pairs = [("x-ctx-key", "ctxk_1"), ("authorization", "Bearer sk-ant-oat01-x")];
        let mut own = UpstreamCredentials::default();
        assert_eq!(given(&own, &pairs, ANTHROPIC, &[]), Err(NoCredential::Subscription));
        let odd = [("x-ctx-key", "ctxk_1"), ("authorization", "Bearer\tsk-ant-oat01-x")];
        assert_eq!(given(&own, &odd, ANTHROPIC, &[]), Err(NoCredential::Subscription));
        let asked = |query, provider: Provider| {
            let brought = (headers(&[("x-ctx-key", "ctxk_1")]), Some(query));
            own.give(brought, (provider.name(), provider), (KeyPlace::Beside, &BTreeSet::new())).map(drop)
        };
        assert_eq!(asked("key=sk-ant-oat01-x", Provider::Anthropic), Err(NoCredential::Subscription));
        assert_eq!(asked("access%5Ftoken=sk%2Dant-oat01-x", Provider::Anthropic), Err(NoCredential::Subscription));
        assert_eq!(asked("key=own&beta=sk-ant-oat01-x", Provider::Anthropic), Ok(()));
        for provider in Provider::ALL.into_iter().filter(|provider| provider.key_header().is_none()) {
            assert_eq!(asked("alt=sse", provider), Err(NoCredential::Subscription), "{provider:?}");
        }
        own.passes_subscriptions = true;
        assert_eq!(given(&own, &pairs, ANTHROPIC, &[]), Ok(vec!["authorization: Bearer sk-ant-oat01-x".into()]));
    }

    #[test]
    fn the_gateways_key_replaces_whatever_the_client_sends() {
        let key = |upstream: &str, group: Option<&str>, key: &str| GatewayKey {
            upstream: upstream.to_owned(),
            group: group.map(str::to_owned),
            key: Secret::new(key),
        };
        let keys = vec![
            key("anthropic", None, "sk-all"),
            key("anthropic", Some("core"), "sk-core"),
            key("openai", None, "sk-o"),
        ];
        let gateway = UpstreamCredentials { gateway: Some(keys), passes_subscriptions: true };
        let pairs = [("a", "1"), ("authorization", "Bearer ctxk_1"), ("x-api-key", "sk-own"), ("cookie", "b=2")];
        assert_eq!(given(&gateway, &pairs, ANTHROPIC, &[]), Ok(vec!["a: 1".into(), "x-api-key: sk-all".into()]));
        assert_eq!(given(&gateway, &pairs, ANTHROPIC, &["core"]), Ok(vec!["a: 1".into(), "x-api-key: sk-core".into()]));
        let openai = ("openai", Provider::OpenAi);
        assert_eq!(given(&gateway, &pairs, openai, &[]), Ok(vec!["a: 1".into(), "authorization: Bearer sk-o".into()]));
        assert_eq!(given(&gateway, &pairs, ("gemini", Provider::Gemini), &[]), Err(NoCredential::NoKey));
    }
}
