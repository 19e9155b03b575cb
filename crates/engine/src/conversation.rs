//! One conversation in memory: its tree of slots, their versions, and the last body seen.
//!
//! Everything here is either replayed from the log or derived from it; dropping a conversation
//! from memory loses nothing.

pub mod replay;
pub mod state;

pub use state::{CacheState, ComposeState, LastBody, LogState, PolicyState, Progress, ProviderState, ReasoningState};

use crate::automatic::AUTHOR;
use crate::edit::wait::Waiting;
use crate::helper::titles::Titles;
use crate::left::LeftPath;
use crate::log::{Answered, Opened, Turn};
use crate::side_traffic::Sides;
use ctx_api::requests::Usage;
use ctx_api::timeline::Line;
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId, History};
use ctx_core::fast_map::FastMap;
use ctx_core::message::{Message, Role};
use ctx_core::tokens::{self, Calibration};
use ctx_core::{Key, Numbers, SlotId, Tree};
use ctx_store::Hash;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::Dress;
use ctx_wire::envelope::Envelope;
use std::sync::Arc;

/// How many summaries of the provider's are remembered: after a rewind an older one is the newest.
const SUMMARIES: usize = 8;

/// The folder of a client is looked for in so many turns: it is named at the beginning.
pub const FOLDER_TURNS: u32 = 3;

/// How many ends of requests are remembered.
const ENDS: usize = 64;

/// The newest version of a slot: a bare message and what it wears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worn {
    pub blob: Hash,
    pub dress: Dress,
}

/// A reply that the client has not sent back yet.
#[derive(Debug, Clone)]
pub struct Pending {
    pub bytes: Vec<u8>,
    pub facts: Message,
}

impl Pending {
    pub fn new(wire: &dyn Wire, bytes: Vec<u8>) -> Pending {
        let facts = wire.read(&bytes, ctx_clients::lexicon()).facts;
        Pending { bytes, facts }
    }
}

/// What the newest answer told of the provider's cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Cached {
    /// When its request was sent: the cache lives from then on.
    pub at: u64,
    pub usage: Usage,
    /// Seconds that the cache lives, where something was written to it.
    pub ttl: Option<u64>,
    /// The newest commit when it was sent.
    pub head: Option<CommitId>,
}

#[derive(Debug)]
pub struct Conversation {
    pub id: String,
    pub opened: Opened,
    /// The format that its client speaks.
    pub wire: &'static dyn Wire,
    pub tree: Tree,
    /// Which frame is called what.
    pub numbers: Numbers,
    /// Paths that the client has left, oldest first, see [`crate::left`].
    pub left: Vec<LeftPath>,
    pub versions: FastMap<SlotId, Worn>,
    /// The envelope of the current path's newest request.
    pub envelope: Arc<Envelope>,
    /// The stored envelope of the current path's newest request.
    pub packed: Option<Hash>,
    /// What stands between the messages of that request, if not a comma.
    pub between: Option<Vec<String>>,
    pub last: LastBody,
    pub progress: Progress,
    pub pending: Option<Pending>,
    pub calibration: Calibration,
    pub cache: CacheState,
    /// Wishes that wait for their moment, and those that did.
    pub waiting: Vec<Waiting>,
    pub policy: PolicyState,
    pub provider: ProviderState,
    /// What was done to it.
    pub history: History,
    pub reasoning: ReasoningState,
    pub composing: ComposeState,
    /// Titles that a helper gave, see [`crate::helper::titles`].
    pub titles: Titles,
    /// The folder that its client works in, where it says so.
    pub folder: Option<String>,
    /// That of its parent's client.
    pub parent_folder: Option<String>,
    pub sides: Sides,
    pub log: LogState,
}

impl Conversation {
    /// That the provider keeps the history, and the way out, in words; nothing while requests carry all of it.
    pub fn elsewhere_in_words(&self) -> Option<String> {
        let way_out = self.wire.whole_history();
        self.progress.elsewhere.then(|| {
            format!(
                "The provider keeps the history of this conversation: requests carry only new messages, so they pass \
                 unchanged and cannot be edited. To edit, have the agent send the whole history: {way_out}."
            )
        })
    }

    pub fn new(id: String, opened: Opened) -> Conversation {
        let seed = seed(&id);
        Conversation {
            id,
            wire: ctx_wire::wire(opened.wire),
            opened,
            tree: Tree::new(seed),
            numbers: Numbers::default(),
            left: Vec::new(),
            versions: FastMap::default(),
            envelope: Arc::default(),
            packed: None,
            between: None,
            pending: None,
            calibration: Calibration::default(),
            waiting: Vec::new(),
            history: History::default(),
            titles: Titles::new(),
            folder: None,
            parent_folder: None,
            sides: Sides::default(),
            last: LastBody::default(),
            progress: Progress::default(),
            cache: CacheState::default(),
            reasoning: ReasoningState::default(),
            provider: ProviderState::default(),
            policy: PolicyState::default(),
            composing: ComposeState::default(),
            log: LogState::default(),
        }
    }

