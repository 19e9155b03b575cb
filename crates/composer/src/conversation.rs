//! One conversation in memory: its tree of slots, their versions, and the last body seen.
//!
//! Everything here is either replayed from the log or derived from it; dropping a conversation
//! from memory loses nothing.

use crate::automatic::{AUTHOR, Noted, TextIndex};
use crate::cache_forecast::CacheForecast;
use crate::continuity::Continuity;
use crate::edit::wait::Waiting;
use crate::edit::{Chain, Sent};
use crate::envelope::{self, Whole};
use crate::helper::titles::Titles;
use crate::left::LeftPath;
use crate::log;
use crate::log::{Answered, Arrived, Line, Opened, Summary, Turn, Usage, Version};
use crate::observe::SIDE;
use crate::provider::Asks;
use crate::sent_parts::SentParts;
use crate::side_traffic::Sides;
use ctx_core::automatic::Phases;
use ctx_core::edit::history::Change;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::edit::{Commit, CommitId, History};
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::message::{Message, Role};
use ctx_core::tokens::{self, Calibration};
use ctx_core::{Key, NodeIx, Numbers, SlotId, Tree, Verdict};
use ctx_store::{Blob, Hash, Reader, Record, Records, StoreError};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::compose::Memo;
use ctx_wire::dress::{Dress, dress};
use ctx_wire::envelope::Envelope;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many summaries of the provider's are remembered: after a rewind an older one is the newest.
const SUMMARIES: usize = 8;

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
    /// The newest body that carried the history, for comparing.
    pub body: Option<Body>,
    /// Leading messages of `body` that have the bytes of the current path.
    pub aligned: usize,
    /// The envelope of `body`, and where it is stored if it is.
    pub body_envelope: Arc<Envelope>,
    pub body_packed: Option<Hash>,
    pub requests: u32,
    pub turns: u32,
    /// The number of the newest request that was a turn.
    pub last_turn: u32,
    pub pending: Option<Pending>,
    pub calibration: Calibration,
    pub cached: Option<Cached>,
    /// The newest commit when the newest turn came.
    pub asked: Option<CommitId>,
    /// The same of the turn whose answer the provider paused, while that answer is being continued.
    pub paused: Option<Option<CommitId>>,
    pub last_activity: u64,
    /// When the newest request came, whatever it was.
    pub heard: u64,
    /// What the settings say of how long the provider's cache lives, in seconds.
    pub kept_for: Option<u64>,
    /// Wishes that wait for their moment, and those that did.
    pub waiting: Vec<Waiting>,
    /// What is worth removing, as it was last worked out.
    pub worth: Option<Box<crate::view::Remembered>>,
    /// Phases of the work, see [`crate::phases`].
    pub phases: Phases,
    /// The automatic editor looks at it; what it would have done; and it has told that the limit is near.
    pub automated: bool,
    pub noted: Noted,
    pub near_limit: bool,
    /// Tokens of results that the provider itself left out of the newest turn.
    pub cleared: u64,
    /// What was done to it.
    pub history: History,
    /// What each thinking signature is bound to: the digest of the prompt it was produced after.
    pub bound: FastMap<Key, Key>,
    /// Thinking that we only know from the client: from before the first operation, bound to what the client sent,
    /// or from an answer that was lost under operations, bound to nobody knows what.
    pub own: FastSet<Key>,
    pub lost: FastSet<Key>,
    /// A request left otherwise than it came: what was thought after it is bound to what the client never sent,
    /// whatever becomes of the operations.
    pub strayed: bool,
    /// Digests at which the provider's cache was written lately, the newest last.
    pub written: VecDeque<Key>,
    /// Where the newest requests ended, the newest last: there too the cache was written.
    pub ends: VecDeque<NodeIx>,
    /// Those of them whose requests did not leave as they came.
    pub rewritten: VecDeque<NodeIx>,
    /// The digests of the current path, see [`crate::edit::ground`].
    pub chain: Chain,
    /// What composing knows of the leading messages of the path.
    pub memo: Memo,
    pub continuity: Continuity,
    /// How the newest request that did not leave as it came left.
    pub sent_parts: SentParts,
    /// What the automatic editor knows of its words.
    pub text_index: TextIndex,
    /// The message that it will change next, by the looks of it.
    pub next: Option<SlotId>,
    /// What the provider's cache should hold.
    pub cache_forecast: CacheForecast,
    /// The thinking that could not be sent with the newest answered request, see [`Sent::left_out`].
    pub left_out: LeftOut,
    pub dropped: (usize, Option<CommitId>),
    /// The estimate of the newest composed request, while the operations are those it was composed with.
    pub composed_weight: Option<f64>,
    /// Requests under way that were composed, by number.
    pub sent: HashMap<u32, Sent>,
    /// Requests under way that ask something of the provider, by number.
    pub asks: HashMap<u32, Asks>,
    /// Summaries that the provider wrote, the newest last.
    pub summaries: Vec<Summary>,
    /// Messages that the newest of them stands for, as of the newest answer.
    pub before_summary: usize,
    /// Tokens of these.
    pub summed_up: u64,
    /// The provider is asked to drop thinking that does not fit, see [`log::RECOVERY`].
    pub drops_thinking: bool,
    /// The newest turn was answered to the end.
    pub answered: bool,
    /// Titles that a helper gave, see [`crate::helper::titles`].
    pub titles: Titles,
    /// The folder that its client works in, where it says so.
    pub folder: Option<String>,
    pub sides: Sides,
    /// What [`crate::directory::Directory::losses`] said when it came into memory. If it says more now, something
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

