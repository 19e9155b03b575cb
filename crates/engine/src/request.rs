//! A request arrives in its conversation: the steps from the client's bytes to those that leave, and the records.
//!
//! [`Engine::arrive`] places the request and applies due edits, [`Engine::leave`] composes it, [`Engine::book`] returns
//! the records. Only new messages are parsed and hashed.

pub mod circumstances;
mod flattened;
pub mod leave;
pub mod turn;

use crate::attribution::{self, AttributedRequest, Inheritance, ReceivedRequest};
use crate::automatic::Moment;
use crate::card::{self, Card};
use crate::compose::{Ground, Ready};
use crate::conversation::cache_forecast::Forecast;
use crate::conversation::left::begins_with_summary;
use crate::conversation::policy::ToolUse;
use crate::conversation::{Conversation, FOLDER_TURNS};
use crate::edit::handle;
use crate::log::{self, ArrivalRecord};
use crate::{EDITED, Engine, Problem, mark, record};
use circumstances::Circumstances;
use ctx_core::edit::Commit;
use ctx_core::edit::fold::View;
use ctx_core::edit::history::Change;
use ctx_core::fast_map::FastSet;
use ctx_core::reconcile::{Sighting, Verdict, reconcile};
use ctx_core::{Class, SlotId};
use ctx_store::{Hash, Step};
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use leave::{beside, on_path};
use std::sync::Arc;
use turn::{Messages, TurnDraft, Versions, is_trusted, slots};

/// Identifies the request of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub conversation: String,
    pub request: u32,
    pub class: Class,
    /// Whether it is a turn of the conversation rather than side traffic.
    pub turn: bool,
    /// The losses of the conversation when it came. If there are more, its number may belong to another request.
    pub losses: u64,
}

/// A request between its arrival and its record.
pub struct Entry {
    arrived: ArrivalRecord,
    /// It is a turn of the current path.
    is_current: bool,
    body: Body,
    envelope: Arc<Envelope>,
    /// The previously kept body, if this one is only inspected.
    spare: Option<Body>,
    packed: Option<Hash>,
    /// The number of leading messages that equal those of the path.
    same: usize,
    differs: Option<(usize, Option<usize>)>,
    had_pending: bool,
    /// The index of its own record among those of the step.
    place: usize,
    uses: Vec<Hash>,
    step: Step,
}

impl Entry {
    /// Whether it is a turn of the conversation rather than side traffic.
    pub fn is_turn(&self) -> bool {
        self.is_current
    }
}

/// The records to store for a request, and the card of its conversation if it changed.
pub struct Booking {
    pub step: Step,
    pub card: Option<Card>,
    /// The tools of the conversation, if they changed.
    pub tools: Option<ToolUse>,
}

impl Engine {
    /// Places a request in its conversation, and applies the edits that its arrival triggers.
    pub fn arrive(&self, conversation: &mut Conversation, found: AttributedRequest, by: &Circumstances<'_>) -> Entry {
        if by.counting {
            return side(conversation, Class::Auxiliary, found.received, by, Step::default());
        }
        let mut step = Step::default();
        if !conversation.log.introduced {
            step.records.push(record(conversation.id(), by.at, log::OPENED, conversation.opened(), Vec::new()));
            conversation.log.introduced = true;
        }
        conversation.progress.requests += 1;
        self.asked(conversation, conversation.progress.requests, by.added);
        if found.class.is_turn() {
            return self.turn(conversation, found, by, step);
        }
        conversation.progress.heard = conversation.progress.heard.max(by.at);
        let ReceivedRequest { body, envelope, .. } = &found.received;
        conversation.progress.elsewhere |= envelope.threaded;
        let (request, continues) = (conversation.progress.requests, envelope.continues.as_deref());
        let thread = conversation.continue_thread(request, continues, body);
        if thread {
            step.notes.push(conversation.pending_note());
        }
        conversation.usage.sides.came(request, found.class.name(), by.at);
        let mut entry = side(conversation, found.class, found.received, by, step);
        entry.arrived.thread = thread;
        entry
    }

