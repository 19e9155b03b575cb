//! One conversation in memory. Each file has the state of one subject; [`Conversation`] combines them.
//!
//! Everything here is replayed from the log or derived from it, so dropping a conversation from memory loses nothing.

pub mod account;
mod answer;
pub(crate) mod cache;
pub(crate) mod cache_forecast;
pub(crate) mod composing;
pub(crate) mod continuity;
mod facts;
mod hidden_thinking;
mod identity;
pub mod left;
pub(crate) mod messages;
pub(crate) mod newest;
pub mod policy;
pub(crate) mod progress;
pub(crate) mod provider;
pub(crate) mod reasoning;
mod replay;
pub mod sent_parts;
pub(crate) mod side_traffic;
pub(crate) mod thread;
pub mod titles;
pub(crate) mod usage;
pub mod waiting;

pub use cache::CacheReport;
pub use identity::FOLDER_TURNS;
pub use messages::{PendingMessage, SlotVersion};

use crate::log::{Automatic, OpeningRecord, Turn, Wait};
use cache::CacheState;
use composing::{ComposeState, short};
use ctx_api::timeline::Line;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::history::Change;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::edit::{Commit, CommitId, History};
use ctx_core::fast_map::FastMap;
use ctx_core::message::{Message, Role};
use ctx_core::tokens;
use ctx_core::tree::Slot;
use ctx_core::{Key, SlotId, Tree, frames};
use ctx_store::Hash;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use identity::Identity;
use left::{LeftFrames, begins_with_summary};
use messages::Messages;
use newest::NewestRequest;
use policy::{AUTHOR, PolicyState};
use progress::{LogState, Progress};
use provider::ProviderState;
use reasoning::ReasoningState;
use usage::UsageState;
use waiting::WaitingList;

/// A conversation with its whole state.
#[derive(Debug)]
pub struct Conversation {
    pub(crate) identity: Identity,
    pub messages: Messages,
    pub newest: NewestRequest,
    pub progress: Progress,
    pub usage: UsageState,
    pub cache: CacheState,
    pub history: History,
    /// Deferred edits and proposals, pending and finished.
    pub waiting: WaitingList,
    pub policy: PolicyState,
    pub provider: ProviderState,
    pub reasoning: ReasoningState,
    pub composing: ComposeState,
    pub log: LogState,
}

impl Conversation {
    /// Explains that the provider keeps the history, and the way out; `None` while requests carry it.
    pub fn elsewhere_in_words(&self) -> Option<String> {
        let way_out = self.wire().whole_history();
        self.progress.elsewhere.then(|| {
            format!(
                "The provider keeps the history of this conversation: requests carry only new messages, so they pass \
                 unchanged and cannot be edited. To edit, have the agent send the whole history: {way_out}."
            )
        })
    }

    pub fn new(id: String, opened: OpeningRecord) -> Conversation {
        let seed = seed(&id);
        Conversation {
            identity: Identity::new(id, opened),
            messages: Messages::new(Tree::new(seed)),
            newest: NewestRequest::default(),
            progress: Progress::default(),
            usage: UsageState::default(),
            cache: CacheState::default(),
            history: History::default(),
            waiting: WaitingList::default(),
            policy: PolicyState::default(),
            provider: ProviderState::default(),
            reasoning: ReasoningState::default(),
            composing: ComposeState::default(),
            log: LogState::default(),
        }
    }

    /// Replaces the record that introduces it.
    pub fn introduce(&mut self, opened: OpeningRecord) {
        self.identity.introduce(opened);
    }

    pub fn id(&self) -> &str {
        &self.identity.id
    }

