//! What a tap learns from one answer, and how it reads it out of the provider's objects.

use super::fields::{count, items, owned, pick, text};

/// How the body ended, as the proxy saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The body came to its proper end.
    Complete,
    /// The provider's side broke off.
    Cut,
    /// The client went away.
    Cancelled,
}

/// One answer of the provider. Everything is optional: an answer says what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub ending: Ending,
    /// The provider said that the message is all there: `message_stop`, or a readable JSON body.
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
    /// The assistant message as compact JSON, `{"role":"assistant","content":[…]}`; as far as it came
    /// when the answer broke off. `None` also when it was too large to keep.
    pub reply: Option<Vec<u8>>,
    /// Bytes of the body as they came, before decoding.
    pub bytes: u64,
    pub events: u64,
    /// Events, deltas and blocks that are valid but not known here, or that fit nowhere.
    pub unknown_events: u64,
    /// Events that are not a JSON object, or were too large to read.
    pub broken_events: u64,
    /// Why the body, or the rest of it, could not be read.
    pub undecodable: Option<String>,
}

/// Token counts. The prompt's total is `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens behind the last cache mark.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_5m: Option<u64>,
    pub cache_write_1h: Option<u64>,
    pub output: u64,
    /// The part of `output` that was thinking.
    pub thinking: Option<u64>,
}

/// One context edit that the provider made on its side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedEdit {
    pub kind: String,
    pub cleared_tool_uses: Option<u64>,
    pub cleared_thinking_turns: Option<u64>,
    pub cleared_input_tokens: Option<u64>,
}

/// One change that the provider made to the input, such as a thinking block that it dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transformation {
    pub kind: String,
    pub path: Option<String>,
    pub reason: Option<String>,
}

/// An error body, or an `error` event inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// `overloaded_error` and the like; `None` when the body was not the provider's error object.
    pub kind: Option<String>,
    pub message: String,
    /// `details.error_code`, steadier than the wording of the message.
    pub code: Option<String>,
}

impl Answer {
    pub(super) fn new(status: u16) -> Self {
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
            reply: None,
            bytes: 0,
            events: 0,
            unknown_events: 0,
            broken_events: 0,
            undecodable: None,
        }
    }

    /// Learns from a message object (`message_start`, or a whole JSON body), from a `message_delta`
    /// event or from the delta inside it: they share their fields, and what comes later wins.
    pub(super) fn learn(&mut self, object: &str) {
        let Some([id, model, usage, reason, details, management, transformations, diagnostics]) = pick(
            object,
            [
                "id",
                "model",
                "usage",
                "stop_reason",
                "stop_details",
                "context_management",
                "input_transformations",
                "diagnostics",
            ],
        ) else {
            return;
        };
        replace(&mut self.message_id, owned(id));
        replace(&mut self.model, owned(model));
        replace(&mut self.stop_reason, owned(reason));
        replace(&mut self.stop_details, details.map(str::to_owned));
        if let Some(usage) = usage {
            self.learn_usage(usage);
        }
        if let Some([Some(edits)]) = management.and_then(|management| pick(management, ["applied_edits"])) {
            self.applied_edits = items(edits).filter_map(AppliedEdit::read).collect();
        }
        if let Some(transformations) = transformations {
            self.transformations = items(transformations).filter_map(Transformation::read).collect();
        }
        if let Some([Some(reason)]) = diagnostics.and_then(|diagnostics| pick(diagnostics, ["cache_miss_reason"])) {
            // An object that names its kind; older answers gave the bare name.
            let kind = pick(reason, ["type"]).and_then(|[kind]| kind).unwrap_or(reason);
            replace(&mut self.cache_miss_reason, owned(Some(kind)));
        }
    }

    fn learn_usage(&mut self, object: &str) {
        let Some([input, read, write, split, output, details]) = pick(
            object,
            [
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
                "cache_creation",
                "output_tokens",
                "output_tokens_details",
            ],
        ) else {
            return;
        };
        let [short, long] = split
            .and_then(|split| pick(split, ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]))
            .unwrap_or_default();
        let [thinking] = details.and_then(|details| pick(details, ["thinking_tokens"])).unwrap_or_default();
        let counts = [input, read, write, short, long, output, thinking].map(|value| value.and_then(count));
        if counts.iter().all(Option::is_none) {
            return;
        }
        let [input, read, write, short, long, output, thinking] = counts;
        let usage = self.usage.get_or_insert_default();
        usage.input = input.unwrap_or(usage.input);
        usage.cache_read = read.unwrap_or(usage.cache_read);
        usage.cache_write = write.unwrap_or(usage.cache_write);
        usage.output = output.unwrap_or(usage.output);
        replace(&mut usage.cache_write_5m, short);
        replace(&mut usage.cache_write_1h, long);
        replace(&mut usage.thinking, thinking);
    }

    /// Learns from the value of an `error` member; false if there is nothing to learn from.
    pub(super) fn learn_error(&mut self, error: &str) -> bool {
        let read = match pick(error, ["type", "message", "details"]) {
            Some([kind, message, details]) => {
                let [code] = details.and_then(|details| pick(details, ["error_code"])).unwrap_or_default();
                ProviderError { kind: owned(kind), message: owned(message).unwrap_or_default(), code: owned(code) }
            }
            None => match text(error) {
                Some(message) => ProviderError { kind: None, message: message.into_owned(), code: None },
                None => return false,
            },
        };
        self.error = Some(read);
        true
    }
}

impl AppliedEdit {
    fn read(object: &str) -> Option<Self> {
        let [kind, tool_uses, turns, tokens] =
            pick(object, ["type", "cleared_tool_uses", "cleared_thinking_turns", "cleared_input_tokens"])?;
        Some(Self {
            kind: owned(kind).unwrap_or_default(),
            cleared_tool_uses: tool_uses.and_then(count),
            cleared_thinking_turns: turns.and_then(count),
            cleared_input_tokens: tokens.and_then(count),
        })
    }
}

impl Transformation {
    fn read(object: &str) -> Option<Self> {
        let [kind, path, reason] = pick(object, ["type", "path", "reason"])?;
        Some(Self { kind: owned(kind).unwrap_or_default(), path: owned(path), reason: owned(reason) })
    }
}

fn replace<T>(known: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *known = later;
    }
}
