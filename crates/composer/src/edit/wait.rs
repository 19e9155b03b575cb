//! Pending changes: deferred edits, which wait for a moment, and proposals, which wait for somebody's word. Until the provider's cache is cold and an edit costs nothing, or until the
//! context nears the model's limit.
//!
//! A wish is checked and stored when it is made; [`moment`] says when its moment has come, [`made`] makes it then, on the
//! arrival of a request or woken by [`alarm`]. One that does not fit any more is kept, with the reason.

mod alarm;
mod forked;
mod made;
mod many;
mod moment;

pub(crate) use alarm::Alarm;
pub(crate) use forked::PendingForFork;
pub use moment::Moments;
pub(crate) use moment::Situation;

use super::import::Imports;
use crate::automatic::{AUTHOR, calls};
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::keyed_lock::KeyGuard;
use crate::log::{self, Reverts, Wait, Wished};
use crate::{Composer, EDITED, Engine, Refusal, card, mark, now, record};
use ctx_api::edit::{Applied, When};
use ctx_api::waiting::{Unmade, WaitView, WaitingView};
use ctx_core::ErrorCode;
use ctx_core::SlotId;
use ctx_core::edit::effect::{Cover, Effect, FrameKey, FrameRef, MessageRef, PENDING, Place};
use ctx_core::edit::fold::{Laid, Unit};
use ctx_core::edit::history::Change;
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::hint;
use ctx_core::hint::Command;
use ctx_store::{Note, Step};
use std::collections::HashSet;
use std::sync::MutexGuard;

/// The note that a conversation has wishes that wait.
pub(crate) const WAITING: &str = "waiting";

/// A wish and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub wished: Wished,
    pub at: u64,
    pub state: State,
    /// When that came about.
    pub ended: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum State {
    Waiting,
    Made(CommitId),
    Failed(Unmade),
    Cancelled,
}

impl State {
    pub fn name(&self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Made(_) => "made",
            State::Failed(_) => "failed",
            State::Cancelled => "cancelled",
        }
    }

    fn can_be_accepted(&self) -> bool {
        *self == State::Waiting
    }

    /// What failed is put away.
    fn can_be_cancelled(&self) -> bool {
        matches!(self, State::Waiting | State::Failed(_))
    }
}

impl Waiting {
    fn view(&self) -> WaitView {
        let Wished {
            id,
            when,
            branch,
            operations,
            reasons,
            author,
            note,
            summary,
            tokens_before,
            tokens_after,
            reverts,
            ..
        } = self.wished.clone();
        let (state, at, ended) = (self.state.name().to_owned(), self.at, self.ended);
        let (commit, failure) = match &self.state {
            State::Made(commit) => (Some(*commit), None),
            State::Failed(why) => (None, Some(why.clone())),
            State::Waiting | State::Cancelled => (None, None),
        };
        WaitView {
            id,
            state,
            when,
            at,
            ended,
            author,
            note,
            branch,
            operations,
            reasons,
            summary,
            tokens_before,
            tokens_after,
            commit,
            failure,
            reverts: reverts.map(|reverts| reverts.commits).unwrap_or_default(),
            remarks: Vec::new(),
        }
    }
}

