//! The stored records. Each has a kind and a version; old ones stay readable forever.
//!
//! A record contains decisions, so a replay decides nothing again and yields the same tree. Blobs are named by their
//! index in the record's uses.

mod one_or_many;
pub mod v1;

use ctx_api::edit::When;
use ctx_api::requests::{AnswerError, MOST_TOKENS, Usage};
use ctx_api::timeline::{ProviderEdit, SignalView};
use ctx_api::waiting::DeferralFailure;
use ctx_core::edit::history::How;
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::message::{Anchor, Message};
use ctx_core::policy::Moment;
use ctx_core::{Class, Key, SlotId};
use ctx_store::Record;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use ctx_wire::{Wire, WireId};
use serde::{Deserialize, Serialize};

pub const OPENED: &str = "opened";
pub const ARRIVED: &str = "arrived";
pub const ANSWERED: &str = "answered";
/// An entry of the editing history: [`ctx_core::edit::Commit`].
pub const COMMIT: &str = "commit";
/// A created or deleted branch or tag, or a checkout: [`ctx_api::timeline::Line`].
pub const LINE: &str = "line";
/// The provider refused thinking considered valid: from now on it is asked to drop such blocks.
pub const RECOVERY: &str = "recovery";
/// A pending change, or its outcome: [`Wait`].
pub const WAIT: &str = "wait";
/// A note by or for the automatic editor: [`Automatic`].
pub const AUTOMATIC: &str = "automatic";
/// The provider rejected additional edits: [`RefusedEdits`].
pub const REFUSED: &str = "refused";
/// A record of one of these kinds means that a conversation is or will be edited.
pub const EDITS: [&str; 3] = [COMMIT, RECOVERY, WAIT];

pub const KINDS: [&str; 9] = [OPENED, ARRIVED, ANSWERED, COMMIT, LINE, RECOVERY, WAIT, AUTOMATIC, REFUSED];
/// The class of side traffic.
pub const SIDE: &str = "side";
/// The version that this program writes.
pub const VERSION: u16 = 2;

/// Whether this program can read a version. Version 1 stored the content of edits as JSON of the Anthropic wire;
/// otherwise both are the same.
pub fn is_readable(version: u16) -> bool {
    (1..=VERSION).contains(&version)
}

pub fn commit(record: &Record) -> Option<Commit> {
    match record.version {
        1 => v1::commit(&record.body),
        _ => serde_json::from_slice(&record.body).ok(),
    }
}

/// The first record of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpeningRecord {
    /// The client's format; records of version 1 have only one.
    #[serde(default = "anthropic")]
    pub wire: WireId,
    pub class: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The title of the parent, if the fork begins with a summary of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

fn anthropic() -> WireId {
    WireId::Anthropic
}

