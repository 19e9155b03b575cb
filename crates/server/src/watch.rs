//! The interface of observers. The proxy calls them and never waits: an observer takes its copy of a chunk and returns
//! at once. The exception is a held request, which is read to its end and sent as the observer composes it. Credentials
//! are filtered: heads contain only what [`crate::secret`] calls harmless.

use ctx_engine::Credentials;
use ctx_engine::ports::provider::ProviderRefusal;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use ctx_service::recorder::{Reply, Withheld};
use ctx_wire::rope::Pieces;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};

use crate::secret;

/// Decides about every request whether it is observed.
pub trait Observer: Send + Sync + 'static {
    /// `None` makes the exchange a plain pipe.
    fn begin(&self, head: &RequestHead<'_>) -> Option<Watch>;
}

/// The two halves of an observed exchange. They are separate because request and response flow at the same time: each
/// half moves into its own body, without a shared lock.
pub struct Watch {
    pub request: Box<dyn RequestWatch>,
    pub response: Box<dyn ResponseWatch>,
}

/// Observes the request body. `end` is called exactly once, last; for a held request, `compose` replaces it.
pub trait RequestWatch: Send + 'static {
    /// Whether the request must be composed before it leaves.
    fn is_held(&self) -> bool {
        false
    }
    /// The request is sent on as it arrives, this long after its head.
    fn leaves(&mut self, _after: Duration) {}
    /// The last byte of a held request has arrived. `reply` gets the composition, later and from any thread. Returns
    /// everything received.
    fn compose(&mut self, reply: Reply) -> Pieces {
        reply(Err(Withheld::Defect));
        Pieces::default()
    }
    fn chunk(&mut self, chunk: &Bytes);
    /// `complete` is false if the client or the upstream disconnected before the last byte.
    fn end(&mut self, complete: bool);
}

/// Observes the response. `head` is called at most once, first; `end` exactly once, last.
pub trait ResponseWatch: Send + 'static {
    /// The provider refused the thinking in a composed request, which is sent again without it.
    fn unbound(&mut self) {}
    /// The provider refused an edit that we requested; without it, the request succeeded.
    fn refused(&mut self, _refused: ProviderRefusal) {}
    fn head(&mut self, head: &ResponseHead<'_>);
    fn chunk(&mut self, chunk: &Bytes);
    fn end(&mut self, ending: Ending);
}

/// The outcome of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The upstream's response was complete.
    Complete,
    /// The upstream stopped in the middle of its response.
    Cut,
    /// The client disconnected first.
    Cancelled,
    /// No response: the upstream could not be reached, or closed without one.
    Unreachable,
}

/// Observes nothing.
pub struct NoObserver;

impl Observer for NoObserver {
    fn begin(&self, _head: &RequestHead<'_>) -> Option<Watch> {
        None
    }
}

/// The head of a request, without its credentials.
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: VisibleHeaders<'a>,
    is_warm_up: bool,
}

impl<'a> RequestHead<'a> {
    pub fn new(method: &'a Method, uri: &'a Uri, headers: &'a HeaderMap) -> Self {
        Self { method, uri, headers: VisibleHeaders(headers), is_warm_up: false }
    }

    /// The head of a request that only prepares another one.
    pub(crate) fn warm_up(self, is_warm_up: bool) -> Self {
        Self { is_warm_up, ..self }
    }

    /// Whether the request only prepares another one: it has no reply worth recording.
    pub fn is_warm_up(&self) -> bool {
        self.is_warm_up
    }

    pub fn method(&self) -> &'a Method {
        self.method
    }

    pub fn path(&self) -> &'a str {
        self.uri.path()
    }

    /// The query, without the values of parameters such as `key` or `access_token`.
    pub fn query(&self) -> Option<Cow<'a, str>> {
        self.uri.query().map(secret::visible_query)
    }

    pub fn headers(&self) -> VisibleHeaders<'a> {
        self.headers
    }

    /// All its credentials, in a type that can only hide them.
    pub fn credentials(&self) -> Credentials {
        secret::credentials(self.uri, self.headers.0)
    }
}

/// The head of a response, without its credentials.
pub struct ResponseHead<'a> {
    status: StatusCode,
    headers: VisibleHeaders<'a>,
}

