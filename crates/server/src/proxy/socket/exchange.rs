//! The requests on a socket, one after the other, each seen by the observer like an HTTP request: a request that names
//! an earlier answer is completed with the history that this socket carried, and an edited one is composed.

use ctx_engine::compose::OutgoingRequest;
use ctx_service::recorder::{Composition, Flaw, Withheld};
use ctx_wire::answer::FirstEvent;
use ctx_wire::rope::{Pieces, concat};
use ctx_wire::socket::{Socket, SocketMessage, SocketRequest};
use ctx_wire::{LocalError, Wire};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri, header};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

use super::history::{Answers, History};
use crate::proxy::errors::Failure;
use crate::proxy::eyes;
use crate::proxy::hold::asking_to_drop;
use crate::team::Permit;
use crate::watch::{Ending, Observer, RequestHead, RequestTap, ResponseTap};
use bytes::Bytes;

/// The requests and answers of one socket.
pub(super) struct Exchanges {
    observer: Arc<dyn Observer>,
    /// In a team.
    permit: Option<Permit>,
    wire: &'static dyn Wire,
    socket: &'static dyn Socket,
    uri: Uri,
    headers: HeaderMap,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<RunningRequest>,
    answers: Answers,
}

/// A request whose answer is not complete.
struct RunningRequest {
    eye: ResponseTap,
    is_begun: bool,
    /// Unknown if the request continues an answer that this socket did not carry.
    history: Option<History>,
    /// The composed request, until its answer begins.
    composed: Option<(OutgoingRequest, Pieces)>,
    /// The announcements of an answer that may still be refused.
    kept: Vec<String>,
}

/// The handling of a client's message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes as it is.
    Pass,
    /// This message is sent instead.
    Send(String),
    /// It is answered with this message.
    Refuse(String),
    /// It is answered with this message, and the socket ends.
    End(String),
}

/// The handling of a provider's message.
pub(super) enum MessageOutcome {
    /// It is passed on behind these, which were kept.
    Pass(Vec<String>),
    /// It is passed on later, or not at all.
    Keep,
    /// It is dropped, and this message is sent to the provider.
    Again(String),
}

impl RunningRequest {
    /// Shows a provider's message to the observer.
    fn observe(&mut self, message: &str) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.eye.head(StatusCode::OK, &events());
        }
        self.eye.chunk(&format!("data: {}\n\n", message.replace(['\n', '\r'], " ")).into());
    }
}

impl Exchanges {
    pub(super) fn new(
        (observer, permit): (Arc<dyn Observer>, Option<Permit>),
        (wire, socket): (&'static dyn Wire, &'static dyn Socket),
        uri: Uri,
        headers: HeaderMap,
    ) -> Exchanges {
        Exchanges { observer, permit, wire, socket, uri, headers, state: Mutex::default() }
    }

    /// Whether the client may still send: the key that opened the socket may have ended.
    pub(super) fn is_admitted(&self) -> bool {
        self.permit.as_ref().is_none_or(Permit::is_valid)
    }

    /// Decides about a client's message. A request becomes the running one.
    pub(super) async fn ask(&self, message: &str) -> Verdict {
        let request = match self.socket.message(message) {
            SocketMessage::Request(request) => request,
            SocketMessage::Other => return Verdict::Pass,
            SocketMessage::Unreadable => return self.unreadable(),
        };
        let (mut request_eye, response_eye) = self.watch(&request);
        if request.is_multiplexed || self.state().running.is_some() {
            // Its answer could not be told from others, so it is not observed.
            return if request_eye.is_held() { Verdict::Refuse(self.busy()) } else { Verdict::Pass };
        }
        let before = request.continues.as_deref().map(|id| (id, self.state().answers.get(id)));
        let (whole, before) = match &before {
            None => (None, None),
            Some((_, Some(before))) => (self.socket.whole(message, &before.items()), Some(before.clone())),
            Some((_, None)) => (None, None),
        };
        let is_known = request.continues.is_none() || whole.is_some();
        if !is_known && request_eye.is_held() {
            let id = request.continues.as_deref().unwrap_or_default();
            return Verdict::Refuse(self.socket.unknown_history(id));
        }
        request_eye.chunk(&Bytes::copy_from_slice(whole.as_deref().unwrap_or(message).as_bytes()));
        let composed = match composed(request_eye).await {
            Ok(composed) => composed,
            Err(why) => {
                let mut eye = response_eye;
                let failure = Failure::Withheld(why);
                eye.end(failure.ending());
                return Verdict::End(failure.into_message(self.socket));
            }
        };
        let is_own = before.as_ref().is_none_or(|before| before.is_own);
        let verdict = match &composed {
            Some((outgoing, source)) => match String::from_utf8(outgoing.bytes(&concat(source))) {
                Ok(text) => Verdict::Send(text),
                Err(_) => return Verdict::End(Failure::Withheld(Withheld::Defect).into_message(self.socket)),
            },
            // The provider knows an edited history under this id.
            None if !is_own => whole.map_or(Verdict::Pass, Verdict::Send),
            None => Verdict::Pass,
        };
        let items = self.socket.items(message).filter(|_| is_known);
        let history = items.map(|items| History::of(before, items, composed.is_none()));
        self.state().running =
            Some(RunningRequest { eye: response_eye, is_begun: false, history, composed, kept: Vec::new() });
        verdict
    }

