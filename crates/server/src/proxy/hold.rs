//! The life of a held request, and two refusals that are handled here: of an edit that we requested in addition to the
//! client's, and of thinking that only composing can have invalidated (rule A65). Each is retried at most once.

use ctx_engine::compose::{Otherwise, OutgoingRequest};
use ctx_engine::ports::provider::ProviderRefusal;
use std::sync::Arc;
use std::time::Duration;

use ctx_wire::Wire;
use ctx_wire::answer::FirstEvent;
use ctx_wire::body::Body;
use ctx_wire::encoding::{self, Encoding};
use ctx_wire::provider_edits::Kind;
use ctx_wire::rope::{Pieces, concat};
use ctx_wire::sse;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::answer::Answer;
use super::body::{AnswerBody, RequestBody};
use super::errors::Failure;
use super::held::HeldRequest;
use super::upstream::Upstream;
use super::{Proxy, failure, hand_back};
use crate::watch::{RequestTap, ResponseTap};

/// Larger than any refusal of the provider.
const LONGEST_REFUSAL: usize = 256 * 1024;
/// A refusal arrives whole, right after its head. A response that takes longer is passed on as it comes.
const REFUSAL_PATIENCE: Duration = Duration::from_millis(300);
/// The time that the announcements of a stream wait for its first event. Sealed reasoning is refused before the model
/// begins, so a later event is not a refusal.
const STREAM_PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_DECODED: usize = 4 * 1024 * 1024;

impl Proxy {
    pub(super) async fn forward_held(
        &self,
        upstream: &Upstream,
        head: Parts,
        incoming: Incoming,
        request_eye: RequestTap,
        mut response_eye: ResponseTap,
    ) -> Result<Response<AnswerBody>, Failure> {
        match self.exchange_held(upstream, head, incoming, request_eye, &mut response_eye).await {
            Ok(response) => Ok(hand_back(response, response_eye, false)),
            Err(failure) => {
                response_eye.end(failure.ending());
                Err(failure)
            }
        }
    }

    async fn exchange_held(
        &self,
        upstream: &Upstream,
        head: Parts,
        incoming: Incoming,
        request_eye: RequestTap,
        response_eye: &mut ResponseTap,
    ) -> Result<Response<Answer>, Failure> {
        let mut held = HeldRequest::read(incoming, request_eye, self.body_idle_timeout).await?;
        let Some(mut outgoing) = held.outgoing.take() else { return try_send(upstream, held.untouched(head)).await };
        let otherwise = outgoing.otherwise.take();
        let is_composed = otherwise.as_ref().is_none_or(|otherwise| otherwise.outgoing.is_some());
        let mut outgoing = Arc::new(outgoing);
        let mut response = try_send(upstream, held.composed(head.clone(), &outgoing)).await?;
        let mut deadline = Instant::now() + REFUSAL_PATIENCE;
        if let Some(Otherwise { kinds, model, outgoing: plain }) = otherwise.map(|otherwise| *otherwise)
            && let Some((kinds, answer)) = refused_edits(held.wire, &mut response, &kinds, deadline).await
        {
            let again = match plain {
                None => held.untouched(head.clone()),
                Some(plain) => {
                    outgoing = Arc::new(plain);
                    held.composed(head.clone(), &outgoing)
                }
            };
            response = try_send(upstream, again).await?;
            deadline = Instant::now() + REFUSAL_PATIENCE;
            // If it is refused without our edits too, they were not the cause.
            if !is_refusal(response.status()) {
                response_eye.refused(ProviderRefusal { model, kinds, answer });
            }
        }
        let is_unbound = match response.status() {
            StatusCode::BAD_REQUEST if is_composed => refuses_thinking(held.wire, &mut response, deadline).await,
            StatusCode::OK if is_composed && is_plain_stream(response.headers()) && held.has_sealed() => {
                refuses_in_stream(held.wire, &mut response).await
            }
            _ => false,
        };
        if !is_unbound {
            return Ok(response);
        }
        let outgoing = Arc::unwrap_or_clone(outgoing);
        let asked = asking_to_drop(outgoing, held.source.clone(), held.wire).await;
        let Some(outgoing) = asked else { return Ok(response) };
        response_eye.unbound();
        // One retry; the next response goes to the client.
        try_send(upstream, held.composed(head, &outgoing.into())).await
    }
}