impl Conversation {
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
            body: None,
            aligned: 0,
            body_envelope: Arc::default(),
            body_packed: None,
            requests: 0,
            turns: 0,
            last_turn: 0,
            pending: None,
            calibration: Calibration::default(),
            cached: None,
            asked: None,
            paused: None,
            last_activity: 0,
            heard: 0,
            kept_for: None,
            waiting: Vec::new(),
            worth: None,
            phases: Phases::default(),
            automated: false,
            noted: Noted::default(),
            near_limit: false,
            cleared: 0,
            history: History::default(),
            bound: FastMap::default(),
            own: FastSet::default(),
            lost: FastSet::default(),
            strayed: false,
            written: VecDeque::new(),
            ends: VecDeque::new(),
            rewritten: VecDeque::new(),
            chain: Chain::default(),
            memo: Memo::default(),
            continuity: Continuity::default(),
            sent_parts: SentParts::default(),
            text_index: TextIndex::default(),
            next: None,
            cache_forecast: CacheForecast::default(),
            left_out: LeftOut::default(),
            dropped: (0, None),
            composed_weight: None,
            sent: HashMap::new(),
            asks: HashMap::new(),
            summaries: Vec::new(),
            before_summary: 0,
            summed_up: 0,
            drops_thinking: false,
            answered: false,
            titles: Titles::new(),
            folder: None,
            sides: Sides::default(),
            losses: 0,
            introduced: false,
            skipped: 0,
            lost_edits: false,
            broken: false,
        }
    }

    /// Replays a conversation from the store. `None` when the store does not know it.
    pub fn load(id: &str, store: &dyn Reader) -> Result<Option<Conversation>, StoreError> {
        let found = store.records(id, 0)?;
        if found.records.is_empty() && found.skipped.is_empty() {
            return Ok(None);
        }
        let mut conversation = Conversation::replayed(id, &found, store, &mut |_, _| {})?;
        if let Some(bytes) = store.note(id, "pending")? {
            conversation.pending = Some(Pending::new(conversation.wire, bytes));
        }
        conversation.restore_body(store)?;
        Ok(Some(conversation))
    }

    /// What these records, the first ones of its log, tell of a conversation. `meet` is called for each request.
    pub fn replayed(
        id: &str,
        found: &Records,
        store: &dyn Reader,
        meet: &mut dyn FnMut(&Record, &Arrived),
    ) -> Result<Conversation, StoreError> {
        let blobs = messages_of(&found.records, store)?;
        let mut conversation = Conversation::new(id.to_owned(), Opened::unknown());
        let mut damaged = found.skipped.iter().peekable();
        for record in &found.records {
            while let Some(skipped) = damaged.next_if(|skipped| skipped.seq < record.seq) {
                conversation.skip(skipped.kind.as_deref());
            }
            if conversation.replay(record, &blobs, meet).is_none() {
                conversation.skip(Some(&record.kind));
            }
        }
        damaged.for_each(|skipped| conversation.skip(skipped.kind.as_deref()));
        Ok(conversation)
    }

    /// A record of this kind cannot be read; `None`: of any kind. A turn is said again by the next request, but what a
    /// commit says is lost, and commits that name messages of a lost turn change nothing any more.
    fn skip(&mut self, kind: Option<&str>) {
        self.skipped += 1;
        self.broken = true;
        self.lost_edits |= match kind {
            None | Some(log::COMMIT | log::LINE) => true,
            Some(log::ARRIVED) => self.history.is_sent(),
            Some(_) => false,
        };
    }

    /// `None` when the record cannot be understood; it then changes nothing.
    fn replay(
        &mut self,
        record: &Record,
        blobs: &HashMap<Hash, Vec<u8>>,
        meet: &mut dyn FnMut(&Record, &Arrived),
    ) -> Option<()> {
        if !log::is_readable(record.version) {
            return None;
        }
        match record.kind.as_str() {
            log::OPENED => {
                self.opened = serde_json::from_slice(&record.body).ok()?;
                self.wire = ctx_wire::wire(self.opened.wire);
                self.introduced = true;
            }
            log::ARRIVED => {
                let arrived: Arrived = serde_json::from_slice(&record.body).ok()?;
                meet(record, &arrived);
                self.requests = self.requests.max(arrived.request);
                self.heard = self.heard.max(record.at);
                self.cache_forecast.asked(&arrived, record.at);
                if arrived.verdict == SIDE {
                    self.sides.came(arrived.request, &arrived.class, record.at);
                }
                if let Some(turn) = &arrived.turn {
                    let versions = versions_of(self.wire, turn, &record.uses, blobs)?;
                    let compacted = arrived.verdict == Verdict::Compaction.name();
                    self.grow(turn, versions, record.uses.get(turn.envelope as usize).copied()?, compacted)?;
                    self.strayed |= arrived.composed;
                    if arrived.composed && turn.current {
                        self.rewritten();
                    }
                    if turn.current {
                        Arc::make_mut(&mut self.envelope).model = arrived.model.as_deref().map(Into::into);
                        self.next = arrived.next;
                        self.last_turn = arrived.request;
                        self.last_activity = record.at;
                    }
                }
            }
            log::ANSWERED => {
                let answered: Answered = serde_json::from_slice(&record.body).ok()?;
                self.sides.answered(&answered);
                self.learn(&answered, record.at.saturating_sub(answered.total_ms));
                let signatures = answered.signatures.iter().filter_map(|signature| signature.parse().ok());
                self.bind(signatures, &answered);
            }
            log::COMMIT => self.take(log::commit(record)?),
            log::LINE => self.line(&serde_json::from_slice(&record.body).ok()?),
            log::RECOVERY => self.drops_thinking = true,
            // What is refused is known beside the conversations.
            log::REFUSED => {}
            log::WAIT => self.wait(&serde_json::from_slice(&record.body).ok()?, record.at),
            log::AUTOMATIC => self.automatic(&serde_json::from_slice(&record.body).ok()?),
            _ => return None,
        }
        Some(())
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
            self.ends.clear();
            self.rewritten.clear();
            self.versions.clear();
            self.broken = false;
        }
        if self.tree.node_count() != turn.nodes {
            return None;
        }
        self.continuity.rebound |= !turn.bound.is_empty();
        for (signature, prefix) in &turn.bound {
            match prefix {
                Some(prefix) => drop(self.bound.insert(*signature, *prefix)),
                None => drop(self.lost.insert(*signature)),
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
        self.strayed |= !turn.bound.is_empty();
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
            self.turns += 1;
            self.answered = false;
            self.paused = self.paused_head(self.tree.path().map(|slot| &slot.message));
            self.asked = self.history.head();
            self.ends.extend(tip);
            self.ends.drain(..self.ends.len().saturating_sub(ENDS));
        }
        Some(())
    }

    /// The head under which the answer was given that a request with these messages sends back to be continued. Its
    /// tools stay those of then.
    pub fn paused_head<'m>(&self, messages: impl Iterator<Item = &'m Message>) -> Option<Option<CommitId>> {
        let last = messages.filter(|message| message.role != Role::System).last()?;
        (self.wire.is_paused(last) && self.turns > 0).then(|| self.paused.unwrap_or(self.asked))
    }

    /// Meets thinking that no answer has told of.
    fn meet(&mut self, facts: &Message) {
        for signature in facts.blocks.iter().filter_map(|block| block.signature) {
            let known = self.bound.contains_key(&signature) || self.own.contains(&signature);
            if known || self.lost.contains(&signature) {
                continue;
            }
            if self.is_edited() {
                self.lost.insert(signature);
            } else {
                self.own.insert(signature);
            }
        }
    }

    /// Remembers what the thinking of an answer is bound to, and where its request wrote the cache.
    pub fn bind(&mut self, signatures: impl Iterator<Item = Key>, answered: &Answered) {
        const WRITTEN: usize = 256;
        let Some(prefix) = answered.prefix.filter(|_| answered.status == 200) else { return };
        for signature in signatures {
            let is_other = self.bound.insert(signature, prefix).is_some_and(|before| before != prefix);
            self.continuity.rebound |= is_other || self.own.contains(&signature) || self.lost.contains(&signature);
        }
        self.written.extend(answered.marks.iter().copied().chain([prefix]));
        self.written.drain(..self.written.len().saturating_sub(WRITTEN));
    }

    /// The newest request did not leave as it came.
    pub fn rewritten(&mut self) {
        self.rewritten.extend(self.ends.back());
        self.rewritten.drain(..self.rewritten.len().saturating_sub(ENDS));
    }

    /// Takes in a commit that was stored.
    pub fn take(&mut self, commit: Commit) {
        // The request on whose arrival it was made was sent with it.
        let is_inherited = matches!(commit.change, Change::Inherit { .. });
        if (commit.author == AUTHOR || is_inherited) && commit.at == self.heard {
            self.asked = Some(commit.id);
        }
        self.lost_edits &= !takes_losses_into_account(&commit);
        self.history.push(commit);
    }

    pub fn line(&mut self, line: &Line) {
        line.apply(&mut self.history);
    }

    /// Takes in what the provider reported for a turn that was sent at `at`.
    pub fn learn(&mut self, answered: &Answered, at: u64) {
        self.cache_forecast.answered(answered);
        self.summaries.extend(answered.summary.clone());
        self.summaries.drain(..self.summaries.len().saturating_sub(SUMMARIES));
        let Some(estimated) = answered.estimated else { return };
        // A stream can say `error` and end cleanly, and a client can leave once it has read the stop reason.
        let whole = answered.ending == "complete" || answered.stop_reason.is_some();
        self.answered = answered.status == 200 && answered.error.is_none() && whole;
        if let Some(usage) = answered.usage {
            let cleared = answered.cleared();
            // What was repaired was not estimated, nor what a summary stands for.
            let is_all = answered.summary.is_none() && !answered.summarised;
            if is_all && answered.repairs.iter().all(|(rule, _)| rule == "A65") {
                answered.model.iter().for_each(|model| self.calibration.is_for(model));
                self.calibration.learn(estimated, usage.prompt().saturating_add(cleared));
            }
            if answered.status == 200 {
                self.cleared = answered.cleared_results();
                self.summed_up = self.sum_up(answered, estimated, usage.prompt());
                let before = self.cached.as_ref().and_then(|cached| cached.ttl);
                self.cached = Some(Cached { at, usage, ttl: usage.ttl().or(before), head: self.asked });
            }
        }
    }

    /// Tokens that the provider does not read any more because a summary of its own stands for them.
    fn sum_up(&mut self, answered: &Answered, estimated: f64, prompt: u64) -> u64 {
        self.before_summary = match &answered.summary {
            Some(summary) => summary.messages as usize,
            None if answered.summarised => self.before_summary,
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
        self.kept_for = seconds;
        self.cache_forecast.keep_for(seconds);
    }

    /// How many seconds the provider keeps in its cache what it is sent.
    pub fn lifetime(&self) -> u64 {
        let told = self.cached.as_ref().and_then(|cached| cached.ttl);
        let asked = || self.body.as_ref().and_then(|body| self.wire.cache_lifetime(body.bytes()));
        self.kept_for.or(told).or_else(asked).unwrap_or_else(|| self.wire.cache_rules().usual_lifetime())
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

    /// The exact bytes of the newest request on the current path, from what is stored; `None` when
    /// a part of it is missing or damaged.
    pub fn rebuild(&self, store: &dyn Reader) -> Result<Option<Whole>, StoreError> {
        let Some(packed) = self.packed else { return Ok(None) };
        let worn: Vec<&Worn> = self.tree.path().filter_map(|slot| self.versions.get(&slot.id)).collect();
        let hashes: Vec<Hash> = worn.iter().map(|worn| worn.blob).collect();
        let mut messages = Vec::new();
        for (index, (worn, blob)) in worn.iter().zip(store.blobs(&hashes)?).enumerate() {
            let Blob::Present(bare) = blob else { return Ok(None) };
            if index > 0 {
                messages.extend_from_slice(self.separator(index).as_bytes());
            }
            let Some(exact) = dress(&bare, &worn.dress) else { return Ok(None) };
            messages.extend_from_slice(&exact);
        }
        let mut failure = None;
        let mut find = |hash: Hash| match store.blob(hash) {
            Ok(found) => found,
            Err(StoreError::DamagedBlob { .. }) => None,
            Err(error) => {
                failure = Some(error);
                None
            }
        };
        let whole = find(packed).and_then(|own| envelope::unpack(&own, &messages, &mut find));
        failure.map_or(Ok(whole), Err)
    }

    fn separator(&self, index: usize) -> &str {
        match self.between.as_deref() {
            None => ",",
            Some([one]) => one,
            Some(each) => each.get(index - 1).map_or(",", String::as_str),
        }
    }

    /// Reads all of a body that is not the history. Where the body names no model, it is that of the newest request.
    pub fn envelope_of(&self, body: &Body) -> Envelope {
        let envelope = body.envelope(ctx_clients::lexicon());
        let model = envelope.model.clone().or_else(|| self.envelope.model.clone());
        Envelope { model, ..envelope }
    }

    fn restore_body(&mut self, store: &dyn Reader) -> Result<(), StoreError> {
        self.body = self.rebuild(store)?.and_then(|whole| Body::parse(whole.bytes, self.wire).ok());
        if let Some(body) = &self.body {
            self.folder = body.folder(ctx_clients::lexicon());
            self.aligned = body.spans().messages.len();
            self.envelope = Arc::new(self.envelope_of(body));
            self.body_envelope = self.envelope.clone();
            self.body_packed = self.packed;
        }
        Ok(())
    }

    /// About how much memory it takes.
    pub fn weight(&self) -> usize {
        // The bytes, and their pieces.
        self.body.as_ref().map_or(0, |body| 2 * body.bytes().len())
            + self.versions.len() * 600
            + self.tree.node_count() as usize * 64
            + self.sent_parts.weight()
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

/// The blobs of all message versions in these records.
fn messages_of(records: &[Record], store: &dyn Reader) -> Result<HashMap<Hash, Vec<u8>>, StoreError> {
    let mut hashes: Vec<Hash> = records
        .iter()
        .filter(|record| record.kind == log::ARRIVED)
        .flat_map(|record| record.uses.iter().copied())
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    let blobs = store.blobs(&hashes)?;
    Ok(hashes
        .into_iter()
        .zip(blobs)
        .filter_map(|(hash, blob)| match blob {
            Blob::Present(bytes) => Some((hash, bytes)),
            _ => None,
        })
        .collect())
}

fn versions_of(
    wire: &dyn Wire,
    turn: &Turn,
    uses: &[Hash],
    blobs: &HashMap<Hash, Vec<u8>>,
) -> Option<Vec<(SlotId, Worn, Message)>> {
    let version = |version: &Version| {
        let blob = *uses.get(version.blob as usize)?;
        let worn = Dress(version.dress.iter().map(|(at, text)| (*at, text.as_bytes().into())).collect());
        let exact = dress(blobs.get(&blob)?, &worn)?;
        Some((SlotId(version.slot), Worn { blob, dress: worn }, wire.read(&exact, ctx_clients::lexicon()).facts))
    };
    turn.versions.iter().map(version).collect()
}