    /// Applies a turn: new versions, then the path. Used live and in replay alike.
    /// `None`, and no change, when it builds on a record that was lost.
    pub fn grow(
        &mut self,
        turn: &Turn,
        versions: Vec<(SlotId, Worn, Message)>,
        packed: Hash,
        compacted: bool,
    ) -> Option<()> {
        turn.slots.iter().for_each(|&slot| self.tree.reserve(SlotId(slot)));
        if turn.restart {
            let mut tree = Tree::new(seed(&self.id));
            // No slot id is given twice, also when nobody can tell any more what it named.
            tree.reserve(self.tree.next_slot(0));
            self.tree = tree;
            self.left.clear();
            self.cache.ends.clear();
            self.cache.rewritten.clear();
            self.versions.clear();
            self.log.broken = false;
        }
        if self.tree.node_count() != turn.nodes {
            return None;
        }
        self.composing.continuity.rebound |= !turn.bound.is_empty();
        for (signature, prefix) in &turn.bound {
            match prefix {
                Some(prefix) => drop(self.reasoning.bound.insert(*signature, *prefix)),
                None => drop(self.reasoning.lost.insert(*signature)),
            }
        }
        let seen: Vec<SlotId> = versions.iter().map(|(slot, ..)| *slot).collect();
        for (slot, worn, facts) in versions {
            self.meet(&facts);
            self.tree.put(slot, facts);
            self.versions.insert(slot, worn);
        }
        if let Some(reply) = turn.reply {
            let tip = self.tree.extend(self.tree.current().last().copied(), &[SlotId(reply)])?;
            self.tree.set_current(tip);
        }
        self.reasoning.strayed |= !turn.bound.is_empty();
        let slots: Vec<SlotId> = turn.slots.iter().map(|&slot| SlotId(slot)).collect();
        let tip = self.tree.extend(turn.base, &slots)?;
        if turn.current {
            let moved = self.tree.set_current(tip);
            self.leave_path(&moved, compacted);
            let changed = seen.iter().filter_map(|slot| self.tree.depth_of(*slot)).min();
            let from = changed.map_or(moved.kept, |changed| changed.min(moved.kept));
            self.numbers.give(self.tree.path().map(|slot| (slot.id, &slot.message)), from);
            self.packed = Some(packed);
            self.between = turn.between.clone();
            self.progress.turns += 1;
            self.progress.answered = false;
            self.progress.paused = self.paused_head(self.tree.path().map(|slot| &slot.message));
            self.progress.asked = self.history.head();
            self.cache.ends.extend(tip);
            self.cache.ends.drain(..self.cache.ends.len().saturating_sub(ENDS));
        }
        Some(())
    }

