//! The headers that cross the proxy: all of them, in the original order and spelling, except those of a single
//! connection. Nothing is added. (Separate values of one name come out together, because the map groups them, in their
//! order.)

use http::header::{self, Entry, HeaderMap, HeaderName, HeaderValue};

use crate::auth::Auth;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const BETA: HeaderName = HeaderName::from_static(ctx_wire::BETA_HEADER);
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// The outgoing headers of a request, for HTTP/1.1. [`for_http2`] removes those that HTTP/2 forbids.
pub(super) fn outgoing(headers: HeaderMap, host: &HeaderValue, auth: &Auth) -> HeaderMap {
    let named = ConnectionHeaders::by(&headers);
    let wants_trailers = asks_for_trailers(&headers);
    let has_host = headers.contains_key(header::HOST);
    let mut outgoing = rebuild(headers, |name, value| match *name {
        header::HOST => Some(host.clone()),
        header::COOKIE => auth.without_own_cookie(&value).unwrap_or(Some(value)),
        // The response has trailers only if they are requested, which takes both headers.
        header::TE if wants_trailers => Some(HeaderValue::from_static("trailers")),
        header::CONNECTION if wants_trailers => Some(HeaderValue::from_static("TE")),
        header::PROXY_AUTHORIZATION => None,
        _ if is_hop_by_hop(name) || named.contains(name) => None,
        _ => Some(value),
    });
    if !has_host {
        outgoing.insert(header::HOST, host.clone());
    }
    outgoing
}

/// The headers of a request for a WebSocket. Its messages are read, so they must not be compressed.
pub(super) fn upgrading(headers: HeaderMap) -> HeaderMap {
    let mut upgrading = rebuild(headers, |name, value| (*name != header::SEC_WEBSOCKET_EXTENSIONS).then_some(value));
    upgrading.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    upgrading.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    upgrading
}

/// The headers of a composed request: not encoded, and with its new length. A request without a length stays without
/// one.
pub(super) fn composed(headers: HeaderMap, length: usize, betas: &[&str]) -> HeaderMap {
    let mut composed = rebuild(headers, |name, value| match *name {
        header::CONTENT_ENCODING => None,
        header::CONTENT_LENGTH => Some(HeaderValue::from(length)),
        _ => Some(value),
    });
    betas.iter().for_each(|beta| name_beta(&mut composed, beta));
    composed
}

/// Adds a beta once, after the existing ones.
fn name_beta(headers: &mut HeaderMap, beta: &str) {
    let is_beta = |name: &[u8]| name.trim_ascii() == beta.as_bytes();
    if headers.get_all(BETA).iter().any(|value| value.as_bytes().split(|byte| *byte == b',').any(is_beta)) {
        return;
    }
    if let Entry::Occupied(mut named) = headers.entry(BETA)
        && let Some(last) = named.iter_mut().last()
        && let Ok(longer) = HeaderValue::from_bytes(&[last.as_bytes(), b",", beta.as_bytes()].concat())
    {
        *last = longer;
    } else if let Ok(alone) = HeaderValue::from_str(beta) {
        headers.append(BETA, alone);
    }
}

/// HTTP/2 frames its own bodies and names its own authority.
pub(super) fn for_http2(headers: &mut HeaderMap) {
    *headers = rebuild(std::mem::take(headers), |name, value| match *name {
        header::HOST | header::CONNECTION | header::TRANSFER_ENCODING => None,
        _ => Some(value),
    });
}

/// The headers of a response to the client.
pub(super) fn returning(headers: HeaderMap) -> HeaderMap {
    // Most responses have nothing to remove and stay exactly as they are.
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    if !headers.keys().any(|name| is_hop_by_hop(name) || (chunked && *name == header::CONTENT_LENGTH)) {
        return headers;
    }
    let named = ConnectionHeaders::by(&headers);
    rebuild(headers, |name, value| match *name {
        // Two framings contradict each other; the chunked one was used.
        header::CONTENT_LENGTH if chunked => None,
        _ if is_hop_by_hop(name) || named.contains(name) => None,
        _ => Some(value),
    })
}

/// Filters into a new map, because removing an entry moves the last one into its place.
fn rebuild(headers: HeaderMap, mut keep: impl FnMut(&HeaderName, HeaderValue) -> Option<HeaderValue>) -> HeaderMap {
    let mut rebuilt = HeaderMap::with_capacity(headers.keys_len());
    let mut current: Option<HeaderName> = None;
    let mut is_first = true;
    for (name, value) in headers {
        if name.is_some() {
            current = name;
            is_first = true;
        }
        let Some(name) = &current else { continue };
        // `TE` and `Connection` are rewritten as a whole: one value for all.
        let is_rewritten = matches!(*name, header::TE | header::CONNECTION | header::HOST);
        if is_rewritten && !is_first {
            continue;
        }
        is_first = false;
        if let Some(value) = keep(name, value) {
            rebuilt.append(name.clone(), value);
        }
    }
    rebuilt
}