    /// Stores the new messages of a turn, and makes it the current path.
    fn turn(
        &self,
        conversation: &mut Conversation,
        found: AttributedRequest,
        by: &Circumstances<'_>,
        step: Step,
    ) -> Entry {
        let AttributedRequest { received, class, detail, origin } = found;
        let ReceivedRequest { body, same, envelope, packed, spare, messages } = received;
        // Before this request: it may be the first for its model, but an edit would have the others rewrite later.
        let mut warm_until = conversation.warm_until();
        self.expect_model(conversation, envelope.model.as_deref(), &body);
        conversation.progress.heard = conversation.progress.heard.max(by.at);
        // After a gap in the log everything is recorded again; nothing may refer to lost records.
        let same = if conversation.log.broken { 0 } else { same.min(conversation.messages.tree.current().len()) };
        conversation.composing.keep(same);
        conversation.composing.chain.keep(same);
        conversation.reasoning.keep(same);
        let (facts, cuts) = messages.filter(|_| same == 0).unwrap_or_else(|| attribution::read_from(&body, same));
        by.give_way();
        let compacted = by.hints.compacted || (same == 0 && begins_with_summary(facts.iter()));
        let unanswered = !conversation.progress.answered;
        let placed = reconcile(&conversation.messages.tree, &Sighting { same, rest: &facts, compacted, unanswered });
        let verdict = placed.verdict.name();
        let mut draft = TurnDraft { placed, same, is_current: false, step, uses: Vec::new(), detail, verdict, by };
        origin.moved.into_iter().for_each(|moved| draft.moved(conversation, moved));
        let inherited = origin.fork.map(|fork| draft.fork(conversation, fork, begins_with_summary(facts.iter())));
        let is_current = is_trusted(conversation, by.hints.client, &draft.placed, envelope.tools.is_some());
        draft.is_current = is_current;
        let packed = draft.pack(&body, packed, conversation.log.broken);
        let path = slots(conversation, &draft.placed, same);
        let new = path.iter().copied().filter(|slot| !conversation.messages.versions.contains_key(slot)).collect();
        let turn = draft.record(conversation, &path, &body, origin.bound);
        let messages = Messages { body: &body, facts, cuts, path };
        let Versions { turn, fresh, changed, differs } = draft.versions(conversation, turn, messages);
        let TurnDraft { placed, mut step, uses, detail, verdict, .. } = draft;
        if is_current && conversation.folder().is_none() && conversation.progress.turns < FOLDER_TURNS {
            conversation.find_folder(Some(&body));
        }
        let place = step.records.len();
        let head = conversation.history.head();
        // The client has sent the reply back, in its own words.
        let had_pending = is_current && !std::mem::take(&mut conversation.newest.pending).is_empty();
        if is_current {
            conversation.end_thread();
        }
        conversation.grow(&turn, fresh, packed, placed.verdict == Verdict::Compaction);
        if let Some(inherited) = inherited.filter(|_| is_current) {
            // The provider caches the part that a fork shares with its parent as long as the parent's.
            warm_until = warm_until.max(inherited.pending.warm_until);
            self.inherit_pending(conversation, &inherited.pending, by.at, &mut step);
            self.inherit(conversation, &inherited, &envelope, by.at, &mut step);
        }
        let arrived = ArrivalRecord {
            changed,
            detail,
            manner: envelope.manner.key(),
            kept_for: conversation.cache.kept_for,
            asks: by.added.names(),
            turn: Some(turn),
            ..ArrivalRecord::of(
                conversation.progress.requests,
                class,
                verdict,
                &body,
                &envelope,
                (placed.known(), placed.new_messages()),
            )
        };
        let packed = Some(packed);
        let mut entry =
            Entry { arrived, is_current, body, envelope, spare, packed, same, differs, had_pending, place, uses, step };
        self.edit_on_arrival(conversation, &mut entry, by, (warm_until, &new));
        entry.note_edits(conversation, head);
        entry
    }

    /// Sets the lifetime of the cache, and the tokenizer, to those of a request.
    fn expect_model(&self, conversation: &mut Conversation, model: Option<&str>, body: &Body) {
        let asked = body.wire().asked_lifetime(body.bytes(), body.spans());
        conversation.cache.keep_for(self.kept_for(model, asked));
        model.into_iter().for_each(|model| conversation.usage.calibration.expects(model));
    }

