//! Access checks. Proxied paths accept any local program and no foreign page; the control API and the page need the
//! daemon's token, under the daemon's own name. This module only decides: [`crate::proxy::errors`] and [`crate::local`]
//! write the refusals.

mod own;
mod public;
mod session;
mod token;

use http::Uri;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use percent_encoding::percent_decode_str;

pub(crate) use own::OwnAddresses;
pub use public::{PublicUrl, PublicUrlError};
use session::Sessions;
pub(crate) use session::{Holder, Login, Session};
pub use token::{Token, TokenError};

/// The cookie of an older version, which was the token itself.
const OLD_COOKIE: &str = "ctx_token";
/// The other half of a browser's session, sent by the page.
const PAGE_KEY: HeaderName = HeaderName::from_static("x-ctx-page-key");
/// Browsers open an event stream without custom headers, so its address contains the page key.
const EVENTS: &str = "/control/v1/events";
/// The way to an identity provider and back.
pub(crate) const FLOW: &str = "/ui/sign-in/oidc";
/// The cookie of that way.
const FLOW_COOKIE: &str = "ctx_sign_in";
/// The same over TLS. Browsers accept this prefix from the host itself only: no neighbouring site can set it, and so
/// begin a sign-in for someone else.
const SECURE_FLOW_COOKIE: &str = "__Host-ctx_sign_in";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_USER: HeaderName = HeaderName::from_static("sec-fetch-user");

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request names another host: the sign of a DNS rebinding attack.
    ForeignHost,
    /// The request comes from a foreign page.
    ForeignOrigin,
    /// A browser would show the provider's response as one of our pages.
    Navigation,
    TokenMissing,
    TokenWrong,
}

pub(crate) struct Auth {
    token: Token,
    own: OwnAddresses,
    sessions: Sessions,
    /// The key for sign-ins that are under way at an identity provider.
    flow_key: [u8; 32],
}

impl Auth {
    pub(crate) fn new(token: Token, own: OwnAddresses) -> Self {
        let sessions = Sessions::new(&token, own.port());
        let flow_key = blake3::derive_key("context-composer openid connect v1", token.expose().as_bytes());
        Self { token, own, sessions, flow_key }
    }

    /// Proxied paths: the client brings its own credentials, so no token is needed. But a browser sends requests on
    /// behalf of any page it shows, and no page is a client of ours. Nor may a browser show a provider's response: it
    /// would run in our origin, with the session of our own page.
    pub(crate) fn admit_proxied(&self, parts: &Parts) -> Result<(), Refusal> {
        let headers = &parts.headers;
        self.check_origin(parts)?;
        if is_from_another_site(headers) {
            return Err(Refusal::ForeignOrigin);
        }
        if is_navigation(headers) {
            return Err(Refusal::Navigation);
        }
        // A program may use an alias of this host. A browser that does so was led here, and one that a name server led
        // here does not always identify itself as a browser.
        if is_from_a_browser(headers) { self.check_host(parts) } else { check_not_rebound(parts) }
    }

    /// A request with a person's key. No page can send a key that it does not know, so any name of this host is fine.
    pub(crate) fn admit_keyed(&self, parts: &Parts) -> Result<(), Refusal> {
        let headers = &parts.headers;
        self.check_origin(parts)?;
        match is_from_another_site(headers) {
            true => Err(Refusal::ForeignOrigin),
            false if is_navigation(headers) => Err(Refusal::Navigation),
            false => Ok(()),
        }
    }

    /// The health of the daemon: no token and any name, but no foreign page.
    pub(crate) fn admit_health(&self, parts: &Parts) -> Result<(), Refusal> {
        self.check_origin(parts)?;
        if is_from_another_site(&parts.headers) { Err(Refusal::ForeignOrigin) } else { Ok(()) }
    }

    /// The control API: our name, no foreign page, the token or a session.
    pub(crate) fn admit_control(&self, parts: &Parts) -> Result<Caller, Refusal> {
        self.check_own(parts)?;
        self.check_token(parts)
    }

    /// Signing in: only our own page may, so that no other page signs a person in under another name.
    pub(crate) fn admit_sign_in(&self, parts: &Parts) -> Result<(), Refusal> {
        self.check_own(parts)?;
        if parts.headers.contains_key(header::ORIGIN) { Ok(()) } else { Err(Refusal::ForeignOrigin) }
    }

    /// The way to an identity provider and back: a browser under our own name, from any page. `Ok(false)`: under a name
    /// to which the provider does not send it back.
    pub(crate) fn admit_flow(&self, parts: &Parts) -> Result<bool, Refusal> {
        self.check_host(parts)?;
        Ok(named(parts)?.is_some_and(|name| self.own.is_public(name)))
    }

