//! The address of a provider, and the document in which it describes itself (OpenID Connect Discovery 1.0).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use serde::Deserialize;

/// The address of a provider, exactly as its tokens name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    /// Plain HTTP, which is allowed on this machine only.
    is_plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the issuer must be an address such as https://login.example.com/realms/work, without query and credentials")]
pub struct IssuerError;

impl Issuer {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, to show to people.
    pub fn host(&self) -> String {
        let uri = self.text.parse::<Uri>().ok();
        uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
    }

    /// The place of the document.
    pub fn document(&self) -> Option<Endpoint> {
        let address = format!("{}/.well-known/openid-configuration", self.text.trim_end_matches('/'));
        Endpoint::parse(&address, self.is_plain)
    }
}

impl FromStr for Issuer {
    type Err = IssuerError;

    fn from_str(text: &str) -> Result<Self, IssuerError> {
        let is_plain = text.starts_with("http://");
        let endpoint = Endpoint::parse(text, is_plain).ok_or(IssuerError)?;
        if endpoint.path.contains('?') {
            return Err(IssuerError);
        }
        Ok(Issuer { text: text.to_owned(), is_plain })
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An address of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query.
    pub path: String,
}

impl Endpoint {
    /// HTTPS, or plain HTTP on this machine if the issuer is there too.
    fn parse(text: &str, allows_plain: bool) -> Option<Endpoint> {
        if text.contains('#') || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        let uri: Uri = text.parse().ok()?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let is_allowed = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => allows_plain && is_loopback(authority.host()),
            _ => false,
        };
        if !is_allowed || authority.host().is_empty() {
            return None;
        }
        let origin = format!("{}://{authority}", uri.scheme_str()?);
        Some(Endpoint { origin, path: uri.path_and_query()?.to_string() })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

fn is_loopback(host: &str) -> bool {
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || number.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The used members of a provider's document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    pub authorization: Endpoint,
    pub token: Endpoint,
    pub keys: Endpoint,
    /// The client's secret goes into the body, because the provider does not take it in a header.
    pub(super) secret_in_body: bool,
    /// The way back names the issuer (RFC 9207).
    pub(super) names_issuer: bool,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    response_types_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Discovery {
    /// The error tells what is wrong with the document.
    pub fn parse(document: &[u8], issuer: &Issuer) -> Result<Discovery, &'static str> {
        let document: Document =
            serde_json::from_slice(document).map_err(|_| "it is not the description of a provider")?;
        // Otherwise one provider could speak for another.
        if document.issuer != issuer.text {
            return Err("it names another issuer than `issuer`");
        }
        let lacks = |list: &Option<Vec<String>>, wanted: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|one| one == wanted))
        };
        if lacks(&document.response_types_supported, "code") {
            return Err("the provider does not support the authorisation code flow");
        }
        if lacks(&document.code_challenge_methods_supported, "S256") {
            return Err("the provider does not support PKCE with S256");
        }
        let methods = &document.token_endpoint_auth_methods_supported;
        let secret_in_body = lacks(methods, "client_secret_basic") && !lacks(methods, "client_secret_post");
        let endpoint = |text: &str| Endpoint::parse(text, issuer.is_plain).ok_or("one of its addresses is not HTTPS");
        Ok(Discovery {
            authorization: endpoint(&document.authorization_endpoint)?,
            token: endpoint(&document.token_endpoint)?,
            keys: endpoint(&document.jwks_uri)?,
            secret_in_body,
            names_issuer: document.authorization_response_iss_parameter_supported,
        })
    }
}
