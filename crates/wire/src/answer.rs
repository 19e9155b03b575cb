//! The facts that a wire extracts from one answer of the provider.

use std::collections::BTreeMap;

/// How the body ended, as the proxy saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The body came to its proper end.
    Complete,
    /// The provider broke off.
    Cut,
    /// The client disconnected.
    Cancelled,
}

/// One answer of the provider. Every field is optional, because answers omit fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub ending: Ending,
    /// The message is complete: `message_stop`, or a readable JSON body.
    pub whole_message: bool,
    pub message_id: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub stop_reason: Option<String>,
    /// Raw JSON.
    pub stop_details: Option<String>,
    pub applied_edits: Vec<AppliedEdit>,
    pub transformations: Vec<Transformation>,
    /// Signatures of thinking blocks and data of redacted ones, in the order of the blocks.
    pub signatures: Vec<String>,
    pub error: Option<ProviderError>,
    pub cache_miss_reason: Option<String>,
    /// The reply as the messages that a client sends back: one, or several items. Partial if the answer broke off; empty
    /// also if it was too large to keep.
    pub reply: Vec<Vec<u8>>,
    /// Bytes of the body as received, before decoding.
    pub bytes: u64,
    pub events: u64,
    /// Valid events, deltas and blocks that are unknown or out of place.
    pub unknown_events: u64,
    /// Events that are not a JSON object, or were too large to read.
    pub broken_events: u64,
    /// Why the body, or the rest of it, could not be read.
    pub undecodable: Option<String>,
}

/// Token counts. The prompt's total is `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens behind the last cache breakpoint.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_5m: Option<u64>,
    pub cache_write_1h: Option<u64>,
    pub output: u64,
    /// The part of `output` that was thinking.
    pub thinking: Option<u64>,
}

/// One context edit made by the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedEdit {
    pub kind: String,
    pub cleared_tool_uses: Option<u64>,
    pub cleared_thinking_turns: Option<u64>,
    pub cleared_input_tokens: Option<u64>,
}

/// One change that the provider made to the input, such as a dropped thinking block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transformation {
    pub kind: String,
    pub path: Option<String>,
    pub reason: Option<String>,
}

/// An error body, or an `error` event inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// `overloaded_error` and the like; `None` if the body was not the provider's error object.
    pub kind: Option<String>,
    pub message: String,
    /// `details.error_code`, more stable than the wording of the message.
    pub code: Option<String>,
    /// The path of the refused part, where it stands beside the message.
    pub param: Option<String>,
}

impl ProviderError {
    /// An error that is only a text.
    pub fn plain(message: String) -> ProviderError {
        ProviderError { kind: None, message, code: None, param: None }
    }
}

impl Answer {
    pub fn new(status: u16) -> Self {
        Self {
            status,
            ending: Ending::Complete,
            whole_message: false,
            message_id: None,
            model: None,
            usage: None,
            stop_reason: None,
            stop_details: None,
            applied_edits: Vec::new(),
            transformations: Vec::new(),
            signatures: Vec::new(),
            error: None,
            cache_miss_reason: None,
            reply: Vec::new(),
            bytes: 0,
            events: 0,
            unknown_events: 0,
            broken_events: 0,
            undecodable: None,
        }
    }
}

/// An event at the beginning of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstEvent {
    /// It only says that an answer will come.
    Announcement,
    /// The provider refuses the reasoning of the request.
    Unbound,
    Answer,
}

/// The reported length of each block: of its text, its thinking and its arguments.
#[derive(Debug, Default)]
pub struct Progress(pub(crate) BTreeMap<u64, [usize; 3]>);

/// An addition to a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    pub block: u64,
    /// `text`, `thinking` or `tool`.
    pub part: &'static str,
    pub tool: Option<String>,
    pub text: String,
}

/// Reads a passive copy of one answer. It never touches the forwarded bytes, and it cannot fail: it counts unknown
/// events and reports unreadable ones.
pub trait Tap: std::fmt::Debug + Send {
    /// Takes the next bytes of the body.
    fn feed(&mut self, bytes: &[u8]);

    /// The number of events so far: cheap to compare before calling [`Tap::grown`].
    fn events(&self) -> u64;

    /// The additions to the message since the last call with `told`.
    fn grown(&self, told: &mut Progress) -> Vec<Growth>;

    /// Returns all facts.
    fn finish(self: Box<Self>, ending: Ending) -> Answer;
}