    pub(crate) fn flow_key(&self) -> &[u8; 32] {
        &self.flow_key
    }

    /// The cookies of sign-ins that are under way.
    pub(crate) fn flow_cookies<'a>(&'a self, parts: &'a Parts) -> impl Iterator<Item = &'a str> {
        cookies_named(&parts.headers, if self.is_secure(parts) { SECURE_FLOW_COOKIE } else { FLOW_COOKIE })
    }

    /// The cookie of a sign-in. The provider is another site, and its redirect must bring the cookie along: `Lax`.
    pub(crate) fn flow_cookie(&self, parts: &Parts, value: &str, age: u64) -> Option<HeaderValue> {
        let (start, secure) = match self.is_secure(parts) {
            true => (format!("{SECURE_FLOW_COOKIE}={value}; Path=/"), "; Secure"),
            false => (format!("{FLOW_COOKIE}={value}; Path={FLOW}"), ""),
        };
        let text = format!("{start}; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn is_secure(&self, parts: &Parts) -> bool {
        named(parts).ok().flatten().is_some_and(|name| self.own.is_secure(name))
    }

    fn check_own(&self, parts: &Parts) -> Result<(), Refusal> {
        self.check_host(parts)?;
        self.check_origin(parts)?;
        if is_from_another_site(&parts.headers) { Err(Refusal::ForeignOrigin) } else { Ok(()) }
    }

    /// The page: a person may follow the link from anywhere, but the cookie counts only on our own site.
    pub(crate) fn admit_page(&self, parts: &Parts) -> Result<PagePass, Refusal> {
        self.check_host(parts)?;
        self.check_origin(parts)?;
        if let Some(given) = parts.uri.query().and_then(|query| in_query(query, "token=")) {
            return if self.token.matches(given.as_bytes()) { Ok(PagePass::Link) } else { Err(Refusal::TokenWrong) };
        }
        if is_from_another_site(&parts.headers) {
            return Err(Refusal::TokenMissing);
        }
        match self.cookies(&parts.headers).map(|cookie| self.sessions.knows(cookie)).max() {
            Some(true) => Ok(PagePass::Known),
            Some(false) => Err(Refusal::TokenWrong),
            None => Err(Refusal::TokenMissing),
        }
    }

    /// Whether the page may take the page key in its address. A neighbouring site can set cookies here, so with a link it
    /// could sign a person in as someone else, who would then read along. So the key comes from a page of ours, or it is
    /// that of the operator.
    pub(crate) fn is_trusted_key(&self, parts: &Parts) -> bool {
        let is_own = |key: &str| {
            let mut opened =
                self.cookies(&parts.headers).filter_map(|cookie| self.sessions.open(cookie, key.as_bytes()));
            opened.any(|session| session.holder == Holder::Operator)
        };
        parts.headers.get_all(SEC_FETCH_SITE).iter().all(|site| site == "same-origin")
            || page_keys(&parts.uri).all(|(_, key)| is_own(key))
    }

    /// A new session for a browser. `None`: the system provides no random bytes.
    pub(crate) fn log_in(&self, holder: &Holder) -> Option<Login> {
        self.sessions.begin(holder)
    }

    /// The cookies of a session: one per path of ours instead of one for `/`, so that the browser never adds them to a
    /// request that goes upstream. They replace those that contained the token.
    pub(crate) fn set_cookies(&self, parts: &Parts, login: &Login) -> impl Iterator<Item = HeaderValue> {
        self.cookie_lines(parts, &login.cookie, login.age)
    }

    /// Removes the cookies of a session.
    pub(crate) fn clear_cookies(&self, parts: &Parts) -> impl Iterator<Item = HeaderValue> {
        self.cookie_lines(parts, "", 0)
    }

    fn cookie_lines(&self, parts: &Parts, value: &str, age: u64) -> impl Iterator<Item = HeaderValue> {
        let cookie = format!("{}={value}", self.sessions.cookie_name());
        let secure = if self.is_secure(parts) { "; Secure" } else { "" };
        [(cookie, age), (format!("{OLD_COOKIE}="), 0)].into_iter().flat_map(move |(cookie, age)| {
            ["/ui", "/control"].into_iter().filter_map(move |path| {
                let text = format!("{cookie}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
                let mut value = HeaderValue::from_str(&text).ok()?;
                value.set_sensitive(true);
                Some(value)
            })
        })
    }

    /// The cookies of a proxied request without ours, which must not reach the provider. `None` if there is nothing to
    /// remove.
    pub(crate) fn without_own_cookie(&self, value: &HeaderValue) -> Option<Option<HeaderValue>> {
        let line = value.to_str().ok()?;
        let is_own = |pair: &&str| {
            let name = pair.trim().split_once('=').map(|(name, _)| name);
            let own = [OLD_COOKIE, FLOW_COOKIE, SECURE_FLOW_COOKIE, self.sessions.cookie_name()];
            name.is_some_and(|name| own.contains(&name))
        };
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

    fn cookies<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        cookies_named(headers, self.sessions.cookie_name())
    }

    fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        match named(parts)? {
            Some(name) if self.own.contains(name) => Ok(()),
            _ => Err(Refusal::ForeignHost),
        }
    }

    fn check_origin(&self, parts: &Parts) -> Result<(), Refusal> {
        let host = named(parts).ok().flatten();
        let ours = |origin: &HeaderValue| origin.to_str().is_ok_and(|text| self.own.is_origin(text, host));
        if parts.headers.get_all(header::ORIGIN).iter().all(ours) { Ok(()) } else { Err(Refusal::ForeignOrigin) }
    }

    fn check_token(&self, parts: &Parts) -> Result<Caller, Refusal> {
        if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
            let given = bearer(value.as_bytes()).ok_or(Refusal::TokenMissing)?;
            return if self.token.matches(given) { Ok(Caller::Token) } else { Err(Refusal::TokenWrong) };
        }
        let of_events = parts.uri.query().filter(|_| parts.uri.path() == EVENTS);
        let page_key = match parts.headers.get(PAGE_KEY) {
            Some(value) => value.as_bytes(),
            None => of_events.and_then(|query| in_query(query, "key=")).ok_or(Refusal::TokenMissing)?.as_bytes(),
        };
        let mut cookies = self.cookies(&parts.headers).peekable();
        let without = if cookies.peek().is_some() { Refusal::TokenWrong } else { Refusal::TokenMissing };
        cookies.find_map(|cookie| self.sessions.open(cookie, page_key)).map(Caller::Session).ok_or(without)
    }
}