/// `transfer-encoding` is not listed: hyper rebuilds the framing from it. `trailer` announces the end of the body, so
/// it travels with the body.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(*name, header::CONNECTION | header::UPGRADE | header::TE)
        || *name == KEEP_ALIVE
        || *name == PROXY_CONNECTION
        || *name == HTTP2_SETTINGS
}

fn asks_for_trailers(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::TE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// The headers that `Connection` lists.
struct ConnectionHeaders(Vec<HeaderName>);

impl ConnectionHeaders {
    fn by(headers: &HeaderMap) -> Self {
        let names = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|line| line.split(','))
            .filter_map(|name| HeaderName::try_from(name.trim()).ok())
            .filter(|name| *name != KEEP_ALIVE && name.as_str() != "close")
            // `Connection` cannot remove the framing or the host.
            .filter(|name| {
                !matches!(*name, header::HOST | header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::TE)
            })
            .collect();
        Self(names)
    }

    fn contains(&self, name: &HeaderName) -> bool {
        self.0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{OwnAddresses, Token};

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn list(headers: &HeaderMap) -> Vec<(&str, &str)> {
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect()
    }

    fn outgoing(headers: HeaderMap, host: &HeaderValue) -> HeaderMap {
        let listening = "127.0.0.1:8788".parse().expect("an address");
        let auth = Auth::new(Token::generate().expect("a token"), OwnAddresses::new(listening, None));
        super::outgoing(headers, host, &auth)
    }

    const HOST: HeaderValue = HeaderValue::from_static("upstream:1");

    #[test]
    fn a_request_keeps_its_order_when_headers_in_the_middle_go() {
        let headers = map(&[
            ("accept", "*/*"),
            ("connection", "keep-alive, x-private"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("host", "localhost:8788"),
            ("upgrade", "websocket"),
            ("te", "gzip"),
            ("proxy-authorization", "Basic eA=="),
            ("content-length", "5"),
            ("x-last", "z"),
        ]);
        assert_eq!(
            list(&outgoing(headers, &HOST)),
            [("accept", "*/*"), ("host", "upstream:1"), ("content-length", "5"), ("x-last", "z")]
        );
    }

    #[test]
    fn connection_cannot_name_away_the_framing_or_the_host() {
        let headers = map(&[("connection", "host, content-length"), ("host", "a"), ("content-length", "5")]);
        assert_eq!(list(&outgoing(headers, &HOST)), [("host", "upstream:1"), ("content-length", "5")]);
    }

    #[test]
    fn a_request_for_trailers_is_passed_on_with_its_connection_option() {
        let headers = map(&[("te", "gzip"), ("te", "trailers"), ("connection", "TE, close"), ("host", "a")]);
        let mut headers = outgoing(headers, &HOST);
        assert_eq!(list(&headers), [("te", "trailers"), ("connection", "TE"), ("host", "upstream:1")]);
        for_http2(&mut headers);
        assert_eq!(list(&headers), [("te", "trailers")]);
    }

    #[test]
    fn a_request_without_a_host_gets_one() {
        assert_eq!(list(&outgoing(map(&[("accept", "*/*")]), &HOST)), [("accept", "*/*"), ("host", "upstream:1")]);
    }

    #[test]
    fn a_composed_request_has_its_own_length_and_no_encoding() {
        let headers = map(&[("a", "1"), ("content-encoding", "gzip"), ("content-length", "5"), ("x-last", "z")]);
        assert_eq!(list(&composed(headers, 77, &[])), [("a", "1"), ("content-length", "77"), ("x-last", "z")]);
        let chunked = map(&[("transfer-encoding", "chunked"), ("x-last", "z")]);
        assert_eq!(list(&composed(chunked, 77, &[])), [("transfer-encoding", "chunked"), ("x-last", "z")]);
    }

    #[test]
    fn a_beta_is_named_once_and_last() {
        let named = |values: &[&'static str]| {
            let values: Vec<_> = values.iter().map(|value| ("anthropic-beta", *value)).collect();
            let headers = composed(map(&values), 0, &["new-1"]);
            list(&headers).into_iter().map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(named(&[]), ["new-1"]);
        assert_eq!(named(&["old-1,old-2"]), ["old-1,old-2,new-1"]);
        assert_eq!(named(&["old-1", "old-2"]), ["old-1", "old-2,new-1"]);
        for already in ["new-1", "old-1, new-1 ,old-2"] {
            assert_eq!(named(&[already]), [already]);
        }
        assert_eq!(named(&["new-10"]), ["new-10,new-1"]);
    }

    #[test]
    fn a_response_loses_only_what_belongs_to_its_connection() {
        let headers = map(&[
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("content-length", "7"),
            ("proxy-authenticate", "Basic"),
            ("request-id", "req_1"),
        ]);
        assert_eq!(
            list(&returning(headers)),
            [
                ("set-cookie", "a=1"),
                ("set-cookie", "b=2"),
                ("transfer-encoding", "chunked"),
                ("proxy-authenticate", "Basic"),
                ("request-id", "req_1"),
            ]
        );
    }
}
