//! Finds a person's key in a request. It may stand in a header of its own, or in the place of any credential: it is
//! recognised by its beginning.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_team::KEY_PREFIX;
use ctx_team::oidc::is_signed_token;
use http::Uri;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode;

use crate::secret::is_secret_parameter;

/// The header of a key, beside the client's own credential.
pub(crate) const KEY_HEADER: HeaderName = HeaderName::from_static(ctx_team::KEY_HEADER);

/// The place of a key in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In its own header: the credential for the provider is elsewhere in the request.
    Beside,
    /// In the place of the credential for the provider.
    Instead,
}

/// The key of a request.
pub(crate) fn key_of<'a>(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<(&'a [u8], KeyPlace)> {
    if let Some(value) = headers.get(KEY_HEADER) {
        return Some((value.as_bytes().trim_ascii(), KeyPlace::Beside));
    }
    let in_header = headers.values().find_map(key_in);
    let in_query = || {
        let values = query?.split('&').filter_map(|pair| Some(pair.split_once('=')?.1.as_bytes()));
        values.into_iter().find(|value| value.starts_with(KEY_PREFIX.as_bytes()))
    };
    Some((in_header.or_else(in_query)?, KeyPlace::Instead))
}

/// The key in a header of any name, alone or behind a scheme such as `Bearer`.
fn key_in(value: &HeaderValue) -> Option<&[u8]> {
    Some(last_word(value)).filter(|last| last.starts_with(KEY_PREFIX.as_bytes()))
}

fn last_word(value: &HeaderValue) -> &[u8] {
    let text = value.as_bytes().trim_ascii();
    text.rsplit(|byte| byte.is_ascii_whitespace()).next().unwrap_or(text)
}

/// The signed token of a request without a key: a bearer token of the identity provider, if such tokens are accepted.
pub(crate) fn token_of(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes().trim_ascii();
    let (scheme, token) = value.split_at_checked(7)?;
    Some(token.trim_ascii()).filter(|token| scheme.eq_ignore_ascii_case(b"bearer ") && is_signed_token(token))
}

/// Whether a header contains this token.
pub(crate) fn has_token(value: &HeaderValue, token: &[u8]) -> bool {
    last_word(value) == token
}

/// Whether a header contains a key and must not leave.
pub(crate) fn is_key(name: &HeaderName, value: &HeaderValue) -> bool {
    *name == KEY_HEADER || key_in(value).is_some()
}

/// A query without keys, and without any credential if `all`; `None` if there is nothing to remove.
pub(crate) fn without_key(query: &str, all: bool) -> Option<String> {
    let goes = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        value.starts_with(KEY_PREFIX) || (all && is_secret_parameter(name))
    };
    if !query.split('&').any(|pair| goes(&pair)) {
        return None;
    }
    Some(query.split('&').filter(|pair| !goes(pair)).collect::<Vec<_>>().join("&"))
}

/// The place of a key where it would not be removed, in words: quoted, behind other text, encoded, or in another part of
/// the request.
pub(crate) fn misplaced(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let in_header = headers.iter().find(|(name, value)| !is_key(name, value) && mentions_key(value.as_bytes()));
    if let Some((name, _)) = in_header {
        return Some(format!("the header `{name}`"));
    }
    if headers.keys().any(|name| mentions_key(name.as_str().as_bytes())) {
        return Some("the name of a header".to_owned());
    }
    let query = uri.query().unwrap_or_default();
    let query = without_key(query, false).map_or(Cow::Borrowed(query), Cow::Owned);
    let is_in_address = mentions_key(uri.path().as_bytes()) || mentions_key(query.as_bytes());
    is_in_address.then(|| "the address".to_owned())
}

/// Whether a text contains a key in any spelling.
fn mentions_key(text: &[u8]) -> bool {
    /// Libraries encode twice by mistake.
    const DEEPEST: usize = 3;
    let mut text = Cow::Borrowed(text);
    for _ in 0..DEEPEST {
        if contains_prefix(&text) || in_basic(&text) {
            return true;
        }
        match percent_decode(&text).into() {
            Cow::Owned(decoded) => text = Cow::Owned(decoded),
            Cow::Borrowed(_) => return false,
        }
    }
    contains_prefix(&text)
}

fn contains_prefix(text: &[u8]) -> bool {
    text.windows(KEY_PREFIX.len()).any(|part| part.eq_ignore_ascii_case(KEY_PREFIX.as_bytes()))
}