impl Conversation {
    /// Whether a wish waits: its moment may come with the next request.
    pub fn waits(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.state == State::Waiting)
    }

    /// Whether its requests must be held: also for a summary of the provider's, which the client may not understand.
    pub fn is_held(&self) -> bool {
        self.is_edited() || self.waits() || self.policy.automated || !self.provider.summaries.is_empty()
    }

    /// A wish by its id, whatever became of it. For an unknown id only wishes in the wanted state are suggested.
    fn wish(&self, id: &str, is_wanted: fn(&State) -> bool) -> Result<&Waiting, Refusal> {
        self.waiting.iter().find(|waiting| waiting.wished.id == id).ok_or_else(|| {
            let wanted = self.waiting.iter().filter(|waiting| is_wanted(&waiting.state));
            let near = nearest(id, wanted.map(|waiting| waiting.wished.id.as_str()));
            let message = format!("There is no pending change `{id}`.");
            Refusal::new(ErrorCode::UnknownWish, message, suggest(&near, hint![Command::Waiting, " lists them."]))
        })
    }

    /// The changes that wait and name something of these.
    pub(crate) fn pending_in(&self, ground: &super::Ground<'_>, units: &[Laid]) -> Vec<String> {
        let waiting: Vec<&Wished> = self
            .waiting
            .iter()
            .filter(|waiting| waiting.state == State::Waiting)
            .map(|waiting| &waiting.wished)
            .collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        let sources = || {
            units.iter().filter_map(|laid| match laid.unit {
                Unit::Source { message, block } => Some((message, block)),
                Unit::Made(_) => None,
            })
        };
        let slots: HashSet<u64> = sources().filter_map(|(message, _)| Some(ground.slots.get(message)?.0)).collect();
        let own: HashSet<&str> = sources()
            .filter_map(|(message, block)| ground.messages.get(message)?.blocks.get(block?)?.tool_use_id.as_deref())
            .collect();
        let names = |wished: &&&Wished| {
            wished.slots.iter().any(|slot| slots.contains(slot))
                || calls(self.wire, &wished.operations).any(|call| own.contains(&*call))
        };
        waiting.iter().filter(names).map(|wished| wished.id.clone()).collect()
    }

    /// Leaves out of a proposal what it names and the client has taken back since: the rest still fits.
    fn leave_what_is_gone(&self, wished: &mut Wished) -> Result<(), Refusal> {
        if wished.author != AUTHOR {
            return Ok(());
        }
        let there: HashSet<&str> = self
            .tree
            .path()
            .flat_map(|slot| &slot.message.blocks)
            .filter_map(|block| block.tool_use_id.as_deref())
            .collect();
        let is_there = |operation: &Operation| {
            calls(self.wire, std::slice::from_ref(operation)).all(|call| there.contains(&*call))
        };
        let keep: Vec<bool> = wished.operations.iter().map(is_there).collect();
        let mut kept = keep.iter();
        wished.operations.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        wished.reasons.retain(|_| *kept.next().unwrap_or(&true));
        if wished.operations.is_empty() {
            let message = "The conversation has gone another way: nothing of what was proposed is in it any more.";
            return Err(Refusal::new(
                ErrorCode::Gone,
                message,
                hint![Command::Waiting.with("cancel"), " removes the proposal."],
            ));
        }
        Ok(())
    }

    /// Takes in what happens to a wish. Used live and in replay alike.
    pub fn wait(&mut self, wait: &Wait, at: u64) {
        let (id, state) = match wait {
            Wait::Wished(wished) => {
                let wished = (**wished).clone();
                match self.waiting.iter_mut().find(|known| known.wished.id == wished.id) {
                    None => self.waiting.push(Waiting { wished, at, state: State::Waiting, ended: None }),
                    // A proposal that grows.
                    Some(known) if known.state == State::Waiting => known.wished = wished,
                    Some(_) => {}
                }
                return;
            }
            Wait::Made { id, commit, request } => {
                // The request that it was made for was sent with it.
                if request.is_some() {
                    self.progress.asked = self.history.head();
                }
                (id, State::Made(*commit))
            }
            Wait::Failed { id, why } => (id, State::Failed(why.clone())),
            Wait::Cancelled { id, .. } => (id, State::Cancelled),
        };
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.wished.id == *id) {
            (waiting.state, waiting.ended) = (state, Some(at));
        }
    }
}

impl Engine {
    /// Whether the moment is here already.
    pub(super) fn has_come(&self, conversation: &Conversation, when: When, now: u64) -> bool {
        when == When::Now || self.situation(conversation, now).has(when)
    }

    /// The messages that a wish names. What it only selects may have left by its moment.
    fn named(&self, conversation: &Conversation, commit: &Commit, imports: &Imports) -> Vec<u64> {
        let Change::Edit { operations, effects } = &commit.change else { return Vec::new() };
        let names = |operation: &&Operation| !operation.ids().is_empty() || matches!(operation, Operation::Add { .. });
        let of = |effects: &[Effect]| {
            let slots = effects.iter().flat_map(slots).filter(|slot| *slot != PENDING);
            let mut slots: Vec<u64> = slots.map(|slot| slot.0).collect();
            slots.sort_unstable();
            slots.dedup();
            slots
        };
        let naming: Vec<Operation> = operations.iter().filter(names).cloned().collect();
        match naming.len() {
            0 => Vec::new(),
            count if count == operations.len() => of(effects),
            _ => {
                let effects = self.would_be(conversation, commit.id, &naming, imports);
                effects.map(|effects| of(&effects)).unwrap_or_default()
            }
        }
    }
}