    /// Applies deferred edits whose moment is this request, then those of the automatic editor. They affect this
    /// request.
    fn edit_on_arrival(
        &self,
        conversation: &mut Conversation,
        entry: &mut Entry,
        by: &Circumstances<'_>,
        (warm_until, new): (u64, &FastSet<SlotId>),
    ) {
        if !by.is_held || !entry.is_current || !(conversation.waits() || by.editor.is_some()) {
            return;
        }
        // Until it is composed, the conversation is in the state of this request.
        let count = entry.body.spans().messages.len();
        let body = std::mem::replace(&mut entry.body, Body::empty(conversation.wire()));
        let kept = conversation.newest.last.body.replace(body);
        let aligned = std::mem::replace(&mut conversation.newest.last.aligned, count);
        let around = std::mem::replace(&mut conversation.newest.last.envelope, entry.envelope.clone());
        conversation.newest.envelope = entry.envelope.clone();
        if !by.is_committing {
            if conversation.waits() {
                self.at_arrival(conversation, (by.at, warm_until), by.imports, &mut entry.step);
            }
            if let Some(editor) = by.editor {
                let moment = Moment { at: by.at, warm_until, new };
                self.slim(conversation, editor, by.figures, &moment, &mut entry.step);
                self.act(conversation, editor, &moment, &mut entry.step);
            }
        }
        (conversation.newest.last.aligned, conversation.newest.last.envelope) = (aligned, around);
        if let Some(body) = std::mem::replace(&mut conversation.newest.last.body, kept) {
            entry.body = body;
        }
    }

    /// Composes a held request and calls `ready` with it; if `ready` is not called, it leaves unchanged. After an error
    /// it must not leave.
    pub fn leave(&self, conversation: &mut Conversation, entry: &mut Entry, ready: Ready<'_>) -> Result<(), Problem> {
        let Entry { body, envelope, same, .. } = entry;
        // The provider already has the content that an edit would change.
        if envelope.threaded {
            return Ok(());
        }
        if entry.arrived.turn.is_none() {
            // The newest body of the path was set aside for this one.
            std::mem::swap(&mut conversation.newest.last.body, &mut entry.spare);
            let cut = self.cut(conversation, body, *same);
            if cut.is_ok() {
                std::mem::swap(&mut conversation.newest.last.body, &mut entry.spare);
            }
            match cut? {
                Some(cut) => {
                    let detail = format!("{} of {} removed texts were cut out of it", cut.found, cut.removed);
                    entry.arrived.detail = Some(detail);
                    ready(Some(cut.outgoing));
                }
                None => drop(beside(conversation, body, envelope, *same, ready)),
            }
            return Ok(());
        }
        let composed = match entry.is_current {
            true => on_path(conversation, body, envelope, ready),
            false => beside(conversation, body, envelope, *same, ready),
        };
        entry.arrived.composed = composed;
        conversation.reasoning.strayed |= composed;
        if composed && entry.is_current {
            conversation.cache.rewritten();
        }
        Ok(())
    }

    /// The records of a request that is on its way.
    pub fn book(&self, conversation: &mut Conversation, entry: Entry, by: &Circumstances<'_>) -> Booking {
        let Entry { mut arrived, is_current, body, envelope, differs, mut uses, mut step, .. } = entry;
        let is_turn = arrived.turn.is_some();
        arrived.made_at = conversation.first_changed(&arrived.made);
        if is_current {
            let rules = self.models.rules(envelope.model.as_deref(), body.wire().cache_rules());
            let Forecast { expects, writes } = conversation.forecast(&body, &envelope, by.at, &rules);
            (arrived.expects, arrived.writes) = (expects, writes);
            arrived.differs = differs.and_then(|(message, block)| conversation.named(message, block));
            conversation.cache.forecast.asked(&arrived, by.at);
        }
        (by.give_way)();
        if is_turn {
            let parts = by.added.left_with();
            let sent = &mut conversation.composing.parts;
            arrived.sent = parts.and_then(|parts| sent.note(&parts, body.bytes(), &mut uses, &mut step.blobs));
        }
        step.records.insert(entry.place, record(conversation.id(), by.at, log::ARRIVED, &arrived, uses));
        match entry.spare {
            Some(kept) if !is_current => conversation.newest.last.body = Some(kept),
            _ => {
                conversation.newest.last.aligned = if is_current { body.spans().messages.len() } else { entry.same };
                conversation.newest.last.envelope = envelope.clone();
                conversation.newest.last.packed = entry.packed;
                conversation.newest.last.body = Some(body);
            }
        }
        if is_current {
            conversation.newest.envelope = envelope;
            conversation.progress.last_turn = conversation.progress.requests;
            conversation.progress.elsewhere = false;
            conversation.progress.last_activity = by.at;
            if entry.had_pending {
                step.notes.push(conversation.pending_note());
            }
        }
        (by.give_way)();
        // The next request may have to be held.
        if let Some(editor) = by.editor.filter(|_| is_current && !by.is_held) {
            self.watches(conversation, editor, by.at);
        }
        let card = is_turn.then(|| card::of(conversation));
        step.notes.extend(card.as_ref().map(card::note));
        let tools = if is_current { conversation.update_tool_use(by.at) } else { None };
        step.notes.extend(tools.as_ref().map(|tools| tools.note(conversation.id())));
        Booking { step, card, tools }
    }