    /// Decides about a message that may be a request, but cannot be read.
    pub(super) fn unreadable(&self) -> Verdict {
        let (request_eye, _) = self.watch(&SocketRequest::default());
        match request_eye.is_held() {
            true => Verdict::End(Failure::Withheld(Withheld::Unreadable(Flaw::Json)).into_message(self.socket)),
            false => Verdict::Pass,
        }
    }

    /// The halves of an observed exchange. Clients repeat some headers in each message.
    fn watch(&self, request: &SocketRequest<'_>) -> (RequestTap, ResponseTap) {
        let mut headers = self.headers.clone();
        for (name, value) in &request.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        let head = RequestHead::new(&Method::POST, &self.uri, &headers).warm_up(request.is_warm_up);
        eyes(self.observer.begin(&head))
    }

    /// Sees a provider's message before it is passed on.
    pub(super) async fn hear(&self, message: &str) -> MessageOutcome {
        let event = self.socket.event(message);
        if event.is_multiplexed {
            return MessageOutcome::Pass(Vec::new());
        }
        let first = self.wire.first_event(message);
        if first == FirstEvent::Announcement
            && let Some(running) = &mut self.state().running
            && running.composed.as_ref().is_some_and(|(_, source)| self.wire.has_sealed(&concat(source)))
        {
            // Nothing is passed on before the provider has accepted the request.
            running.kept.push(message.to_owned());
            return MessageOutcome::Keep;
        }
        let refused = event.status.is_some_and(|status| self.wire.is_unbound(status, message.as_bytes()));
        let composed = self.state().running.as_mut().and_then(|running| running.composed.take());
        if (refused || first == FirstEvent::Unbound)
            && let Some((outgoing, source)) = composed
            && let Some(again) = asking_to_drop(outgoing, source.clone(), self.wire).await
            && let Ok(text) = String::from_utf8(again.bytes(&concat(&source)))
        {
            self.state().running.iter_mut().for_each(|running| {
                running.kept.clear();
                running.eye.unbound();
            });
            return MessageOutcome::Again(text);
        }
        let kept = self.release();
        let mut state = self.state();
        let Some(running) = &mut state.running else { return MessageOutcome::Pass(kept) };
        running.observe(message);
        if let (Some(item), Some(history)) = (event.item, &mut running.history) {
            history.push(item);
        }
        if event.is_last
            && let Some(mut running) = state.running.take()
        {
            running.eye.end(Ending::Complete);
            if let (Some(id), Some(history)) = (event.answer, running.history) {
                state.answers.put(&id, history);
            }
        }
        MessageOutcome::Pass(kept)
    }

    /// The kept messages, which are passed on now.
    pub(super) fn release(&self) -> Vec<String> {
        let mut state = self.state();
        let Some(running) = &mut state.running else { return Vec::new() };
        let kept = std::mem::take(&mut running.kept);
        kept.iter().for_each(|message| running.observe(message));
        kept
    }

    /// Ends the running request.
    pub(super) fn end(&self, ending: Ending) {
        if let Some(mut running) = self.state().running.take() {
            running.eye.end(ending);
        }
    }

    fn busy(&self) -> String {
        let message = "This conversation is edited, so its socket carries one request at a time. The request was not \
                       sent. Send it again when the answer is complete.";
        self.socket.error(409, &LocalError { kind: "invalid_request_error", code: "not-composed", message })
    }

    /// Code under this lock cannot panic halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a request for its observer; if it is held, waits for its composition. `None`: it leaves unchanged.
async fn composed(mut eye: RequestTap) -> Result<Option<(OutgoingRequest, Pieces)>, Withheld> {
    if !eye.is_held() {
        eye.end(true);
        return Ok(None);
    }
    let (answer, composed) = oneshot::channel();
    eye.compose(Box::new(move |composition| drop(answer.send(composition))));
    let Composition { outgoing, source, .. } = composed.await.unwrap_or(Err(Withheld::Defect))?;
    Ok(outgoing.map(|outgoing| (outgoing, source)))
}

/// The headers of an answer whose messages are read as events.
fn events() -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))])
}
