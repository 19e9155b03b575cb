//! Secrets, and a type that cannot be printed. This is the only module that decides which headers and query parameters
//! contain credentials.

use ctx_engine::Credentials;
use std::borrow::Cow;
use std::fmt;

use http::Uri;
use http::header::{self, HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;

/// Text that may be used but never shown: its `Debug` reveals only its presence.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. The long name makes a reader stop at every use.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Words that mark a header or parameter as a credential if they stand alone between separators. `token` is one and
/// `tokens` is not: `anthropic-ratelimit-tokens-limit` is a count, not a key.
const SECRET_WORDS: [&str; 12] = [
    "authorization",
    "auth",
    "cookie",
    "cookie2",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "credentials",
    "apikey",
    "signature",
];

/// Words that mark a credential only together.
const SECRET_PAIRS: [&str; 4] = ["api-key", "api_key", "access-key", "accesskey"];

/// Whether a header or parameter with this name contains a credential.
pub fn is_secret_name(name: &str) -> bool {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        is_secret_lowercase(&name.to_ascii_lowercase())
    } else {
        is_secret_lowercase(name)
    }
}

/// Whether a query parameter contains a credential, by its name as it stands in the query: providers decode it.
pub(crate) fn is_secret_parameter(name: &str) -> bool {
    is_secret_name(&percent_decode_str(name).decode_utf8_lossy())
}

pub(crate) fn is_secret_header(name: &HeaderName) -> bool {
    is_secret_lowercase(name.as_str())
}

fn is_secret_lowercase(name: &str) -> bool {
    name.split(['-', '_', '.']).any(|word| SECRET_WORDS.contains(&word))
        || SECRET_PAIRS.iter().any(|pair| name.contains(pair))
        || name == "key"
}

/// Marks the usual credentials of a message, so that a `Debug` cannot print them. Only the usual ones: this runs on
/// every request, while [`is_secret_name`] guards everything handed out.
pub(crate) fn seal(headers: &mut HeaderMap) {
    const USUAL: [HeaderName; 4] =
        [header::AUTHORIZATION, HeaderName::from_static("x-api-key"), header::COOKIE, header::PROXY_AUTHORIZATION];
    for name in USUAL {
        if let Some(value) = headers.get_mut(name) {
            value.set_sensitive(true);
        }
    }
}

/// The values of all credentials in a request, so that they can be removed from the record of its response. This runs
/// on every model call and only copies; other spellings are computed when a response needs cleaning.
pub(crate) fn credentials(uri: &Uri, headers: &HeaderMap) -> Credentials {
    /// Cookies hold preferences too; a shorter one is not a session.
    const SHORTEST_COOKIE: usize = 6;
    let mut found = Credentials::default();
    for (name, value) in headers.iter().filter(|(name, _)| is_secret_header(name)) {
        let value = value.as_bytes().trim_ascii();
        if *name == header::COOKIE {
            let values =
                value.split(|byte| *byte == b';').filter_map(|pair| pair.splitn(2, |byte| *byte == b'=').nth(1));
            values.filter(|value| value.len() >= SHORTEST_COOKIE).for_each(|value| found.push(value.trim_ascii()));
            continue;
        }
        // Without its scheme, as in `Bearer …`, `Basic …`.
        let parts = value.splitn(2, u8::is_ascii_whitespace).nth(1);
        found.push(parts.unwrap_or(value).trim_ascii());
    }
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| is_secret_parameter(name)).for_each(|(_, value)| found.push(value.as_bytes()));
    let user = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
    user.into_iter().flat_map(|(user, _)| user.split(':')).for_each(|part| found.push(part.as_bytes()));
    found
}

/// A query string without the values of its secret parameters.
pub(crate) fn visible_query(query: &str) -> Cow<'_, str> {
    let is_secret_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| is_secret_parameter(name));
    if !query.split('&').any(is_secret_pair) {
        return Cow::Borrowed(query);
    }
    let shown: Vec<Cow<'_, str>> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret_parameter(name) => Cow::Owned(format!("{name}=…")),
            _ => Cow::Borrowed(pair),
        })
        .collect();
    Cow::Owned(shown.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_their_names() {
        for name in [
            "Authorization",
            "x-api-key",
            "X-Api-Key",
            "api-key",
            "x-goog-api-key",
            "Cookie",
            "Set-Cookie",
            "Proxy-Authorization",
            "x-amz-security-token",
            "x-auth-token",
            "x-client-secret",
            "access_token",
            "key",
        ] {
            assert!(is_secret_name(name), "{name} holds a credential");
        }
    }

    #[test]
    fn what_the_recorder_needs_stays_visible() {
        for name in [
            "X-Claude-Code-Session-Id",
            "x-claude-code-agent-id",
            "anthropic-beta",
            "anthropic-version",
            "user-agent",
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "request-id",
            "content-encoding",
            "x-claude-code-prev-tool-durations",
            "beta",
        ] {
            assert!(!is_secret_name(name), "{name} is not a credential");
        }
    }

    #[test]
    fn a_query_loses_only_the_values_of_its_secret_parameters() {
        assert_eq!(visible_query("beta=true&x"), "beta=true&x");
        assert_eq!(visible_query("beta=true&key=hush&b=2"), "beta=true&key=…&b=2");
        assert_eq!(visible_query("access%5Ftoken=hush&%6Bey=hush"), "access%5Ftoken=…&%6Bey=…");
    }

    #[test]
    fn every_credential_of_a_request_is_known() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer first-secret"),
            ("x-api-key", "second-secret"),
            ("cookie", "theme=dark; sid=third-secret"),
            ("proxy-authorization", "Basic Zm91cnRoOnNlY3JldC00"),
            ("x-auth-token", "fifth-secret"),
            ("user-agent", "not-a-secret"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        let uri = "http://me:sixth-secret@host/v1/messages?beta=true&key=seventh-secret".parse().expect("a uri");
        let hidden = credentials(&uri, &headers).hide(
            "first-secret second-secret third-secret fourth secret-4 fifth-secret sixth-secret seventh-secret \
             dark not-a-key Bearer",
        );
        assert_eq!(hidden, format!("{}dark not-a-key Bearer", "[credential] ".repeat(8)));
    }

    #[test]
    fn a_secret_and_a_sealed_header_print_nothing() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "Secret(…)");
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", "hush".parse().expect("a value"));
        headers.insert("accept", "everything".parse().expect("a value"));
        seal(&mut headers);
        let printed = format!("{headers:?}");
        assert!(!printed.contains("hush"), "{printed}");
        assert!(printed.contains("everything"));
    }
}
