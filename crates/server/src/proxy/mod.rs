//! The forwarding proxy. [`Proxy::forward`] is the life of a request from top to bottom; the other files each handle
//! one concern. Nothing here waits for a body or parses one: observers use [`crate::watch`]. Only a request that must
//! be composed is held first.

mod admit;
mod answer;
mod body;
pub(crate) mod call;
mod connect;
mod connect_error;
mod dial;
pub(crate) mod errors;
mod headers;
mod held;
mod hold;
mod pool;
mod socket;
mod trust;
mod upstream;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_wire::Provider;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::{Body, Incoming};
use hyper::ext::ReasonPhrase;

use self::admit::AdmittedPerson;
use self::answer::Answer;
use self::body::Shape;
pub(crate) use self::body::{AnswerBody, EarlyEnd, RequestBody};
pub use self::connect_error::SetupError;
pub use self::dial::{DialError, Dialer};
use self::errors::Failure;
pub use self::trust::TrustError;
pub(crate) use self::upstream::Target;
use self::upstream::{SendError, Upstream};
use crate::auth::Auth;
use crate::config::Limits;
use crate::secret;
use crate::team::Team;
use crate::watch::{Observer, RequestHead, RequestTap, ResponseTap, Watch};

/// One worker's proxy, with its own pool of connections.
pub(crate) struct Proxy {
    auth: Arc<Auth>,
    observers: Observers,
    /// By name.
    upstreams: Vec<(String, Upstream)>,
    body_idle_timeout: Duration,
    socket_idle_timeout: Duration,
}

/// The observers of requests: that of a daemon for one person, or those of a team.
pub(crate) struct Observers {
    pub(crate) operator: Arc<dyn Observer>,
    pub(crate) team: Option<Arc<Team>>,
}

/// The upstreams that all workers share, by name.
pub(crate) type Targets = Vec<(String, Arc<Target>)>;

impl Proxy {
    pub(crate) fn new(auth: Arc<Auth>, observers: Observers, targets: &Targets, limits: &Limits) -> Self {
        let upstreams = targets.iter().map(|(name, target)| (name.clone(), Upstream::new(target.clone()))).collect();
        let Limits { body_idle_timeout, socket_idle_timeout, .. } = *limits;
        Self { auth, observers, upstreams, body_idle_timeout, socket_idle_timeout }
    }