impl<'a> ResponseHead<'a> {
    pub fn new(status: StatusCode, headers: &'a HeaderMap) -> Self {
        Self { status, headers: VisibleHeaders(headers) }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn headers(&self) -> VisibleHeaders<'a> {
        self.headers
    }
}

/// Headers without those that contain credentials.
#[derive(Clone, Copy)]
pub struct VisibleHeaders<'a>(&'a HeaderMap);

impl<'a> VisibleHeaders<'a> {
    pub fn get(&self, name: &str) -> Option<&'a HeaderValue> {
        // Most requested headers are absent, and checking a name costs more than looking it up.
        self.0.get(name).filter(|_| !secret::is_secret_name(name))
    }

    /// The value as text; none if it is not plain ASCII.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> + use<'a> {
        self.0.iter().filter(|(name, _)| !secret::is_secret_header(name))
    }
}

impl fmt::Debug for VisibleHeaders<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestHead")
            .field("method", self.method)
            .field("path", &self.path())
            .field("query", &self.query())
            .field("headers", &self.headers)
            .finish()
    }
}

impl fmt::Debug for ResponseHead<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ResponseHead").field("status", &self.status).field("headers", &self.headers).finish()
    }
}

/// Holds a request half and guarantees one `end`, even if it is dropped.
pub(crate) struct RequestTap(Option<Box<dyn RequestWatch>>);

impl RequestTap {
    pub(crate) fn new(watch: Option<Box<dyn RequestWatch>>) -> Self {
        Self(watch)
    }

    pub(crate) fn chunk(&mut self, chunk: &Bytes) {
        if let Some(watch) = &mut self.0 {
            watch.chunk(chunk);
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.0.as_ref().is_some_and(|watch| watch.is_held())
    }

    pub(crate) fn leaves(&mut self, after: Duration) {
        if let Some(watch) = &mut self.0 {
            watch.leaves(after);
        }
    }

    pub(crate) fn compose(&mut self, reply: Reply) -> Pieces {
        match self.0.take() {
            Some(mut watch) => watch.compose(reply),
            None => Pieces::default(),
        }
    }

    pub(crate) fn end(&mut self, complete: bool) {
        if let Some(mut watch) = self.0.take() {
            watch.end(complete);
        }
    }
}

impl Drop for RequestTap {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Holds a response half and guarantees one `end`: dropped without one, the client disconnected.
pub(crate) struct ResponseTap(Option<Box<dyn ResponseWatch>>);

impl ResponseTap {
    pub(crate) fn new(watch: Option<Box<dyn ResponseWatch>>) -> Self {
        Self(watch)
    }

    pub(crate) fn head(&mut self, status: StatusCode, headers: &HeaderMap) {
        if let Some(watch) = &mut self.0 {
            watch.head(&ResponseHead::new(status, headers));
        }
    }

    pub(crate) fn chunk(&mut self, chunk: &Bytes) {
        if let Some(watch) = &mut self.0 {
            watch.chunk(chunk);
        }
    }

    pub(crate) fn unbound(&mut self) {
        if let Some(watch) = &mut self.0 {
            watch.unbound();
        }
    }

    pub(crate) fn refused(&mut self, refused: ProviderRefusal) {
        if let Some(watch) = &mut self.0 {
            watch.refused(refused);
        }
    }

    pub(crate) fn end(&mut self, ending: Ending) {
        if let Some(mut watch) = self.0.take() {
            watch.end(ending);
        }
    }
}

impl Drop for ResponseTap {
    fn drop(&mut self) {
        self.end(Ending::Cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_shows_no_credential_in_any_way() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer hush"));
        headers.insert("x-api-key", HeaderValue::from_static("hush"));
        headers.insert("cookie", HeaderValue::from_static("a=hush"));
        headers.insert("user-agent", HeaderValue::from_static("claude-cli"));
        let uri: Uri = "/v1/messages?beta=true&key=hush".parse().expect("a uri");
        let head = RequestHead::new(&Method::POST, &uri, &headers);
        assert_eq!(head.headers().get("Authorization"), None);
        assert_eq!(head.headers().text("user-agent"), Some("claude-cli"));
        assert_eq!(head.headers().iter().count(), 1);
        assert!(!format!("{head:?}").contains("hush"), "{head:?}");
    }
}