impl Composer {
    /// Something of the history is being stored. To be taken while the conversation is locked, and `editing` before:
    /// so it never waits.
    pub(super) fn under_way(&self, id: &str) -> KeyGuard<'_> {
        self.storing.lock(id)
    }

    /// Stores a wish, checked already, so that a power cut does not lose it.
    pub(super) fn put_off(
        &self,
        conversation: MutexGuard<'_, Conversation>,
        commit: Commit,
        (when, cascade): (When, bool),
        mut applied: Applied,
        imports: &Imports,
    ) -> Result<Applied, Refusal> {
        let slots = self.engine.named(&conversation, &commit, imports);
        let (operations, reverts) = match commit.change {
            Change::Edit { operations, .. } => (operations, None),
            Change::Revert { commits, how } => (Vec::new(), Some(Reverts { commits, how, cascade })),
            Change::Inherit { .. } => return Ok(applied),
        };
        let id = format!("w{}", conversation.waiting.len() + 1);
        let wished = Wished {
            id: id.clone(),
            when,
            branch: conversation.history.current().to_owned(),
            operations,
            reasons: commit.reasons,
            author: commit.author,
            note: commit.note,
            slots,
            numbered: true,
            summary: commit.summary,
            tokens_before: commit.tokens_before,
            tokens_after: commit.tokens_after,
            reverts,
        };
        self.store_wait(conversation, &Wait::Wished(Box::new(wished)), commit.at)?;
        applied.waiting = Some(id);
        Ok(applied)
    }

    /// The wishes of a conversation that wait, and what became of others.
    pub fn waiting(&self, name: &str) -> Result<WaitingView, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let situation = self.engine.situation(&conversation, now());
        Ok(WaitingView {
            conversation: conversation.id.clone(),
            cold_at: situation.warm_until,
            tokens: situation.tokens,
            limit: situation.limit,
            wishes: conversation.waiting.iter().rev().map(Waiting::view).collect(),
        })
    }

    /// Cancels a deferred edit, or dismisses one that failed.
    pub fn cancel(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let waiting = conversation.wish(id, State::can_be_cancelled)?;
        match &waiting.state {
            State::Waiting | State::Failed(_) => {}
            State::Made(commit) => {
                return Err(Refusal::new(
                    ErrorCode::NotWaiting,
                    format!("`{id}` is no longer pending: it was made as {commit}."),
                    hint![Command::Revert.with(commit.to_string()), " reverts it."],
                ));
            }
            State::Cancelled => {
                return Err(Refusal::new(
                    ErrorCode::NotWaiting,
                    format!("`{id}` was cancelled already."),
                    hint![Command::Waiting, " lists those that wait."],
                ));
            }
        }
        let cancelled = Wait::Cancelled { id: id.to_owned(), author: author.to_owned() };
        self.store_wait(conversation, &cancelled, now())?;
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let view = conversation.waiting.iter().find(|waiting| waiting.wished.id == id).map(Waiting::view);
        view.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownWish,
                format!("There is no pending change `{id}`."),
                hint![Command::Waiting, " lists them."],
            )
        })
    }

    /// Makes a deferred edit now, whatever it waits for.
    pub fn accept(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let name = &self.meant(name)?;
        let mut view = self.make_now(name, id, author)?;
        view.remarks.extend(self.upload_remark(name));
        Ok(view)
    }

    fn make_now(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let mut waiting = conversation.wish(id, State::can_be_accepted)?.clone();
        if !waiting.state.can_be_accepted() {
            let message = format!("`{id}` is no longer pending: it is {}.", waiting.state.name());
            return Err(Refusal::new(
                ErrorCode::NotWaiting,
                message,
                hint![Command::Waiting.with("--all"), " shows what became of it."],
            ));
        }
        let at = now();
        conversation.leave_what_is_gone(&mut waiting.wished)?;
        let imports = self.gather_soon(&conversation, &waiting.wished.operations);
        let mut commit = self.engine.make(&conversation, &waiting.wished, (waiting.at, at), &imports)?;
        let note = commit.note.take().into_iter().chain([format!("accepted by {author}")]);
        commit.note = Some(note.collect::<Vec<_>>().join("; "));
        let told =
            self.engine.note_accepted(&conversation, &waiting.wished, &commit, self.automatic.get().as_deref())?;
        let made = Wait::Made { id: id.to_owned(), commit: commit.id, request: None };
        let mut records = vec![
            record(&conversation.id, at, log::COMMIT, &commit, Vec::new()),
            record(&conversation.id, at, log::WAIT, &made, Vec::new()),
        ];
        records.extend(told);
        let mut next = conversation.history.clone();
        next.push(commit);
        let id = conversation.id.clone();
        let _untold = self.store_now(conversation, records, next)?;
        let shared = self.conversation(&id)?;
        let mut conversation = lock(&shared);
        conversation.wait(&made, at);
        self.heed(&conversation);
        let view = conversation.waiting.iter().find(|one| one.wished.id == waiting.wished.id).map(Waiting::view);
        view.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownWish,
                "This change is no longer known.",
                hint![Command::Waiting, " lists them."],
            )
        })
    }

    /// Stores what happens to a wish, then makes it count. While the disk works nobody else waits.
    fn store_wait(&self, mut conversation: MutexGuard<'_, Conversation>, wait: &Wait, at: u64) -> Result<(), Refusal> {
        let id = conversation.id.clone();
        let mut step = Step { records: vec![record(&id, at, log::WAIT, wait, Vec::new())], ..Step::default() };
        // How it will be noted; what was is put back, for it does not count before it is stored.
        let before = conversation.waiting.clone();
        conversation.wait(wait, at);
        step.notes = notes(&conversation);
        conversation.waiting = before;
        let _under_way = self.under_way(&id);
        let losses = conversation.log.losses;
        drop(conversation);
        let _untold = self.writer.write_now(step, losses).map_err(|error| {
            Refusal::new(
                ErrorCode::NotStored,
                format!("The change could not be stored: {error}."),
                hint!["Nothing was changed. Is the disk full? ", Command::Doctor, " checks the store."],
            )
        })?;
        // It may have been dropped from memory meanwhile, and then was replayed with the new record or will be.
        if let Some(shared) = self.get(&id)? {
            let mut conversation = lock(&shared);
            conversation.wait(wait, at);
            self.heed(&conversation);
        }
        Ok(())
    }

    /// Holds its requests while wishes wait, and sets the alarm for those that a clock wakes.
    pub(crate) fn heed(&self, conversation: &Conversation) {
        self.held.put(&card::of(conversation), conversation.is_held());
        self.set_alarm(conversation);
    }

    pub(crate) fn set_alarm(&self, conversation: &Conversation) {
        let branch = conversation.history.current();
        let is_woken = |waiting: &&Waiting| {
            let wished = &waiting.wished;
            waiting.state == State::Waiting && wished.when == When::Cold && wished.branch == branch
        };
        let wakes = conversation.waiting.iter().any(|waiting| is_woken(&waiting));
        self.alarm.set(&conversation.id, wakes.then(|| conversation.warm_until()));
    }
}