    /// Copies the operations on the content that a fork shares with its parent.
    fn inherit(
        &self,
        conversation: &mut Conversation,
        inherited: &Inheritance,
        envelope: &Envelope,
        at: u64,
        step: &mut Step,
    ) {
        let Inheritance { from, effects, calibration, kept, .. } = inherited;
        let (slots, messages) = conversation.messages.tree.path().map(|slot| (slot.id, &slot.message)).unzip();
        let ground = Ground::new(slots, messages, envelope);
        let view = ground.lay(effects.iter().map(|(id, effect)| (*id, effect)).collect());
        let awake = view.effects().filter(|(id, _)| view.status(*id).awake);
        let effects: Vec<_> = awake.map(|(id, effect)| (id, effect.clone())).collect();
        if effects.is_empty() {
            return;
        }
        let scale = |view: &View<'_>| calibration.tokens(ground.weigh(view, envelope));
        let (tokens_before, tokens_after) = (scale(&ground.lay(Vec::new())), scale(&view));
        let commit = Commit {
            id: self.commit_id(conversation, at),
            parent: None,
            at,
            author: "fork".into(),
            note: None,
            reasons: Vec::new(),
            summary: format!("inherited from {from}"),
            kept: kept
                .iter()
                .filter(|kept| effects.iter().any(|(_, effect)| handle::names(effect, &kept.handle)))
                .cloned()
                .collect(),
            change: Change::Inherit { from: from.clone(), effects },
            tokens_before,
            tokens_after,
            unattended: false,
            exception: false,
        };
        step.records.push(record(conversation.id(), at, log::COMMIT, &commit, Vec::new()));
        step.notes.push(mark(conversation.id(), EDITED, true));
        conversation.progress.asked = Some(commit.id);
        conversation.history.push(commit);
    }
}

impl Entry {
    /// Records the commits that this request triggered.
    fn note_edits(&mut self, conversation: &Conversation, before: Option<ctx_core::edit::CommitId>) {
        let made = conversation.history.line(conversation.history.head()).map(|commit| commit.id);
        self.arrived.made = made.take_while(|id| Some(*id) != before).collect();
        self.arrived.next = conversation.policy.next.filter(|_| self.is_current);
    }
}

/// Side traffic adds one line to the timeline and nothing else.
fn side(
    conversation: &mut Conversation,
    class: Class,
    received: ReceivedRequest,
    by: &Circumstances<'_>,
    step: Step,
) -> Entry {
    let ReceivedRequest { body, same, envelope, packed, spare, .. } = received;
    conversation.composing.keep(same);
    let new = body.spans().messages.len().saturating_sub(same);
    let mut arrived =
        ArrivalRecord::of(conversation.progress.requests, class, log::SIDE, &body, &envelope, (same, new));
    arrived.asks = by.added.names();
    let place = step.records.len();
    Entry {
        arrived,
        is_current: false,
        body,
        envelope,
        spare,
        packed,
        same,
        differs: None,
        had_pending: false,
        place,
        uses: Vec::new(),
        step,
    }
}