/// The credentials of a request to the control API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Token,
    Session(Session),
}

/// The credentials that gave access to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagePass {
    /// The token in the link: the browser gets its cookie and continues without the token in its address.
    Link,
    Known,
}

/// Browsers state the origin of a request. `same-site` is another port of this machine, and not ours either.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "same-origin" && site != "none")
}

/// Whether a browser would show or run the response. Programs fetch: their destination, if any, is `empty`. Some
/// browsers describe their requests only to secure origins, but all state that they want a page.
fn is_navigation(headers: &HeaderMap) -> bool {
    let wants_page = headers.get(header::ACCEPT).is_some_and(|types| types.as_bytes().starts_with(b"text/html"));
    let is_mozilla = headers.get(header::USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"));
    headers.get_all(SEC_FETCH_DEST).iter().any(|destination| destination != "empty")
        || headers.get_all(SEC_FETCH_MODE).iter().any(|mode| mode == "navigate")
        || headers.contains_key(SEC_FETCH_USER)
        || headers.contains_key(header::UPGRADE_INSECURE_REQUESTS)
        || (wants_page && is_mozilla)
}

/// The host that a request names, if it names exactly one.
fn named(parts: &Parts) -> Result<Option<&str>, Refusal> {
    let mut names = parts.headers.get_all(header::HOST).iter();
    match (parts.uri.authority(), names.next(), names.next()) {
        (_, _, Some(_)) => Err(Refusal::ForeignHost),
        (Some(authority), _, None) => Ok(Some(authority.as_str())),
        (None, Some(host), None) => host.to_str().map(Some).map_err(|_| Refusal::ForeignHost),
        (None, None, None) => Ok(None),
    }
}

/// Every browser names a host.
fn check_not_rebound(parts: &Parts) -> Result<(), Refusal> {
    match named(parts)? {
        Some(name) if own::may_be_rebound(name) => Err(Refusal::ForeignHost),
        _ => Ok(()),
    }
}

/// Browsers describe their requests to a secure origin, and no page can prevent it. The mode alone proves nothing:
/// libraries with `fetch` send it as well.
fn is_from_a_browser(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("sec-fetch-") && name != SEC_FETCH_MODE)
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
}

fn cookies_named<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(given, _)| *given == name)
        .map(|(_, value)| value)
}

/// The pairs of an address that the page reads as its key.
pub(crate) fn page_keys(uri: &Uri) -> impl Iterator<Item = (&str, &str)> {
    let pairs = uri.query().unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(|(name, _)| percent_decode_str(name).eq(*b"key"))
}

fn in_query<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name))
}

#[cfg(test)]
mod tests;