    /// The head under which the answer was given that a request with these messages sends back to be continued. Its
    /// tools stay those of then.
    pub fn paused_head<'m>(&self, messages: impl Iterator<Item = &'m Message>) -> Option<Option<CommitId>> {
        let last = messages.filter(|message| message.role != Role::System).last()?;
        (self.wire.is_paused(last) && self.progress.turns > 0)
            .then(|| self.progress.paused.unwrap_or(self.progress.asked))
    }

    /// Meets thinking that no answer has told of.
    fn meet(&mut self, facts: &Message) {
        for signature in facts.blocks.iter().filter_map(|block| block.signature) {
            let known = self.reasoning.bound.contains_key(&signature) || self.reasoning.own.contains(&signature);
            if known || self.reasoning.lost.contains(&signature) {
                continue;
            }
            if self.is_edited() {
                self.reasoning.lost.insert(signature);
            } else {
                self.reasoning.own.insert(signature);
            }
        }
    }

    /// Remembers what the thinking of an answer is bound to, and where its request wrote the cache.
    pub fn bind(&mut self, signatures: impl Iterator<Item = Key>, answered: &Answered) {
        const WRITTEN: usize = 256;
        let Some(prefix) = answered.prefix.filter(|_| answered.status == 200) else { return };
        for signature in signatures {
            let is_other = self.reasoning.bound.insert(signature, prefix).is_some_and(|before| before != prefix);
            self.composing.continuity.rebound |=
                is_other || self.reasoning.own.contains(&signature) || self.reasoning.lost.contains(&signature);
        }
        self.cache.written.extend(answered.marks.iter().copied().chain([prefix]));
        self.cache.written.drain(..self.cache.written.len().saturating_sub(WRITTEN));
    }

    /// The newest request did not leave as it came.
    pub fn rewritten(&mut self) {
        self.cache.rewritten.extend(self.cache.ends.back());
        self.cache.rewritten.drain(..self.cache.rewritten.len().saturating_sub(ENDS));
    }

    /// Takes in a commit that was stored.
    pub fn take(&mut self, commit: Commit) {
        // The request on whose arrival it was made was sent with it.
        let is_inherited = matches!(commit.change, Change::Inherit { .. });
        if (commit.author == AUTHOR || is_inherited) && commit.at == self.progress.heard {
            self.progress.asked = Some(commit.id);
        }
        self.log.lost_edits &= !takes_losses_into_account(&commit);
        self.history.push(commit);
    }

    pub fn line(&mut self, line: &Line) {
        line.apply(&mut self.history);
    }

    /// Takes in what the provider reported for a turn that was sent at `at`.
    pub fn learn(&mut self, answered: &Answered, at: u64) {
        self.cache.forecast.answered(answered);
        self.provider.summaries.extend(answered.summary.clone());
        self.provider.summaries.drain(..self.provider.summaries.len().saturating_sub(SUMMARIES));
        let Some(estimated) = answered.estimated else { return };
        // A stream can say `error` and end cleanly, and a client can leave once it has read the stop reason.
        let whole = answered.ending == "complete" || answered.stop_reason.is_some();
        self.progress.answered = answered.status == 200 && answered.error.is_none() && whole;
        if let Some(usage) = answered.usage {
            let cleared = answered.cleared();
            // What was repaired was not estimated, nor what a summary stands for.
            let is_all = answered.summary.is_none() && !answered.summarised;
            if is_all && answered.repairs.iter().all(|(rule, _)| rule == "A65") {
                answered.model.iter().for_each(|model| self.calibration.is_for(model));
                self.calibration.learn(estimated, usage.prompt().saturating_add(cleared));
            }
            if answered.status == 200 {
                self.provider.cleared = answered.cleared_results();
                self.provider.summed_up = self.sum_up(answered, estimated, usage.prompt());
                let before = self.cache.answer.as_ref().and_then(|cached| cached.ttl);
                self.cache.answer = Some(Cached { at, usage, ttl: usage.ttl().or(before), head: self.progress.asked });
            }
        }
    }

    /// Tokens that the provider does not read any more because a summary of its own stands for them.
    fn sum_up(&mut self, answered: &Answered, estimated: f64, prompt: u64) -> u64 {
        self.provider.before_summary = match &answered.summary {
            Some(summary) => summary.messages as usize,
            None if answered.summarised => self.provider.before_summary,
            None => 0,
        };
        let whole = self.calibration.tokens(estimated);
        match &answered.summary {
            // From the next request on.
            Some(_) => whole.saturating_sub(self.calibration.tokens(estimate(&self.envelope, std::iter::empty()))),
            None if answered.summarised => whole.saturating_sub(prompt + answered.cleared()),
            None => 0,
        }
    }

    /// What somebody said of how many seconds that is.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.cache.kept_for = seconds;
        self.cache.forecast.keep_for(seconds);
    }

    /// The folder that its client works in, as far as a request of it tells; else that of its parent.
    pub fn folder_with(&self, body: Option<&Body>) -> Option<String> {
        let told = || body.filter(|_| self.progress.turns < FOLDER_TURNS)?.folder(ctx_clients::lexicon());
        self.folder.clone().or_else(told).or_else(|| self.parent_folder.clone())
    }

    /// How many seconds the provider keeps in its cache what it is sent.
    pub fn lifetime(&self) -> u64 {
        let told = self.cache.answer.as_ref().and_then(|cached| cached.ttl);
        let asked = || self.last.body.as_ref().and_then(|body| self.wire.cache_lifetime(body.bytes()));
        self.cache.kept_for.or(told).or_else(asked).unwrap_or_else(|| self.wire.cache_rules().usual_lifetime())
    }

    /// The messages of the current path, the pending reply behind them.
    pub fn path(&self) -> Vec<&Message> {
        let pending = self.pending.as_ref().map(|pending| &pending.facts);
        self.tree.path().map(|slot| &slot.message).chain(pending).collect()
    }

    /// Our estimate of the whole request, before calibration.
    pub fn estimate(&self) -> f64 {
        estimate(&self.envelope, self.tree.path().map(|slot| &slot.message))
    }

    pub fn pending_estimate(&self) -> f64 {
        self.pending.as_ref().map_or(0.0, |pending| tokens::of_message(&pending.facts))
    }

    /// About how much memory it takes.
    pub fn weight(&self) -> usize {
        // The bytes, and their pieces.
        self.last.body.as_ref().map_or(0, |body| 2 * body.bytes().len())
            + self.versions.len() * 600
            + self.tree.node_count() as usize * 64
            + self.composing.parts.weight()
            + 4096
    }
}

/// Whether a commit was made by someone who could see what is left after edits were lost. The automatic editor does not
/// look for that, nor does a deferred edit whose moment comes; and a tag or a branch changes nothing.
pub fn takes_losses_into_account(commit: &Commit) -> bool {
    commit.author != AUTHOR && !commit.unattended
}

/// Our estimate of a request, before calibration.
pub fn estimate<'a>(envelope: &Envelope, messages: impl Iterator<Item = &'a Message>) -> f64 {
    let pieces = envelope.system.iter().chain(envelope.tools.iter().flatten().filter(|tool| !tool.deferred));
    let around: f64 = pieces.map(|piece| tokens::estimate(piece.chars, 0)).sum();
    around + messages.map(tokens::of_message).sum::<f64>()
}

fn seed(id: &str) -> u64 {
    let key = ctx_core::Key::of([id.as_bytes()]);
    u64::from_le_bytes([key.0[0], key.0[1], key.0[2], key.0[3], key.0[4], 0, 0, 0])
}
