//! The seam: everything the rest of the program asks of a provider's format.

use crate::answer::{Answer, Tap, Usage};
use crate::body::{Body, Shape, Spans};
use crate::compose::{Composed, Input};
use crate::envelope::Envelope;
use crate::json::Span;
use crate::recorded::{self, Opening};
use ctx_core::content::{Content, WireId};
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::Draft;
use ctx_core::message::{Message, Role};
use ctx_core::{Key, Lexicon};
use ctx_models::cache::{Breakpoints, CacheRules};
use std::borrow::Cow;

/// A call of a client's that a wire knows by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// It carries a conversation and asks for an answer.
    Generate,
    /// It carries a conversation, and its answer is no reply: a count of tokens, or a compacted history.
    Count,
    /// It asks which models there are.
    Models,
}

/// A message read from its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub facts: Message,
    /// What to cut to get the bare message: cache marks, and the list around a single text.
    pub cuts: Vec<Span>,
    /// Whether any block carries a cache mark.
    pub marked: bool,
}

/// What to put into a body, and where, and the feature that has to be named in a header for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    pub at: usize,
    pub bytes: Vec<u8>,
    pub beta: &'static str,
}

/// An error that the proxy answers itself.
#[derive(Debug, Clone, Copy)]
pub struct LocalError<'e> {
    /// Its kind in Anthropic's words, which say more than the others'.
    pub kind: &'static str,
    pub code: &'static str,
    pub message: &'e str,
}

/// A provider's request and answer format. It has no state and never fails where traffic flows: a body that cannot be
/// taken apart is [`crate::body::Unreadable`] and is forwarded as it came. What only some formats have, such as cache
/// marks, pauses or bound reasoning, is absent unless a wire says otherwise.
pub trait Wire: Draft + std::fmt::Debug + Send + Sync + 'static {
    fn id(&self) -> WireId;

    /// Tells what a client asks for by the path, or that this wire does not know it.
    fn route(&self, method: &str, path: &str) -> Option<Call>;

    /// The model that the address of a call names, where the body does not.
    fn model<'p>(&self, _: &'p str) -> Option<&'p str> {
        None
    }

    // A request comes.

    /// Where the history stands in a body.
    fn shape(&self) -> &'static Shape;

    /// Reads all that is not the history.
    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope;

    /// The folder that the client says it works in.
    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String>;

    /// Reads one message, without its neighbours. Anything else than a message is carried as one of role `Other`.
    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading;

    /// The role of a message and whether it carries a cache mark, without reading what it says.
    fn glance(&self, message: &[u8]) -> (Role, bool);

    /// Where a request marks what shall be cached.
    fn breakpoints(&self, _: &Body, _: &Envelope) -> Breakpoints {
        Breakpoints::default()
    }

    /// Whether the tools or the system prompt are marked. Nothing else is looked at.
    fn marks_envelope(&self, _: &Body, _: &Envelope) -> bool {
        false
    }

    /// Seconds that the last mark of a request asks for; none where nothing is marked.
    fn cache_lifetime(&self, _: &[u8]) -> Option<u64> {
        None
    }

    /// The rules of the cache for a model of which nothing is known.
    fn cache_rules(&self) -> CacheRules;

    /// How a client sends the whole history with every request, where the provider may keep it instead.
    fn whole_history(&self) -> &'static str {
        "in every request"
    }

    /// The credentials in a body: values that are never stored.
    fn secrets(&self, _: &[u8], _: &Spans) -> Vec<Span> {
        Vec::new()
    }

    // People read and write.

    /// What people and policies read of a message: one content for each block of [`Wire::read`], in the same order.
    /// Cache marks and members that have no neutral form are passed over, so it is never sent. A block that has no neutral
    /// form at all is [`Content::Raw`].
    fn contents(&self, message: &[u8]) -> Vec<Content>;

    /// The content of a block as an edit writes it: all of it but its cache mark. A block with members that no other wire
    /// knows stays as it is. `None`: it is no JSON.
    fn content(&self, block: &str) -> Option<Content>;

    /// What a block with a result holds, as the client wrote it.
    fn result<'b>(&self, block: &'b [u8]) -> &'b [u8];

    /// What people read of a system block, or of the definition of a tool.
    fn described(&self, piece: &str) -> Option<String>;

    /// The type that raw JSON of this wire names.
    fn type_name(&self, json: &str) -> Option<String>;

    /// The JSON of a block.
    fn write<'c>(&self, content: &'c Content) -> Cow<'c, str>;

    /// Content as one message of this wire, for [`Wire::read`].
    fn written(&self, content: &[Content]) -> Vec<u8>;

    /// Content for another place of a request: under new ids, which `salt` decides, and without a cache mark.
    fn copied(&self, content: Content, salt: &str) -> Content;

    /// A block with a tool call, with another input, which is the text of an object.
    fn with_input(&self, call: &str, input: &str) -> Content;

    /// What raw JSON of this wire says, or the tool that it calls.
    fn title(&self, block: &str) -> Option<String>;

    /// Whether the model is shown an image or a document.
    fn is_pictured(&self, content: &Content) -> bool;

    // A request leaves.

    /// Composes a request. Total: whatever the view is, the provider accepts the result, provided that it accepts what
    /// the client sent. The same input gives the same bytes.
    fn compose(&self, input: &Input<'_>, view: &View<'_>) -> Composed;

    /// Composes a request from what an earlier one settled; `None` when all of it has to be composed. The result is that
    /// of [`Wire::compose`].
    fn go_on(&self, _: &Input<'_>) -> Option<Composed> {
        None
    }

    /// Whether an answer was paused, and goes back to be continued.
    fn is_paused(&self, _: &Message) -> bool {
        false
    }

    /// Whether the provider clears or compacts a context itself, if a request asks for it.
    fn edits_context(&self) -> bool {
        false
    }

    /// Asks the provider to drop reasoning that is no longer bound to what stands before it, instead of refusing the
    /// request. `None` when the request does not reason, or says already what to do.
    fn drop_unbound(&self, _: &Body) -> Option<Insertion> {
        None
    }

    // An answer comes.

    /// The body of an error that is ours, in the provider's shape, so that every client knows how to read it.
    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String;

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap>;

    /// What is remembered of a signature of reasoning.
    fn signature(&self, text: &str) -> Key {
        crate::facts::signature(text)
    }

    /// Whether the provider refused a request because reasoning in it is bound to something else.
    fn is_unbound(&self, _: u16, _: &[u8]) -> bool {
        false
    }

    /// The body to send once more when [`Wire::is_unbound`] holds and the provider cannot be asked to drop reasoning
    /// itself: without any. `body` is the request as it was sent. `None` when nothing in it reasons, or never helps.
    fn without_reasoning(&self, _: &Body) -> Option<Vec<u8>> {
        None
    }
    // A recording is played again.

    /// A request of a recording up to its first message.
    fn opening(&self, opening: &Opening<'_>) -> String {
        opening.text(&opening.members(), self.shape().list, opening.lead)
    }

    /// A recorded message as a client sends it, without cache marks.
    fn replayed(&self, message: &str) -> String {
        message.to_owned()
    }

    /// The same with a cache mark at its end, on wires that have marks.
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
