//! The state of a conversation, by what it is about.

use super::Cached;
use crate::automatic::{Noted, TextIndex};
use crate::cache_forecast::CacheForecast;
use crate::continuity::Continuity;
use crate::edit::{Chain, Sent};
use crate::log::Summary;
use crate::provider::Asks;
use crate::sent_parts::SentParts;
use ctx_core::edit::CommitId;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::policy::Phases;
use ctx_core::{Key, NodeIx, SlotId};
use ctx_store::Hash;
use ctx_wire::body::Body;
use ctx_wire::compose::Memo;
use ctx_wire::envelope::Envelope;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The newest body that carried the history, for comparing.
#[derive(Debug, Default)]
pub struct LastBody {
    /// The newest body that carried the history, for comparing.
    pub body: Option<Body>,
    /// Leading messages of `body` that have the bytes of the current path.
    pub aligned: usize,
    /// The envelope of `body`, and where it is stored if it is.
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
}

/// How far the conversation has come.
#[derive(Debug, Default)]
pub struct Progress {
    pub requests: u32,
    pub turns: u32,
    /// The number of the newest request that was a turn.
    pub last_turn: u32,
    /// The newest commit when the newest turn came.
    pub asked: Option<CommitId>,
    /// The same of the turn whose answer the provider paused, while that answer is being continued.
    pub paused: Option<Option<CommitId>>,
    pub last_activity: u64,
    /// When the newest request came, whatever it was.
    pub heard: u64,
    /// The newest turn was answered to the end.
    pub answered: bool,
    /// The provider keeps the history since the newest turn: requests carry only what is new, and pass untouched.
    pub elsewhere: bool,
}

/// What is known of the provider's cache.
#[derive(Debug, Default)]
pub struct CacheState {
    pub answer: Option<Cached>,
    /// What the settings say of how long the provider's cache lives, in seconds.
    pub kept_for: Option<u64>,
    /// Digests at which the provider's cache was written lately, the newest last.
    pub written: VecDeque<Key>,
    /// Where the newest requests ended, the newest last: there too the cache was written.
    pub ends: VecDeque<NodeIx>,
    /// Those of them whose requests did not leave as they came.
    pub rewritten: VecDeque<NodeIx>,
    /// What the provider's cache should hold.
    pub forecast: CacheForecast,
}

/// What the reasoning in the conversation is bound to.
#[derive(Debug, Default)]
pub struct ReasoningState {
    /// What each thinking signature is bound to: the digest of the prompt it was produced after.
    pub bound: FastMap<Key, Key>,
    /// Thinking that we only know from the client: from before the first operation, bound to what the client sent,
    /// or from an answer that was lost under operations, bound to nobody knows what.
    pub own: FastSet<Key>,
    pub lost: FastSet<Key>,
    /// A request left otherwise than it came: what was thought after it is bound to what the client never sent,
    /// whatever becomes of the operations.
    pub strayed: bool,
    /// The thinking that could not be sent with the newest answered request, see [`Sent::left_out`].
    pub left_out: LeftOut,
    pub dropped: (usize, Option<CommitId>),
    /// The provider is asked to drop thinking that does not fit, see [`crate::log::RECOVERY`].
    pub is_dropped_by_provider: bool,
}

/// What the provider edits by itself.
#[derive(Debug, Default)]
pub struct ProviderState {
    /// Tokens of results that the provider itself left out of the newest turn.
    pub cleared: u64,
    /// Requests under way that ask something of the provider, by number.
    pub asks: HashMap<u32, Asks>,
    /// Summaries that the provider wrote, the newest last.
    pub summaries: Vec<Summary>,
    /// Messages that the newest of them stands for, as of the newest answer.
    pub before_summary: usize,
    /// Tokens of these.
    pub summed_up: u64,
}

/// What the automatic editor knows and does.
#[derive(Debug, Default)]
pub struct PolicyState {
    /// What is worth removing, as it was last worked out.
    pub worth: Option<Box<crate::view::Remembered>>,
    /// Phases of the work, see [`crate::phases`].
    pub phases: Phases,
    /// The automatic editor looks at it; what it would have done; and it has told that the limit is near.
    pub automated: bool,
    pub noted: Noted,
    pub near_limit: bool,
    /// What the automatic editor knows of its words.
    pub text_index: TextIndex,
    /// The message that it will change next, by the looks of it.
    pub next: Option<SlotId>,
}

/// What composing knows of requests before.
#[derive(Debug, Default)]
pub struct ComposeState {
    /// The digests of the current path, see [`crate::edit::ground`].
    pub chain: Chain,
    /// What composing knows of the leading messages of the path.
    pub memo: Memo,
    pub continuity: Continuity,
    /// How the newest request that did not leave as it came left.
    pub parts: SentParts,
    /// The estimate of the newest composed request, while the operations are those it was composed with.
    pub weight: Option<f64>,
    /// Requests under way that were composed, by number.
    pub sent: HashMap<u32, Sent>,
}

/// How the conversation stands to its log.
#[derive(Debug, Default)]
pub struct LogState {
    /// What the service's directory said of losses when it came into memory. If it says more now, something
    /// that this one holds is not in the log.
    pub losses: u64,
    /// The log says who this is.
    pub introduced: bool,
    /// Records that could not be read.
    pub skipped: u64,
    /// Edits were lost with skipped records, and no commit since then takes that into account. Its requests do not
    /// leave: they would leave without those edits.
    pub lost_edits: bool,
    /// Something was skipped since the last turn that says all by itself.
    pub broken: bool,
}
