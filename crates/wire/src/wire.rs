//! The seam: the interface to a provider's format.

use crate::answer::{Answer, FirstEvent, Tap, Usage};
use crate::body::{Body, Shape, Spans};
use crate::compose::{ComposedRequest, Input};
use crate::envelope::Envelope;
use crate::facts::{self, Reading};
use crate::folder;
use crate::json::Span;
pub use crate::local_error::LocalError;
use crate::provider_edits::ProviderEdits;
use crate::question::Questions;
use crate::recorded::{self, Opening};
use crate::refused::{Refused, RefusedPart};
use crate::socket::Socket;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::Draft;
use ctx_core::message::{Message, Role};
use ctx_core::{Key, Lexicon};
use ctx_models::cache::{Breakpoints, CacheRules};
use std::borrow::Cow;

/// The kind of a client's call, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Carries a conversation and asks for an answer.
    Generate,
    /// Carries a conversation, without a reply: counts tokens, or compacts a history.
    Count,
    /// Lists the models.
    Models,
}

/// The header that names the features of [`Insertion::beta`].
pub const BETA_HEADER: &str = "anthropic-beta";

/// An insertion into a body, and the feature that a header must name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    pub at: usize,
    pub bytes: Vec<u8>,
    pub beta: &'static str,
}

/// A provider's request and answer format. It has no state and never fails on live traffic: a body that cannot be
/// parsed is [`crate::body::Unreadable`] and is forwarded as it came. Features of only some formats, such as cache
/// breakpoints, pauses or bound reasoning, are absent by default.
pub trait Wire: Draft + std::fmt::Debug + Send + Sync + 'static {
    fn id(&self) -> WireId;

    /// The kind of a call, by its path; `None` if this wire does not know it.
    fn route(&self, method: &str, path: &str) -> Option<Call>;

    /// The model named in the address of a call, if the body does not name it.
    fn model<'p>(&self, _: &'p str) -> Option<&'p str> {
        None
    }

    // Incoming requests.

    /// The position of the history in a body.
    fn shape(&self) -> &'static Shape;

    /// Parses everything but the history.
    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope;

    /// The client's working directory, if stated in the history before the model's first words.
    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String> {
        let role = |message: &[u8]| self.glance(message).0;
        folder::told(bytes, &folder::opening(bytes, &spans.lead, &spans.messages, &role), lexicon)
    }

    /// Parses one message, without its neighbours. Anything else than a message gets the role `Other`.
    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading;

    /// The role of a message, and whether it has a cache breakpoint, without parsing the content.
    fn glance(&self, message: &[u8]) -> (Role, bool);

    /// The cache breakpoints of a request.
    fn breakpoints(&self, _: &Body, _: &Envelope) -> Breakpoints {
        Breakpoints::default()
    }

    /// Whether the tools or the system prompt have a breakpoint.
    fn marks_envelope(&self, _: &Body, _: &Envelope) -> bool {
        false
    }

    /// Whether the provider sets no cache breakpoint beside those of the request.
    fn is_cache_explicit(&self, _: &Body) -> bool {
        false
    }

    /// The lifetime in seconds of a request's last breakpoint; none without a breakpoint.
    fn cache_lifetime(&self, _: &[u8], _: &Spans) -> Option<u64> {
        None
    }

    /// The lifetime of the cache in seconds that a request asks for, whatever its breakpoints. Answers do not report it.
    fn asked_lifetime(&self, _: &[u8], _: &Spans) -> Option<u64> {
        None
    }

    /// The cache rules for an unknown model.
    fn cache_rules(&self) -> CacheRules;

    /// How a client sends the whole history with every request, where the provider may keep it instead.
    fn whole_history(&self) -> &'static str {
        "in every request"
    }

    /// The credentials in a body: never stored.
    fn secrets(&self, _: &[u8], _: &Spans) -> Vec<Span> {
        Vec::new()
    }

    // Content for people.

    /// The content of a message for people and policies: one content per block of [`Wire::read`], in the same order.
    /// Cache breakpoints and members without a neutral form are skipped, so it is never sent. A block without a neutral
    /// form is [`Content::Raw`].
    fn contents(&self, message: &[u8]) -> Vec<Content>;

    /// The content of a block as an edit writes it: everything but its cache breakpoint. A block with members unknown
    /// to other wires stays raw. `None` if it is not JSON.
    fn content(&self, block: &str) -> Option<Content>;

    /// The value of a result block, as the client wrote it.
    fn result<'b>(&self, block: &'b [u8]) -> &'b [u8];

    /// The readable text of a system block, or of a tool definition.
    fn described(&self, piece: &str) -> Option<String>;

    /// The type of raw JSON of this wire.
    fn type_name(&self, json: &str) -> Option<String>;

    /// The JSON of a block.
    fn write<'c>(&self, content: &'c Content) -> Cow<'c, str>;

    /// Content as one message of this wire, for [`Wire::read`].
    fn written(&self, content: &[Content]) -> Vec<u8>;

    /// Content for another place of a request: with new ids derived from `salt`, and without a cache breakpoint.
    fn copied(&self, content: Content, salt: &str) -> Content;

    /// A tool call with another input, the text of an object.
    fn with_input(&self, call: &str, input: &str) -> Content;

    /// The text of raw JSON of this wire, or the tool that it calls.
    fn title(&self, block: &str) -> Option<String>;

    /// Whether it contains an image or a document.
    fn is_pictured(&self, content: &Content) -> bool;

    // Outgoing requests.

    /// Composes a request. Total: the provider accepts the result for any view, provided that it accepts the client's
    /// request. The same input gives the same bytes.
    fn compose(&self, input: &Input<'_>, view: &View<'_>) -> ComposedRequest;

    /// Composes a request from the settled part of an earlier one; `None` if the whole request must be composed. The
    /// result equals that of [`Wire::compose`].
    fn go_on<'v>(&self, _: &'v Input<'v>, _: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        None
    }

    /// The tools that may be deferred until the provider's tool search finds them, by index: the client itself defers
    /// others, so provider and model know how.
    fn deferrable(&self, _: &Body, _: &Envelope) -> Vec<usize> {
        Vec::new()
    }

    /// The definition that defers the client's tool with this name; `None` if the provider has no tool search.
    fn deferred(&self, _: &str) -> Option<serde_json::Value> {
        None
    }

    /// Whether an answer was paused and is sent back to be continued.
    fn is_paused(&self, _: &Message) -> bool {
        false
    }

    /// The edits that the provider makes itself on request.
    fn provider_edits(&self) -> Option<&'static dyn ProviderEdits> {
        None
    }

    /// The format of questions outside any conversation, if it has one.
    fn questions(&self) -> Option<&'static dyn Questions> {
        None
    }

    /// Whether reasoning is bound to everything before it: behind a change it is not sent back.
    fn binds_reasoning(&self) -> bool {
        false
    }

    /// Asks the provider to drop reasoning that is no longer bound to its prefix, instead of refusing the request.
    /// `None` if the request does not reason, or already has the setting.
    fn drop_unbound(&self, _: &Body) -> Option<Insertion> {
        None
    }

    // Answers.

    /// The part of a request, as sent, that a refusal names.
    fn refused(&self, sent: &Body, refused: &Refused<'_>) -> Option<RefusedPart> {
        refused.by_path(sent)
    }

    /// The body of a proxy error in the provider's format, so that every client can read it.
    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String;

    /// The same for a call of this path, with its query.
    fn error_for(&self, _target: &str, status: u16, error: &LocalError<'_>) -> String {
        self.error_body(status, error)
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap>;

    /// The use of a WebSocket, if the provider offers one.
    fn socket(&self) -> Option<&dyn Socket> {
        None
    }

    /// The stored form of a reasoning signature.
    fn signature(&self, text: &str) -> Key {
        facts::signature(text)
    }

    /// Whether the provider refused a request because it has no search for deferred tools.
    fn refuses_deferred(&self, _status: u16, _message: &str) -> bool {
        false
    }

    /// Whether the provider refused a request because its reasoning is bound to another prefix.
    fn is_unbound(&self, _: u16, _: &[u8]) -> bool {
        false
    }

    /// The meaning of an event at the beginning of a stream. A refusal may come after announcements, in an answer with
    /// status 200.
    fn first_event(&self, _: &str) -> FirstEvent {
        FirstEvent::Answer
    }

    /// Whether a part of a request contains sealed reasoning, which the provider may refuse in a stream.
    fn has_sealed(&self, _: &[u8]) -> bool {
        false
    }

    /// The body to send once more, without reasoning, when [`Wire::is_unbound`] holds and the provider cannot drop
    /// reasoning itself. `body` is the request as sent. `None` if it contains no reasoning, or if that never helps.
    fn without_reasoning(&self, _: &Body) -> Option<Vec<u8>> {
        None
    }
    // Recordings.

    /// A request of a recording up to its first message.
    fn opening(&self, opening: &Opening<'_>) -> String {
        opening.text(&opening.members(), self.shape().list, opening.lead)
    }

    /// A recorded message as a client sends it, without cache marks.
    fn replayed(&self, message: &str) -> String {
        message.to_owned()
    }

    /// The same with a cache breakpoint at its end, on wires that have breakpoints.
    fn marked(&self, message: &str, _: u64) -> String {
        message.to_owned()
    }

    /// Whether an answer may be several messages.
    fn answers_in_items(&self) -> bool {
        false
    }

    /// An answer that was recorded as these messages.
    fn recorded_answer(&self, messages: &[&str], model: &str, usage: Usage) -> Answer {
        recorded::answer(messages, model, usage)
    }
}