impl OpeningRecord {
    /// Stands in for a lost record.
    pub fn unknown() -> OpeningRecord {
        OpeningRecord {
            wire: anthropic(),
            class: "main".into(),
            session: None,
            agent: None,
            client: None,
            parent: None,
            forked_from: None,
            title: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ArrivalRecord {
    /// The number of the request in its conversation, counted from 1.
    pub request: u32,
    pub class: String,
    pub verdict: String,
    pub known: u32,
    pub new: u32,
    pub changed: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// It carries only new messages: the provider keeps the history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// It continues the newest answer: its messages follow the pending ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thread: bool,
    /// It was changed on its way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub composed: bool,
    /// Tokens that the provider should read from its cache; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<u64>,
    /// Where it writes the provider's cache: the digests of the prefixes, longest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Key>,
    /// The lifetime of the provider's cache in seconds, unless answers report it. Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<u64>,
    /// The settings for thinking and tool choice, if not the default: the cache of messages depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<Key>,
    /// The first difference from the client's previous request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
    /// The edits asked of the provider in addition to the client's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// The message that the automatic editor will probably change next: a breakpoint precedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<SlotId>,
    /// Commits made on its arrival, which apply to it: their records follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<CommitId>,
    /// The id of the first message that they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// The body as sent, if changed. Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentBody>,
    /// Its additions to the conversation; none for side traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
}

impl ArrivalRecord {
    /// A request without further facts. `(known, new)`: the numbers of its messages.
    pub fn of(
        request: u32,
        class: Class,
        verdict: &str,
        body: &Body,
        envelope: &Envelope,
        (known, new): (usize, usize),
    ) -> ArrivalRecord {
        ArrivalRecord {
            request,
            class: class.name().into(),
            verdict: verdict.into(),
            known: known as u32,
            new: new as u32,
            model: envelope.model.as_deref().map(str::to_owned),
            bytes: body.bytes().len() as u64,
            elsewhere: envelope.threaded,
            ..ArrivalRecord::default()
        }
    }
}

/// The body as sent: ranges of the client's body, and the insertions between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBody {
    /// Of all its bytes.
    #[serde(default)]
    pub checksum: u32,
    /// The number of leading parts shared with the newest earlier request with recorded parts: an edited conversation
    /// grows at its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub as_before: u32,
    /// The parts behind those.
    pub parts: Vec<SentPart>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SentPart {
    /// A range of the client's body; the end is excluded.
    Source(u64, u64),
    Text(String),
    /// A longer text: its index in the record's uses.
    Blob {
        blob: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// The id of a message or a block.
    pub place: String,
    /// Its description.
    pub what: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The node at the end of the known prefix.
    pub base: Option<u32>,
    /// The number of nodes in the tree before: reveals a lost earlier record.
    pub nodes: u32,
    /// The slots behind it.
    pub slots: Vec<u64>,
    /// Versions of slots that were not seen before.
    pub versions: Vec<Version>,
    /// The envelope: its index in the record's uses.
    pub envelope: u32,
    /// The bytes between messages, if they are not commas: one text for all, or one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Vec<String>>,
    /// Whether this is the current path.
    pub current: bool,
    /// The slots of a reply that the client has summarised without sending it back: the end of the path it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "one_or_many")]
    pub reply: Vec<u64>,
    /// The turn is self-contained and discards the earlier state: recovers from an unreadable record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// The prompts that the thinking inherited by a fork is bound to; `None` if no longer known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<(Key, Option<Key>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub slot: u64,
    /// The bare message: its index in the record's uses.
    pub blob: u32,
    /// The insertions that restore the exact bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dress: Vec<(u32, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    pub request: u32,
    /// 0 if there was no answer.
    pub status: u16,
    pub ending: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "believable")]
    pub usage: Option<Usage>,
    /// The lifetime of the cache in seconds that the request asked for, if answers do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_lifetime: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AnswerError>,
    /// The path of the refused part, where it stands beside the error's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_edits: Vec<ProviderEdit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transformations: Vec<serde_json::Value>,
    /// Keys of its thinking signatures, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
    /// The prompt that its thinking is bound to: the digest of the prompt as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Key>,
    /// The digests at which an edited request wrote the provider's cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Key>,
    /// The repairs of an edited request: rule and description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_miss_reason: Option<String>,
    /// The sizes as sent and as the client sent it, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<WeightEstimates>,
    /// The estimate of the sent request, before calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecodable: Option<String>,
    /// The model named in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider summarised the earlier messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// A summary by the provider replaced a part of the request, so its count was lower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summarised: bool,
}

/// A summary that has to be sent back at the beginning of the message that it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The block in the provider's spelling.
    pub block: String,
    /// The number of messages before that message.
    pub messages: u32,
    /// The key that identifies that message.
    pub key: Key,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Key>,
}

/// Edits that the provider rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEdits {
    pub request: u32,
    pub model: String,
    /// The `type` of each.
    pub edits: Vec<String>,
    /// The provider's message.
    pub words: String,
}

/// Estimates, before calibration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WeightEstimates {
    pub sent: f64,
    pub own: f64,
}

impl Summary {
    /// From a reply to a request of this many messages.
    pub fn of(wire: &dyn Wire, reply: &[u8], messages: usize) -> Option<Summary> {
        let edits = wire.provider_edits()?;
        let block = String::from_utf8(edits.summary(reply)?.to_vec()).ok()?;
        let facts = wire.read(&edits.without_summary(reply), ctx_clients::lexicon()).facts;
        let anchors = facts.anchors.iter().map(|(Anchor::Id(key) | Anchor::Text(key))| *key).collect();
        Some(Summary { block, messages: u32::try_from(messages).ok()?, key: facts.key, anchors })
    }

    /// Whether it came with this message.
    pub fn is_of(&self, message: &Message) -> bool {
        let mut anchors = message.anchors.iter().map(|(Anchor::Id(key) | Anchor::Text(key))| key);
        self.key == message.key || anchors.any(|anchor| self.anchors.contains(anchor))
    }
}

impl AnswerRecord {
    /// The counted tokens, with the lifetimes of the written ones.
    pub fn counted(&self) -> Option<ctx_models::Usage> {
        Some(self.usage?.counted(self.asked_lifetime))
    }

    /// The lifetime of the end of the written prefix, in seconds.
    pub fn ttl(&self) -> Option<u64> {
        self.counted()?.lifetime()
    }

    /// Whether the provider cleared anything.
    pub fn clears(&self) -> bool {
        let counts =
            |edit: &ProviderEdit| [edit.cleared_tool_uses, edit.cleared_thinking_turns, edit.cleared_input_tokens];
        self.applied_edits.iter().flat_map(counts).flatten().any(|count| count > 0)
    }

    /// Tokens that the provider itself cleared.
    pub fn cleared(&self) -> u64 {
        sum(self.applied_edits.iter())
    }

    /// Those of them in tool results.
    pub fn cleared_results(&self) -> u64 {
        let results = self.applied_edits.iter().filter(|edit| edit.cleared_tool_uses > Some(0));
        sum(results)
    }
}