/// As the name or the password of `Basic`.
fn in_basic(text: &[u8]) -> bool {
    let Some((scheme, rest)) = text.trim_ascii().split_at_checked(6) else { return false };
    scheme.eq_ignore_ascii_case(b"basic ") && STANDARD.decode(rest.trim_ascii()).is_ok_and(|all| contains_prefix(&all))
}

/// The key of a request to the control API: in its own header, or as a bearer token.
pub(crate) fn control_key(headers: &HeaderMap) -> Option<&[u8]> {
    match headers.get(KEY_HEADER) {
        Some(value) => Some(value.as_bytes().trim_ascii()),
        None => headers.get(header::AUTHORIZATION).and_then(key_in),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn a_key_is_found_beside_or_instead_of_a_credential() {
        let find = |pairs: &[(&'static str, &'static str)], query| {
            key_of(&headers(pairs), query).map(|(key, place)| (String::from_utf8_lossy(key).into_owned(), place))
        };
        let found = |key: &str, place| Some((key.to_owned(), place));
        let own = ("authorization", "Bearer sk-own");
        assert_eq!(find(&[own, ("x-ctx-key", "ctxk_1")], None), found("ctxk_1", KeyPlace::Beside));
        assert_eq!(find(&[("authorization", "Bearer ctxk_2")], None), found("ctxk_2", KeyPlace::Instead));
        assert_eq!(find(&[("x-any-name", "ctxk_3")], None), found("ctxk_3", KeyPlace::Instead));
        assert_eq!(find(&[own], Some("a=1&key=ctxk_4")), found("ctxk_4", KeyPlace::Instead));
        assert_eq!(find(&[own], Some("a=1")), None);
    }

    #[test]
    fn a_signed_token_is_a_bearer_token_with_three_parts() {
        let find = |value| token_of(&headers(&[("authorization", value)])).map(<[u8]>::to_vec);
        assert_eq!(find("Bearer eyJh.eyJi.c2ln"), Some(b"eyJh.eyJi.c2ln".to_vec()));
        for other in ["Bearer sk-own", "Basic eyJh.eyJi.c2ln", "eyJh.eyJi.c2ln", "Bearer eyJh.eyJi"] {
            assert_eq!(find(other), None, "{other}");
        }
    }

    #[test]
    fn a_key_in_another_place_or_spelling_is_found() {
        let place = |pairs: &[(&'static str, &'static str)], uri: &str| {
            misplaced(&headers(pairs), &uri.parse().expect("an address"))
        };
        for value in [
            "Bearer \"ctxk_1\"",
            "'ctxk_1'",
            "Bearer sk-own,ctxk_1",
            "ctxk_1 sk-own",
            "a=1; key=ctxk_1",
            "openai-insecure-api-key.ctxk_1",
            "Bearer CTXK_1",
            "Bearer %63txk_1",
            "Bearer %2563txk%255f1",
            "Basic Y3R4a18xOng=",
            "basic  eDpjdHhrXzE=",
        ] {
            assert_eq!(
                place(&[("authorization", value)], "/a").as_deref(),
                Some("the header `authorization`"),
                "{value}"
            );
        }
        assert_eq!(place(&[("ctxk_1", "x")], "/a").as_deref(), Some("the name of a header"));
        for address in
            ["/a?key=%63txk_1", "/a?key=ctxk%5F1", "/a?key=%22ctxk_1%22", "/a?ctxk_1", "/a?ctxk_1=x", "/a/ctxk_1/b"]
        {
            assert_eq!(place(&[], address).as_deref(), Some("the address"), "{address}");
        }
        // These are removed, or contain no key.
        let usual = [("x-ctx-key", "\"ctxk_1\""), ("authorization", "Bearer ctxk_1,x"), ("user-agent", "ctxk/1 100%")];
        assert_eq!(place(&usual, "/a?b=%zz&key=ctxk_1"), None);
        assert_eq!(place(&[("authorization", "Basic b3duOg==")], "/ctxk"), None);
    }

    #[test]
    fn only_pairs_with_a_key_go() {
        assert_eq!(without_key("a=1&key=ctxk_4&b=2", false).as_deref(), Some("a=1&b=2"));
        assert_eq!(without_key("key=ctxk_4", false).as_deref(), Some(""));
        assert_eq!(without_key("a=1&key=own", false), None);
        assert_eq!(without_key("a=1&key=own&access_token=x", true).as_deref(), Some("a=1"));
        assert_eq!(without_key("a=1&k%65y=own&access%5Ftoken=x&%zz=1", true).as_deref(), Some("a=1&%zz=1"));
    }
}