/// What is noted of a conversation: that its requests are held, and that wishes wait.
pub(crate) fn notes(conversation: &Conversation) -> Vec<Note> {
    let id = &conversation.id;
    vec![mark(id, EDITED, conversation.is_held()), mark(id, WAITING, conversation.waits())]
}

/// The client's messages that an effect names.
fn slots(effect: &Effect) -> Vec<SlotId> {
    let of_message = |message: &MessageRef| match message {
        MessageRef::Slot(slot) => *slot,
        MessageRef::Reply { after, .. } => *after,
    };
    let of_key = |key: &FrameKey| match key {
        FrameKey::Opened(slot) => Some(*slot),
        FrameKey::Made { .. } => None,
    };
    let of_frames = |frames: &[FrameRef]| frames.iter().filter_map(|frame| of_key(&frame.key)).collect::<Vec<_>>();
    let of_place = |place: &Place| match place {
        Place::After(frame) => of_key(&frame.key),
        Place::Start => None,
    };
    match effect {
        Effect::Replace { covers, .. } => {
            let of_cover = |cover: &Cover| match cover {
                Cover::Blocks(covered) => Some(of_message(&covered.of)),
                Cover::Made(_) | Cover::System { .. } | Cover::Tool { .. } => None,
            };
            covers.iter().filter_map(of_cover).collect()
        }
        Effect::Results { results, .. } => results.iter().map(|result| of_message(&result.of)).collect(),
        Effect::Restore { .. } => Vec::new(),
        Effect::Insert { to, .. } => of_place(to).into_iter().collect(),
        Effect::Move { frames, to } => of_frames(frames).into_iter().chain(of_place(to)).collect(),
        Effect::Combine { frames } => of_frames(frames),
        Effect::Split { frame, .. } | Effect::Title { frame, .. } => of_key(frame).into_iter().collect(),
        Effect::Pin { frames, .. } => frames.iter().filter_map(of_key).collect(),
    }
}