fn sum<'a>(edits: impl Iterator<Item = &'a ProviderEdit>) -> u64 {
    edits.filter_map(|edit| edit.cleared_input_tokens).filter(|tokens| *tokens <= MOST_TOKENS).sum()
}

/// An implausible usage counts as unknown, even in logs written before this check existed.
fn believable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
    Ok(Option::<Usage>::deserialize(deserializer)?.filter(Usage::is_believable))
}

/// A pending change, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    #[serde(rename = "wished")]
    Deferred(Box<DeferredEdit>),
    /// Its commit precedes this record. `request`: the one whose arrival was the moment, and to which it applies.
    Made {
        id: String,
        commit: CommitId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u32>,
    },
    /// It no longer fitted.
    Failed {
        id: String,
        why: DeferralFailure,
    },
    Cancelled {
        id: String,
        author: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Automatic {
    PhaseBegan {
        name: String,
        moment: Moment,
        author: String,
    },
    PhaseEnded {
        name: String,
        moment: Moment,
        author: String,
    },
    /// Results of these calls, and these blocks of thinking, stay: a fork inherits those that a user restored or
    /// declined to clear.
    Kept {
        calls: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thinking: Vec<(SlotId, usize)>,
    },
    /// Edits that would have been made in another mode.
    Noted {
        request: u32,
        /// The calls whose results would have been cleared.
        calls: Vec<String>,
        /// The tokens that would have been trimmed from results before they were sent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        trimmed: Vec<TrimmedResult>,
        /// The calls whose inputs would have been shortened.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<String>,
        /// The tools that would have been deferred.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<String>,
        summary: String,
        note: String,
        tokens_before: u64,
        tokens_after: u64,
    },
    Signal(SignalView),
    /// A helper model wrote for the editor: its price is in the account.
    Helped(HelperUse),
    Summary(PhaseSummary),
    /// The conversation was shared, or opened by someone other than its owner.
    Access(ctx_api::timeline::AccessView),
}

/// The summary of an ended phase: it waits for the account, or does so no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSummary {
    pub phase: String,
    /// When the phase ended: its name may occur again.
    pub ended: u64,
    /// The tokens that the account did not allow. `None`: it waits no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<HelperUse>,
}

impl PhaseSummary {
    /// Whether both are of the same phase.
    pub fn is_of(&self, other: &PhaseSummary) -> bool {
        self.phase == other.phase && self.ended == other.ended
    }
}

/// Tokens of a helper model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HelperUse {
    pub model: String,
    pub input: u64,
    pub output: u64,
}

/// The tokens that would have been trimmed from a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrimmedResult {
    pub call: String,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeferredEdit {
    /// `w1` is the first of its conversation.
    pub id: String,
    pub when: When,
    /// The branch that it was made for.
    pub branch: String,
    pub operations: Vec<Operation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Option<String>>,
    pub author: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The messages that it named: if one of them leaves the path, its ids mean something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u64>,
    /// Its ids are numbers that no other frame gets. Older records counted the frames of the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered: bool,
    /// Its summary at the time of the request.
    pub summary: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Commits to deactivate; there are no operations then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Reverts>,
}

/// A deferred revert, undo, redo or rollback, as resolved when it was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverts {
    pub commits: Vec<CommitId>,
    pub how: How,
    /// Includes the commits that depend on them by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascade: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_beyond_sense_is_unknown_in_old_logs_too() {
        let read = |input: u64| {
            let usage = format!(r#"{{"input":{input},"cache_read":2,"cache_write":3,"output":4}}"#);
            let line = format!(r#"{{"request":1,"status":200,"ending":"complete","total_ms":9,"usage":{usage}}}"#);
            serde_json::from_str::<AnswerRecord>(&line).expect("an answer").usage
        };
        assert_eq!(read(1).map(|usage| usage.prompt()), Some(6));
        assert_eq!(read(u64::MAX), None);
        let none = r#"{"request":1,"status":200,"ending":"complete","total_ms":9}"#;
        assert_eq!(serde_json::from_str::<AnswerRecord>(none).expect("an answer").usage, None);
    }

    /// Figures that people are shown come from it; a restart must not change them by one.
    #[test]
    fn an_estimate_comes_out_of_the_log_to_the_bit() {
        let plain = r#"{"request":1,"status":200,"ending":"complete","total_ms":9}"#;
        let plain: AnswerRecord = serde_json::from_str(plain).expect("an answer");
        let mut bits = 1_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let estimate = (bits >> 11) as f64 / (1_u64 << 36) as f64;
            let answered = AnswerRecord { estimated: Some(estimate), ..plain.clone() };
            let line = serde_json::to_vec(&answered).expect("it is written");
            let read: AnswerRecord = serde_json::from_slice(&line).expect("it is read");
            assert_eq!(read.estimated.map(f64::to_bits), Some(estimate.to_bits()), "{estimate}");
        }
    }
}