    /// The format of its client.
    pub fn wire(&self) -> &'static dyn Wire {
        self.identity.wire
    }

    /// The record that introduces it.
    pub fn opened(&self) -> &OpeningRecord {
        &self.identity.opened
    }

    /// The client's working folder, if the client names it.
    pub fn folder(&self) -> Option<&str> {
        self.identity.folder.as_deref()
    }

    /// Remembers the client's working folder as named in a request, or that of its parent.
    pub fn find_folder(&mut self, body: Option<&Body>) {
        self.identity.folder = self.folder_with(body);
    }

    /// The client's working folder as named in a request; otherwise that of its parent.
    pub fn folder_with(&self, body: Option<&Body>) -> Option<String> {
        let told = || body.filter(|_| self.progress.turns < FOLDER_TURNS)?.folder(ctx_clients::lexicon());
        self.identity.folder.clone().or_else(told).or_else(|| self.identity.parent_folder.clone())
    }

    pub fn set_parent_folder(&mut self, folder: Option<String>) {
        self.identity.parent_folder = folder;
    }

    /// The tokens of an estimate, calibrated by the provider's counts.
    pub fn tokens(&self, estimate: f64) -> u64 {
        self.usage.calibration.tokens(estimate)
    }

    /// Applies a turn: new versions, then the path. Used live and in replay. Returns `None` and changes nothing if the
    /// turn refers to a lost record.
    pub fn grow(
        &mut self,
        turn: &Turn,
        mut versions: Vec<(SlotId, SlotVersion, Message)>,
        packed: Hash,
        compacted: bool,
    ) -> Option<()> {
        turn.slots.iter().for_each(|&slot| self.messages.tree.reserve(SlotId(slot)));
        if turn.restart {
            let mut tree = Tree::new(seed(self.id()));
            // No slot id is assigned twice, even if its first use was lost.
            tree.reserve(self.messages.tree.next_slot(0));
            self.messages.restart(tree);
            self.cache.ends.clear();
            self.cache.rewritten.clear();
            self.log.broken = false;
        }
        if self.messages.tree.node_count() != turn.nodes {
            return None;
        }
        self.composing.continuity.rebound |= !turn.bound.is_empty();
        self.reasoning.rebind(&turn.bound);
        let is_edited = self.is_edited();
        let seen: Vec<SlotId> = versions.iter().map(|(slot, ..)| *slot).collect();
        let tree = &self.messages.tree;
        let before = tree.current().last().map(|tip| tree.slot_at(*tip).id);
        let is_new = |slot: SlotId| tree.slot(slot).is_none();
        let replies = versions.iter().filter(|(slot, _, facts)| facts.role != Role::User && is_new(*slot));
        let replies: Vec<SlotId> = replies.map(|(slot, ..)| *slot).collect();
        self.usage
            .hidden_thinking
            .size(versions.iter_mut().map(|(slot, _, facts)| (*slot, facts)), &self.usage.calibration);
        for (slot, version, facts) in versions {
            self.reasoning.meet(&facts, is_edited);
            self.messages.tree.put(slot, facts);
            self.messages.versions.insert(slot, version);
        }
        self.messages.came(self.progress.heard);
        if !turn.reply.is_empty() {
            let reply: Vec<SlotId> = turn.reply.iter().map(|&slot| SlotId(slot)).collect();
            let tip = self.messages.tree.extend(self.messages.tree.current().last().copied(), &reply)?;
            self.messages.tree.set_current(tip);
        }
        self.reasoning.strayed |= !turn.bound.is_empty();
        let slots: Vec<SlotId> = turn.slots.iter().map(|&slot| SlotId(slot)).collect();
        let tip = self.messages.tree.extend(turn.base, &slots)?;
        if turn.current {
            before.into_iter().for_each(|before| self.messages.replies.come(before, &replies));
            let moved = self.messages.tree.set_current(tip);
            self.messages.left.leave(&self.messages.tree, &self.messages.numbers, &moved, compacted);
            let changed = seen.iter().filter_map(|slot| self.messages.tree.depth_of(*slot)).min();
            let from = changed.map_or(moved.kept, |changed| changed.min(moved.kept));
            self.messages.numbers.give(self.messages.tree.path().map(|slot| (slot.id, &slot.message)), from);
            self.newest.packed = Some(packed);
            self.newest.between = turn.between.clone();
            self.progress.turns += 1;
            self.progress.answered = false;
            self.progress.paused = self.paused_head(self.messages.tree.path().map(|slot| &slot.message));
            self.progress.asked = self.history.head();
            self.cache.end_at(tip);
        }
        Some(())
    }

    /// The head of the paused answer that a request with these messages continues. Its tools stay those of that head.
    pub fn paused_head<'m>(&self, messages: impl Iterator<Item = &'m Message>) -> Option<Option<CommitId>> {
        let last = messages.filter(|message| message.role != Role::System).last()?;
        (self.wire().is_paused(last) && self.progress.turns > 0)
            .then(|| self.progress.paused.unwrap_or(self.progress.asked))
    }

    pub fn take(&mut self, commit: Commit) {
        // The request whose arrival triggered it was sent with it.
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

    /// Applies a note of the automatic editor. Used live and in replay.
    pub fn automatic(&mut self, said: &Automatic) {
        if let Automatic::Helped(used) = said {
            self.usage.account.helped(used.clone());
        }
        self.policy.take(said);
    }

    /// Applies an event of a pending change. Used live and in replay.
    pub fn wait(&mut self, wait: &Wait, at: u64) {
        // The request that it was made for was sent with it.
        if matches!(wait, Wait::Made { request: Some(_), .. }) {
            self.progress.asked = self.history.head();
        }
        self.waiting.take(wait, at);
    }

    /// Whether a change is pending: its moment may come with the next request.
    pub fn waits(&self) -> bool {
        self.waiting.waits()
    }

    /// Whether its requests must be held. A provider's summary is also a reason: the client may not understand it.
    pub fn is_held(&self) -> bool {
        self.is_edited() || self.waits() || self.policy.automated || !self.provider.summaries.is_empty()
    }

    /// Whether operations are active. They may be asleep, but requests must be checked.
    pub fn is_edited(&self) -> bool {
        self.reasoning.is_dropped_by_provider || self.reasoning.strayed || self.log.lost_edits || self.history.is_sent()
    }

    /// The active effects at `head`.
    pub fn effects(&self, head: Option<CommitId>) -> Vec<(EffectId, &Effect)> {
        self.history.effects(head)
    }

    /// Content that the provider's rules omitted from the newest answered request and will omit from the next one,
    /// unless the operations change.
    pub fn still_left_out(&self) -> LeftOut {
        match self.reasoning.dropped.1 == self.history.head() {
            true => self.reasoning.left_out.clone(),
            false => LeftOut::default(),
        }
    }

    /// The lifetime of the cache in seconds that the newest request asks for, if answers do not report it.
    pub fn asked_lifetime(&self) -> Option<u64> {
        let body = self.newest.last.body.as_ref()?;
        self.wire().asked_lifetime(body.bytes(), body.spans())
    }

    pub fn lifetime(&self) -> u64 {
        let told = self.cache.answer.as_ref().and_then(|cached| cached.ttl);
        let last = self.newest.last.body.as_ref();
        let asked = || last.and_then(|body| self.wire().cache_lifetime(body.bytes(), body.spans()));
        self.cache.kept_for.or(told).or_else(asked).unwrap_or_else(|| self.wire().cache_rules().usual_lifetime())
    }

    /// The messages of the current path, followed by the pending reply.
    pub fn path(&self) -> Vec<&Message> {
        let pending = self.newest.pending.iter().map(|pending| &pending.facts);
        self.messages.tree.path().map(|slot| &slot.message).chain(pending).collect()
    }

    /// The digest of the newest request as the client sent it.
    pub fn own_prefix(&mut self) -> Key {
        self.own_prefixes().last().copied().unwrap_or(self.newest.envelope.digest)
    }

    /// The digests after each message of the current path, as the client sent them.
    pub fn own_prefixes(&mut self) -> &[Key] {
        let (tree, versions) = (&self.messages.tree, &self.messages.versions);
        let behind = move |known: usize| tree.path().skip(known).map(move |slot| digest(versions, slot));
        self.composing.chain.follow(self.newest.envelope.digest, behind)
    }

    /// The digests of the messages of the current path.
    pub fn digests(&self) -> Vec<Key> {
        self.messages.tree.path().map(|slot| digest(&self.messages.versions, slot)).collect()
    }

    pub fn left_frames(&self) -> LeftFrames {
        self.messages.left.frames(&self.messages.tree, &self.messages.numbers)
    }

    /// The opening words of the conversation, even if the client has summarised them since.
    pub fn first_words(&self) -> Option<String> {
        let title = |path: &[&Message]| {
            let all = frames::frames(path);
            // Some clients begin every conversation with the same examples.
            let is_spoken =
                |frame: &&frames::Frame| path.get(frame.opening).is_some_and(|first| first.speaks.is_some());
            let first = all.iter().find(is_spoken).or(all.first())?;
            Some(frames::title(path, first)).filter(|_| !begins_with_summary(path.iter().copied()))
        };
        let mut before = self.messages.left.before_compactions(&self.messages.tree);
        title(&self.path()).or_else(|| before.find_map(|path| title(&path))).or_else(|| self.opened().title.clone())
    }

    /// The estimate of the whole request, before calibration.
    pub fn estimate(&self) -> f64 {
        estimate(&self.newest.envelope, self.messages.tree.path().map(|slot| &slot.message))
    }

    pub fn pending_estimate(&self) -> f64 {
        self.newest.pending.iter().map(|pending| tokens::of_message(&pending.facts)).sum()
    }

    /// Its approximate memory use.
    pub fn weight(&self) -> usize {
        // The bytes, and their parsed pieces.
        self.newest.last.body.as_ref().map_or(0, |body| 2 * body.bytes().len())
            + self.messages.versions.len() * 600
            + self.messages.tree.node_count() as usize * 64
            + self.composing.parts.weight()
            + 4096
    }
}

/// Whether the author of a commit could see the state after edits were lost. The automatic editor and deferred edits do
/// not look at it; a tag or a branch changes nothing.
pub fn takes_losses_into_account(commit: &Commit) -> bool {
    commit.author != AUTHOR && !commit.unattended
}

pub fn estimate<'a>(envelope: &Envelope, messages: impl Iterator<Item = &'a Message>) -> f64 {
    let pieces = envelope.system.iter().chain(envelope.tools.iter().flatten().filter(|tool| !tool.deferred));
    let around: f64 = pieces.map(|piece| tokens::estimate(piece.chars, 0)).sum();
    around + messages.map(tokens::of_message).sum::<f64>()
}

fn digest(versions: &FastMap<SlotId, SlotVersion>, slot: &Slot) -> Key {
    versions.get(&slot.id).map_or(slot.message.key, |version| short(&version.blob))
}

fn seed(id: &str) -> u64 {
    let key = ctx_core::Key::of([id.as_bytes()]);
    u64::from_le_bytes([key.0[0], key.0[1], key.0[2], key.0[3], key.0[4], 0, 0, 0])
}
