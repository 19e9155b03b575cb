//! Who may come in, and by which door. Three doors: proxied paths (any local program, no foreign web page),
//! the control API and the page (only with the daemon's token, under the daemon's own name). Decisions only:
//! what a refusal looks like on the wire is for [`crate::proxy::errors`] and [`crate::rooms`].

mod own;
mod token;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;

pub(crate) use own::OwnAddresses;
pub use token::{Token, TokenError};

pub(crate) const COOKIE_NAME: &str = "ctx_token";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Why somebody was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request names another host: the sign of a DNS rebinding attack.
    ForeignHost,
    /// A web page of somebody else is speaking.
    ForeignOrigin,
    TokenMissing,
    TokenWrong,
}

pub(crate) struct Doors {
    token: Token,
    own: OwnAddresses,
}

impl Doors {
    pub(crate) fn new(token: Token, own: OwnAddresses) -> Self {
        Self { token, own }
    }

    /// Proxied paths: the credentials are the client's own, so no token is asked for. But a browser sends
    /// requests on behalf of any page it shows, and no page is a client of ours.
    pub(crate) fn admit_proxied(&self, parts: &Parts) -> Result<(), Refusal> {
        let headers = &parts.headers;
        self.check_origin(headers)?;
        if is_from_another_site(headers) {
            return Err(Refusal::ForeignOrigin);
        }
        // A program may call us by whatever alias it likes. A browser that does so was led here.
        if is_from_a_browser(headers) { self.check_host(parts) } else { Ok(()) }
    }

    /// The control API: our name, no foreign page, the token.
    pub(crate) fn admit_control(&self, parts: &Parts) -> Result<(), Refusal> {
        self.check_host(parts)?;
        self.check_origin(&parts.headers)?;
        if is_from_another_site(&parts.headers) {
            return Err(Refusal::ForeignOrigin);
        }
        self.check_token(&parts.headers)
    }

    /// The page: a person may come from anywhere with the link, but the cookie counts only on our own site.
    pub(crate) fn admit_page(&self, parts: &Parts) -> Result<PagePass, Refusal> {
        self.check_host(parts)?;
        self.check_origin(&parts.headers)?;
        if let Some(given) = parts.uri.query().and_then(token_in_query) {
            return if self.token.matches(given.as_bytes()) { Ok(PagePass::Link) } else { Err(Refusal::TokenWrong) };
        }
        if is_from_another_site(&parts.headers) {
            return Err(Refusal::TokenMissing);
        }
        self.check_token(&parts.headers).map(|()| PagePass::Known)
    }

    /// The cookies that let the browser in again. One for each room instead of one for `/`: so the browser
    /// never adds the token to a request that goes upstream.
    pub(crate) fn cookies(&self) -> impl Iterator<Item = HeaderValue> + '_ {
        ["/ui", "/control"].into_iter().filter_map(|path| {
            let text = format!(
                "{COOKIE_NAME}={}; Path={path}; Max-Age=2592000; HttpOnly; SameSite=Strict",
                self.token.expose()
            );
            let mut value = HeaderValue::from_str(&text).ok()?;
            value.set_sensitive(true);
            Some(value)
        })
    }

    fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        let mut names = parts.headers.get_all(header::HOST).iter();
        let named = match (parts.uri.authority(), names.next(), names.next()) {
            (_, _, Some(_)) => return Err(Refusal::ForeignHost),
            (Some(authority), _, None) => Some(authority.as_str()),
            (None, Some(host), None) => host.to_str().ok(),
            (None, None, None) => None,
        };
        match named {
            Some(name) if self.own.contains(name) => Ok(()),
            _ => Err(Refusal::ForeignHost),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let ours = |origin: &HeaderValue| {
            let host = origin.to_str().ok().and_then(|text| text.strip_prefix("http://"));
            host.is_some_and(|host| self.own.contains(host))
        };
        if headers.get_all(header::ORIGIN).iter().all(ours) { Ok(()) } else { Err(Refusal::ForeignOrigin) }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let given = bearer(value.as_bytes()).ok_or(Refusal::TokenMissing)?;
            return if self.token.matches(given) { Ok(()) } else { Err(Refusal::TokenWrong) };
        }
        let mut seen = false;
        for given in cookies_named(headers, COOKIE_NAME) {
            if self.token.matches(given.as_bytes()) {
                return Ok(());
            }
            seen = true;
        }
        Err(if seen { Refusal::TokenWrong } else { Refusal::TokenMissing })
    }
}

/// How somebody was let in to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagePass {
    /// By the token in the link: the browser gets its cookie and goes on without the token in its address.
    Link,
    Known,
}

/// Browsers say where a request comes from. `same-site` is another port of this machine: not ours either.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "same-origin" && site != "none")
}

/// Browsers describe what they fetch, and no page can keep them from it. The mode alone tells nothing:
/// programs built on a library's `fetch` send it as well.
fn is_from_a_browser(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("sec-fetch-") && name != SEC_FETCH_MODE)
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
}

fn cookies_named<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(given, _)| *given == name)
        .map(|(_, value)| value)
}

fn token_in_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// The cookies of a proxied request without ours, if ours is among them: the token is not the provider's.
/// `None` when there is nothing to remove.
pub(crate) fn without_own_cookie(value: &HeaderValue) -> Option<Option<HeaderValue>> {
    let line = value.to_str().ok()?;
    let is_own = |pair: &&str| pair.trim().split_once('=').is_some_and(|(name, _)| name == COOKIE_NAME);
    if !line.split(';').any(|pair| is_own(&pair)) {
        return None;
    }
    let rest: Vec<&str> = line.split(';').filter(|pair| !is_own(pair)).map(str::trim).collect();
    let rest = rest.join("; ");
    if rest.is_empty() {
        return Some(None);
    }
    let mut rest = HeaderValue::from_str(&rest).ok()?;
    rest.set_sensitive(true);
    Some(Some(rest))
}

#[cfg(test)]
mod tests;
