//! The requests to an identity provider. Answers are small, quick and JSON, or they do not count; redirects are not
//! followed.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ctx_team::oidc::{Discovery, Endpoint, Issuer, KeySet, TokenRequest, id_token};
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};

use super::TokenTrouble;
use crate::config::{self, Limits};
use crate::proxy::Target;
use crate::proxy::call::{self, CallError};

/// The time for one answer, connection included.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: usize = 256 * 1024;

/// A provider as it described itself at some time.
pub(super) struct Provider {
    pub(super) discovery: Discovery,
    pub(super) keys: KeySet,
    token: Target,
    fetched: Instant,
}

impl Provider {
    /// The error is for the operator: it has no text of the provider.
    pub(super) async fn fetch(
        issuer: &Issuer,
        upstream: &config::Upstream,
        limits: &Limits,
    ) -> Result<Provider, String> {
        let document = issuer.document().ok_or("the issuer is not an address")?;
        let found = get(&document, upstream, limits).await?;
        let discovery = Discovery::parse(&found, issuer).map_err(|why| format!("{document}: {why}"))?;
        let found = get(&discovery.keys, upstream, limits).await?;
        let keys = KeySet::parse(&found).map_err(|why| format!("{}: {why}", discovery.keys))?;
        let token = target(&discovery.token, upstream, limits)?;
        Ok(Provider { discovery, keys, token, fetched: Instant::now() })
    }

    pub(super) fn age(&self) -> Duration {
        self.fetched.elapsed()
    }

    /// Exchanges a code for the token of a person.
    pub(super) async fn exchange(&self, request: TokenRequest) -> Result<String, TokenTrouble> {
        let mut headers = usual();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(text) = request.authorization {
            let mut value = HeaderValue::from_str(&text).map_err(|_| TokenTrouble::Code)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let asked = call::post(&self.token, &self.discovery.token.path, headers, Bytes::from(request.body), LONGEST);
        let (status, answer) = in_time(asked).await.map_err(TokenTrouble::Away)?;
        match status {
            StatusCode::OK => id_token(&answer).ok_or(TokenTrouble::Code),
            status if status.is_server_error() => Err(TokenTrouble::Away(format!("it answered {}", status.as_u16()))),
            status => {
                tracing::warn!(status = status.as_u16(), "the identity provider refused a code");
                Err(TokenTrouble::Code)
            }
        }
    }
}

async fn get(endpoint: &Endpoint, upstream: &config::Upstream, limits: &Limits) -> Result<Vec<u8>, String> {
    let target = target(endpoint, upstream, limits)?;
    let asked = call::get(&target, &endpoint.path, usual(), LONGEST);
    let (status, found) = in_time(asked).await.map_err(|why| format!("{}: {why}", endpoint.origin))?;
    match status {
        StatusCode::OK => Ok(found),
        other => Err(format!("{endpoint} answered {}", other.as_u16())),
    }
}

fn target(endpoint: &Endpoint, upstream: &config::Upstream, limits: &Limits) -> Result<Target, String> {
    let url = endpoint.origin.parse().map_err(|_| "an address of the provider cannot be used".to_owned())?;
    let upstream = config::Upstream { url, http2: false, websocket: false, ..upstream.clone() };
    Target::new(&upstream, limits).map_err(|error| error.to_string())
}

async fn in_time(
    asked: impl Future<Output = Result<(StatusCode, Vec<u8>), CallError>>,
) -> Result<(StatusCode, Vec<u8>), String> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answered) => answered.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

fn usual() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("ctx/", env!("CARGO_PKG_VERSION"))));
    headers
}