async fn try_send(upstream: &Upstream, request: Request<RequestBody>) -> Result<Response<Answer>, Failure> {
    match upstream.send(request).await {
        Ok(response) if response.status() != StatusCode::SWITCHING_PROTOCOLS => Ok(response),
        other => Err(failure(upstream, other.err())),
    }
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

/// The edit of ours that a response refuses, and its message.
async fn refused_edits(
    wire: &dyn Wire,
    response: &mut Response<Answer>,
    ours: &[Kind],
    deadline: Instant,
) -> Option<(Vec<Kind>, Vec<u8>)> {
    if !is_refusal(response.status()) {
        return None;
    }
    let body = response.body_mut().peek(LONGEST_REFUSAL, deadline).await?;
    let answer = decoded(response.headers(), body);
    let kinds = wire.provider_edits()?.refused(response.status().as_u16(), &answer, ours);
    (!kinds.is_empty()).then_some((kinds, answer))
}

/// Reads a refusal without consuming it.
async fn refuses_thinking(wire: &dyn Wire, response: &mut Response<Answer>, deadline: Instant) -> bool {
    let Some(body) = response.body_mut().peek(LONGEST_REFUSAL, deadline).await else { return false };
    wire.is_unbound(response.status().as_u16(), &decoded(response.headers(), body))
}

/// Whether a stream begins with the refusal of sealed reasoning. Its announcements wait until the next event has come.
async fn refuses_in_stream(wire: &dyn Wire, response: &mut Response<Answer>) -> bool {
    let deadline = Instant::now() + STREAM_PATIENCE;
    let is_enough = |body: &[u8]| first_event(wire, body) != FirstEvent::Announcement;
    let body = response.body_mut().peek_beginning(LONGEST_REFUSAL, deadline, is_enough).await;
    first_event(wire, &body) == FirstEvent::Unbound
}

/// The first event that is not an announcement, if it has come.
fn first_event(wire: &dyn Wire, body: &[u8]) -> FirstEvent {
    let mut first = FirstEvent::Announcement;
    sse::Reader::new().feed(body, &mut |event| {
        if first == FirstEvent::Announcement {
            first = wire.first_event(event.data);
        }
    });
    first
}

/// Whether a response is a stream of events without an encoding.
fn is_plain_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.starts_with("text/event-stream") && !headers.contains_key(header::CONTENT_ENCODING)
}

fn decoded(headers: &HeaderMap, body: Vec<u8>) -> Vec<u8> {
    let named = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let encodings = Encoding::parse(named).unwrap_or_default();
    if encodings.is_empty() {
        return body;
    }
    encoding::decode_all(&encodings, &body, LONGEST_DECODED).unwrap_or(body)
}

/// The same request, asking the provider to drop invalid thinking, or without any thinking. `None`: it did so already,
/// or cannot.
pub(super) async fn asking_to_drop(
    mut outgoing: OutgoingRequest,
    source: Pieces,
    wire: &'static dyn Wire,
) -> Option<OutgoingRequest> {
    if outgoing.asks_to_drop {
        return None;
    }
    // Reading a large body takes time, and this worker has other streams.
    let asked = tokio::task::spawn_blocking(move || {
        let body = Body::parse(concat(&source), wire).ok()?;
        outgoing.ask_to_drop(&body);
        // If the provider cannot be asked, the reasoning is removed.
        if outgoing.asks_to_drop { Some(outgoing) } else { outgoing.without_reasoning(body.bytes(), wire) }
    });
    asked.await.ok().flatten()
}