    pub(crate) async fn forward(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, Failure> {
        let began = Instant::now();
        let (mut head, incoming) = request.into_parts();
        secret::seal(&mut head.headers);

        // Refuse requests that cannot come from a local program, before any observer sees them.
        if head.method == Method::CONNECT {
            return Err(Failure::Tunnel);
        }
        // In a team, a key leads to the person's own observer, and stays here.
        let admitted = match &self.observers.team {
            None => self.auth.admit_proxied(&head).map(|()| None).map_err(Failure::Refused)?,
            Some(team) => Some(Box::pin(self.admit(team, &mut head)).await?),
        };
        let observer = admitted.as_ref().map_or(&self.observers.operator, |admitted| &admitted.desk.observer);

        let (name, upstream, path) = self.destination(&head.uri, &head.headers)?;
        if let Some(admitted) = &admitted {
            admitted.equip((name, &path), &mut head)?;
        }
        if asks_for_socket(&head, &incoming)
            && let Some((wire, _)) = ctx_wire::route("POST", path.path())
        {
            let permit = admitted.as_ref().map(AdmittedPerson::permit);
            let seen = (wire, observer.clone(), permit);
            return Box::pin(self.open_socket(upstream, seen, (head, path), incoming)).await;
        }

        // Let the observer decide whether it watches. From here on, its two halves travel with the bodies, and learn
        // the outcome even if this function is dropped because the client disconnected.
        let watch = observer.begin(&RequestHead::new(&head.method, &head.uri, &head.headers));
        let (mut request_eye, mut response_eye) = eyes(watch);

        // Readdress the head. It keeps its order and spelling: the spelling of names is in its extensions.
        let target = upstream.target();
        let is_head = head.method == Method::HEAD;
        head.uri = readdress(path, target.url.base_path());
        head.headers = headers::outgoing(head.headers, &target.host, &self.auth);

        // A request to compose must be complete first. Boxed, so that other requests do not pay for it.
        if request_eye.is_held() {
            return Box::pin(self.forward_held(upstream, head, incoming, request_eye, response_eye)).await;
        }

        // Forward it as it arrives. Dropping this future drops the upstream connection or stream: a disconnecting
        // client cancels its request.
        request_eye.leaves(began.elapsed());
        let body = RequestBody::new(incoming, request_eye, self.body_idle_timeout);
        let progress = body.progress();
        let sent = upstream.send(Request::from_parts(head, body)).await;
        let response = match sent {
            Ok(response) if response.status() != StatusCode::SWITCHING_PROTOCOLS => response,
            other => {
                let failure = if progress.is_stalled() {
                    Failure::ClientStalled { seconds: self.body_idle_timeout.as_secs() }
                } else if progress.is_broken() {
                    Failure::ClientBroke
                } else {
                    failure(upstream, other.err())
                };
                response_eye.end(failure.ending());
                return Err(failure);
            }
        };

        // Forward the response as it arrives, including trailers.
        Ok(hand_back(response, response_eye, is_head))
    }

    /// The upstream of a request with its name, and its path there: `/to/NAME/…` names one, otherwise the call determines the
    /// provider. Credentials of one provider go to no other.
    fn destination(&self, uri: &Uri, headers: &HeaderMap) -> Result<(&str, &Upstream, PathAndQuery), Failure> {
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let (name, path) = match named(&path) {
            Some((name, rest)) => (name, rest),
            None => (Provider::of(path.path(), &|name| headers.contains_key(name)).name().to_owned(), path),
        };
        match self.upstreams.iter().find(|(other, _)| *other == name) {
            Some((name, upstream)) => Ok((name, upstream, path)),
            None => {
                let known = self.upstreams.iter().map(|(name, _)| name.clone()).collect();
                Err(Failure::NoSuchUpstream { name, known })
            }
        }
    }
}

/// Whether a client requests a WebSocket. Any other request is observed, whatever it would like to become.
fn asks_for_socket(head: &Parts, incoming: &Incoming) -> bool {
    let is_websocket = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    let tokens =
        head.headers.get_all(header::CONNECTION).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    head.method == Method::GET
        && head.version == Version::HTTP_11
        && incoming.is_end_stream()
        && head.headers.get(header::UPGRADE).is_some_and(is_websocket)
        && tokens.map(<[u8]>::trim_ascii).any(|token| token.eq_ignore_ascii_case(b"upgrade"))
}

/// Parses `/to/NAME/…`: the name of an upstream, and the path there.
fn named(path: &PathAndQuery) -> Option<(String, PathAndQuery)> {
    let rest = path.as_str().strip_prefix("/to/")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let behind = rest.get(end..).filter(|behind| behind.starts_with('/')).unwrap_or("/");
    Some((rest.get(..end)?.to_owned(), behind.parse().ok()?))
}

fn failure(upstream: &Upstream, error: Option<SendError>) -> Failure {
    let upstream = upstream.target().url.clone();
    match error {
        Some(SendError::Connect(cause)) => Failure::Unreachable { upstream, cause },
        Some(SendError::Broken(error)) => Failure::NoAnswer { upstream, reason: error.to_string() },
        None => Failure::NoAnswer { upstream, reason: "it changed the protocol unasked".to_owned() },
    }
}

fn eyes(watch: Option<Watch>) -> (RequestTap, ResponseTap) {
    match watch {
        Some(watch) => (RequestTap::new(Some(watch.request)), ResponseTap::new(Some(watch.response))),
        None => (RequestTap::new(None), ResponseTap::new(None)),
    }
}

/// The original path and query after the upstream's base path. `*` (as in `OPTIONS *`) stays alone.
fn readdress(path: PathAndQuery, base_path: &str) -> Uri {
    if base_path.is_empty() || path.as_str() == "*" {
        return Uri::from(path);
    }
    let joined = format!("{base_path}{path}");
    PathAndQuery::try_from(joined).map_or_else(|_| Uri::from(path), Uri::from)
}

fn hand_back(response: Response<Answer>, mut eye: ResponseTap, is_head: bool) -> Response<AnswerBody> {
    let (mut head, answer) = response.into_parts();
    eye.head(head.status, &head.headers);
    // Each side of a proxy has its own version.
    let from_http2 = head.version == Version::HTTP_2;
    head.version = Version::HTTP_11;
    head.headers = headers::returning(head.headers);
    if from_http2 && head.status.canonical_reason().is_none() {
        // HTTP/2 has no reason phrases; none is better than an invented one.
        head.extensions.insert(ReasonPhrase::from_static(b""));
    }
    let shape = shape(head.status, &head.headers, answer.is_over(), is_head);
    Response::from_parts(head, AnswerBody::new(answer, eye, shape))
}

fn shape(status: StatusCode, headers: &HeaderMap, is_empty: bool, is_head: bool) -> Shape {
    if !is_empty || is_head || !headers.contains_key(header::CONTENT_LENGTH) {
        Shape::AsItCame
    } else if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        Shape::EmptyWithForeignLength
    } else {
        Shape::EmptyWithLength
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_comes_first_and_the_rest_stays_as_it_was() {
        let path = |uri: &str| uri.parse::<Uri>().expect("a uri").path_and_query().cloned().expect("a path");
        let readdressed = |uri: &str, base: &str| readdress(path(uri), base).to_string();
        assert_eq!(readdressed("/v1/messages?beta=true", ""), "/v1/messages?beta=true");
        assert_eq!(readdressed("/v1/messages?beta=true", "/team/a"), "/team/a/v1/messages?beta=true");
        assert_eq!(readdressed("//a//../b/%2e%2E?x=%zz&&y", "/s"), "/s//a//../b/%2e%2E?x=%zz&&y");
        assert_eq!(readdressed("http://localhost:8788/v1", ""), "/v1");
        assert_eq!(readdressed("*", "/team"), "*");
    }

    #[test]
    fn a_path_may_name_its_upstream() {
        let of = |path: &str| named(&path.parse().expect("a path")).map(|(name, rest)| (name, rest.to_string()));
        let found = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
        assert_eq!(
            of("/to/openrouter/api/v1/chat/completions?x=1"),
            found("openrouter", "/api/v1/chat/completions?x=1")
        );
        assert_eq!(of("/to/local"), found("local", "/"));
        assert_eq!(of("/to/local?x=1"), found("local", "/"));
        assert_eq!(of("/v1/to/local/x"), None);
    }
}
