//! From a request that has passed to what is known of its conversation.
//!
//! Read [`Composer::observe`] top to bottom: find the conversation, reconcile, record. Only what
//! the client has not sent before is parsed and hashed.

use crate::attribution::{self, Attributed, Inherited, Newborn, Origin, Received};
use crate::automatic::{Automatic, Moment};
use crate::cache_forecast::{Forecast, first_difference};
use crate::conversation::{Conversation, Worn};
use crate::directory::{Shared, lock};
use crate::edit::{AtHand, Ground, Outgoing, Ready, Sent, digest};
use crate::log::{self, Arrived, Turn, Version};
use crate::provider::{Added, Request};
use crate::recorder::{Order, give_way};
use crate::{Composer, EDITED, Problem, card, envelope, mark, record};
use ctx_clients::Hints;
use ctx_core::edit::Commit;
use ctx_core::edit::fold::View;
use ctx_core::edit::history::Change;
use ctx_core::message::Message;
use ctx_core::reconcile::{Place, Reconciled, Sighting, Verdict, reconcile};
use ctx_core::tree::Slot;
use ctx_core::{Class, SlotId};
use ctx_store::{Hash, Note, Step};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::undress;
use ctx_wire::envelope::Envelope;
use ctx_wire::rope::Pieces;
use std::cell::Cell;
use std::sync::{Arc, MutexGuard};

/// The verdict on side traffic.
pub(crate) const SIDE: &str = "side";

/// A request that was forwarded, complete and decoded.
pub struct Seen {
    pub wire: &'static dyn Wire,
    pub hints: Hints,
    pub pieces: Pieces,
    pub at: u64,
    /// It only asks how many tokens it would be: it leaves no trace.
    pub counting: bool,
}

/// Which request an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub conversation: String,
    pub request: u32,
    /// Whether it was a turn of the conversation, not side traffic.
    pub turn: bool,
}

impl Composer {
    /// Takes note of a request. `None` when it belongs to no conversation.
    pub fn observe(&self, seen: Seen) -> Result<Option<Ticket>, Problem> {
        self.look(&seen, None, None)
    }

    /// Takes note of a request that is held. How it leaves is said before the rest is done; if nothing is said, it
    /// leaves as it came. On an error nothing is noted, and an edited conversation must not leave.
    pub fn hold(&self, seen: Seen, ready: Ready<'_>) -> Result<Option<Ticket>, Problem> {
        self.look(&seen, Some(ready), None)
    }

    /// Finds the conversation of a request and books the request in it. The conversation is locked from the moment its
    /// body is compared until the step is with the writer; only the look at others that a new conversation may come
    /// from happens outside of the lock. `order`: where the request stands among those of other conversations.
    pub(crate) fn look(
        &self,
        seen: &Seen,
        mut ready: Option<Ready<'_>>,
        order: Option<Order>,
    ) -> Result<Option<Ticket>, Problem> {
        let (mut parsed, mut agent) = (None, None);
        if seen.hints.session.is_none()
            && let Some(shared) = self.longest_prefix(&seen.pieces)
        {
            let mut conversation = lock(&shared);
            if self.is_current(&conversation.id, &shared) {
                let received = attribution::receive(&mut conversation, seen)?;
                if attribution::goes_on(&conversation, &received) {
                    let found = Attributed::new(&conversation, received, &seen.hints, None);
                    agent = found.unnamed_agent(&conversation, &seen.hints);
                    if agent.is_none() {
                        return self.enter(&shared, conversation, seen, found, ready).map(Some);
                    }
                    parsed = Some(found.withdraw(&mut conversation));
                } else {
                    parsed = Some((received.body, received.envelope));
                }
            }
        }
        loop {
            let Some((shared, detail)) = self.attribute(seen, &mut parsed, agent.as_ref())? else { return Ok(None) };
            let mut conversation = lock(&shared);
            // It was forgotten while we waited for it.
            if !self.is_current(&conversation.id, &shared) {
                continue;
            }
            let received = match parsed.take() {
                Some(parsed) => attribution::beside(&mut conversation, parsed),
                None => attribution::receive(&mut conversation, seen)?,
            };
            let mut found = Attributed::new(&conversation, received, &seen.hints, detail);
            if agent.is_none() {
                agent = found.unnamed_agent(&conversation, &seen.hints);
                if agent.is_some() {
                    parsed = Some(found.withdraw(&mut conversation));
                    continue;
                }
            }
            if let Some(newborn) = Newborn::of(&conversation).filter(|_| found.class.is_turn() && !seen.counting) {
                drop(conversation);
                let messages = attribution::read_from(&found.received.body, 0);
                found.origin = self.origin(&newborn, &messages.0, order)?;
                if ready.is_some() && found.origin.fork.as_ref().is_some_and(|fork| fork.lost_edits) {
                    return Err(Problem::LostEdits);
                }
                found.received.messages = Some(messages);
                conversation = lock(&shared);
                if !self.is_current(&conversation.id, &shared) {
                    parsed = Some((found.received.body, found.received.envelope));
                    continue;
                }
                // A request that came by another way was first: nothing is known of what both share.
                if !conversation.tree.is_empty() {
                    found.origin = Origin::default();
                    found.received.same = 0;
                }
            }
            return self.enter(&shared, conversation, seen, found, ready.take()).map(Some);
        }
    }

    /// Books a request in its conversation, which is locked until all of it is with the writer.
    fn enter(
        &self,
        shared: &Shared,
        mut conversation: MutexGuard<'_, Conversation>,
        seen: &Seen,
        found: Attributed,
        mut ready: Option<Ready<'_>>,
    ) -> Result<Ticket, Problem> {
        if conversation.lost_edits && ready.is_some() {
            drop(found.withdraw(&mut conversation));
            return Err(Problem::LostEdits);
        }
        let Received { body, envelope, same, .. } = &found.received;
        let request = Request { class: found.class, body, envelope, same: *same, counting: seen.counting };
        self.note_meant(&seen.hints, &conversation, &request);
        let is_held = ready.is_some();
        let added = if is_held { self.adds(&conversation, &request) } else { Added::default() };
        // However it is composed, it leaves with what is asked of the provider.
        let is_told = Cell::new(false);
        let mut leave = |outgoing: Option<Outgoing>| {
            if let Some(ready) = ready.as_mut().filter(|_| !is_told.replace(true)) {
                ready(added.lay(outgoing));
            }
        };
        let mut step = Step::default();
        let ticket = self.book(&mut conversation, seen, found, &mut step, is_held.then_some(&mut leave), &added);
        leave(None);
        if seen.counting {
            return Ok(ticket);
        }
        if conversation.waits() {
            self.set_alarm(&conversation);
        }
        let (id, weight) = (conversation.id.clone(), conversation.weight());
        self.newest.put(&seen.hints, &conversation);
        // Sent before anybody can see the new state: a reader that settles then finds all of it stored.
        self.write(step);
        drop(conversation);
        self.weigh_loaded(&id, shared, weight);
        Ok(ticket)
    }

    /// Adds a request to its conversation; one that only counts leaves no trace.
    fn book(
        &self,
        conversation: &mut Conversation,
        seen: &Seen,
        found: Attributed,
        step: &mut Step,
        ready: Option<Ready<'_>>,
        added: &Added,
    ) -> Ticket {
        if seen.counting {
            side(conversation, Class::Auxiliary, seen, found.received, step, ready, added);
            return Ticket { conversation: conversation.id.clone(), request: conversation.requests, turn: false };
        }
        if !conversation.introduced {
            step.records.push(record(&conversation.id, seen.at, log::OPENED, &conversation.opened, Vec::new()));
            conversation.introduced = true;
        }
        conversation.requests += 1;
        let mut ticket = Ticket { conversation: conversation.id.clone(), request: conversation.requests, turn: false };
        self.asked(conversation, ticket.request, added);
        if found.class.is_turn() {
            ticket.turn = self.turn(conversation, seen, found, step, ready, added);
        } else {
            conversation.heard = conversation.heard.max(seen.at);
            side(conversation, found.class, seen, found.received, step, ready, added);
            conversation.sides.came(ticket.request, found.class.name(), seen.at);
            self.note_sides(conversation, step);
        }
        ticket
    }

    /// A turn of the conversation: place it, store what is new, make it the path to look at.
    /// False when it is kept but not looked at, for it may be something else.
    fn turn(
        &self,
        conversation: &mut Conversation,
        seen: &Seen,
        found: Attributed,
        step: &mut Step,
        ready: Option<Ready<'_>>,
        added: &Added,
    ) -> bool {
        let Attributed { received, class, mut detail, origin } = found;
        let is_held = ready.is_some();
        // Nobody is given way while a client waits: up to the moment its request leaves.
        let waits = Cell::new(is_held);
        let give_way = || {
            if !waits.get() {
                give_way()
            }
        };
        let Received { mut body, same, envelope, packed, spare, messages } = received;
        conversation.keep_for(self.kept_for(envelope.model.as_deref()));
        // As it was before this request warms it. Each model has a cache of its own.
        let model = envelope.model.as_deref();
        let is_other =
            conversation.envelope.model.as_deref() != model && !conversation.cache_forecast.holds(model, seen.at);
        let warm_until = if is_other { 0 } else { conversation.warm_until() };
        conversation.heard = conversation.heard.max(seen.at);
        // With a gap in the log everything is said again, and nothing is built on what was lost.
        let same = if conversation.broken { 0 } else { same.min(conversation.tree.current().len()) };
        conversation.keep(same);
        conversation.chain.keep(same);
        let count = body.spans().messages.len();
        let (facts, cuts) = messages.filter(|_| same == 0).unwrap_or_else(|| attribution::read_from(&body, same));
        give_way();
        let compacted = seen.hints.compacted || (same == 0 && begins_with_summary(&facts));
        let mut placed = reconcile(&conversation.tree, &Sighting { same, rest: &facts, compacted });
        let mut verdict = placed.verdict.name();
        let mut inherited = None;
        if let Some(fork) = origin.fork {
            verdict = "fork";
            detail = Some(fork.detail);
            inherited = Some(fork.inherited);
            // A fork of a summary does not know how the conversation began.
            let begun = begins_with_summary(&facts);
            let title = |from: &str| lock(&self.directory).card(from).map(|card| card.title.clone());
            conversation.opened.title = title(&fork.from).filter(|_| begun);
            conversation.opened.forked_from = Some(fork.from);
            placed.places = fork.places;
            step.records.retain(|record| record.kind != log::OPENED);
            step.records.push(record(&conversation.id, seen.at, log::OPENED, &conversation.opened, Vec::new()));
        }
        let trusted = is_trusted(conversation, seen, &placed, envelope.tools.is_some());
        let restart = conversation.broken && trusted;

        let mut uses = Vec::new();
        let packed = match packed {
            Some(hash) if !restart => {
                uses.push(hash);
                hash
            }
            _ => {
                let packed = envelope::pack(&body);
                uses.extend(packed.blobs.iter().map(|(hash, _)| *hash));
                let hash = packed.hash();
                step.blobs.extend(packed.blobs);
                hash
            }
        };
        give_way();
        let slots = slots(conversation, &placed, same);
        let behind_base = slots.get(placed.depth - same..).unwrap_or_default();
        let mut turn = Turn {
            base: placed.base.filter(|_| !restart),
            nodes: if restart { 0 } else { conversation.tree.node_count() },
            slots: if restart { &slots } else { behind_base }.iter().map(|slot| slot.0).collect(),
            versions: Vec::new(),
            envelope: 0,
            between: between(&body),
            current: trusted,
            reply: None,
            restart,
            bound: origin.bound,
        };
        if !turn.bound.is_empty() {
            step.notes.push(mark(&conversation.id, EDITED, true));
        }
        let new = slots.iter().copied().filter(|slot| !conversation.versions.contains_key(slot)).collect();
        let mut fresh = Vec::new();
        let unsent = conversation.pending.as_ref().filter(|_| placed.verdict == Verdict::Compaction && trusted);
        if let Some(reply) = unsent.filter(|reply| !restart && facts.iter().all(|one| one.key != reply.facts.key)) {
            let slot = conversation.tree.next_slot(placed.new_messages());
            let (bare, worn) = bare(&reply.bytes, &conversation.wire.read(&reply.bytes, ctx_clients::lexicon()).cuts);
            turn.reply = Some(slot.0);
            turn.versions.push(version(slot, &worn, uses.len()));
            uses.push(worn.blob);
            step.blobs.push((worn.blob, bare));
            fresh.push((slot, worn, reply.facts.clone()));
        }
        let mut changed = 0;
        let before: Vec<SlotId> = conversation.tree.path().skip(same).map(|slot| slot.id).collect();
        let mut differs = None;
        for (at, ((facts, cuts), slot)) in (same..).zip(facts.into_iter().zip(cuts).zip(slots)) {
            let known = conversation.versions.get(&slot);
            if !trusted && known.is_some() {
                // The path that people look at keeps the bytes it had.
                continue;
            }
            if at % 16 == 0 {
                give_way();
            }
            let (bare, worn) = bare(body.message(at), &cuts);
            let old = before.get(at - same).filter(|_| differs.is_none() && trusted);
            if let Some(old) = old {
                let block = conversation.tree.slot(*old).and_then(|old| first_difference(&old.message, &facts));
                if *old != slot {
                    differs = Some((at, None));
                } else if known.is_some_and(|known| known.blob != worn.blob) {
                    differs = Some((at, block));
                }
            }
            match known {
                Some(known) if *known == worn && !restart => continue,
                Some(known) => changed += u32::from(known.blob != worn.blob),
                None => {}
            }
            turn.versions.push(version(slot, &worn, uses.len()));
            uses.push(worn.blob);
            step.blobs.push((worn.blob, bare));
            fresh.push((slot, worn, facts));
        }
        // It is said at the beginning; a client that has not said it by then will not.
        if trusted && conversation.folder.is_none() && conversation.turns < 3 {
            conversation.folder = self.folder_of(conversation, Some(&body));
        }
        let mut arrived = Arrived {
            request: conversation.requests,
            class: class.name().into(),
            verdict: verdict.into(),
            known: placed.known() as u32,
            new: placed.new_messages() as u32,
            changed,
            model: envelope.model.as_deref().map(str::to_owned),
            bytes: body.bytes().len() as u64,
            detail,
            composed: false,
            expects: None,
            writes: Vec::new(),
            manner: envelope.manner.key(),
            differs: None,
            asks: added.names(),
            next: None,
            made: Vec::new(),
            made_at: None,
            sent: None,
            turn: Some(turn),
        };
        let arrival = step.records.len();
        let head = conversation.history.head();
        // The reply has come back, in the client's own words.
        let had_pending = trusted && conversation.pending.take().is_some();
        if let Some(turn) = &arrived.turn {
            conversation.grow(turn, fresh, packed, placed.verdict == Verdict::Compaction);
        }
        // What a fork shares with its parent is in the provider's cache as long as the parent's own is.
        let mut warm_until = warm_until;
        if let Some(inherited) = inherited.filter(|_| trusted) {
            warm_until = warm_until.max(inherited.pending.warm_until);
            self.inherit_pending(conversation, &inherited.pending, seen.at, step);
            self.inherit(conversation, &inherited, &envelope, seen.at, step);
        }
        // It counts for the very request whose arrival is the moment.
        let editor = self.automatic.get().filter(|_| is_held && trusted);
        if is_held && trusted && (conversation.waits() || editor.is_some()) {
            let moment = Moment { at: seen.at, warm_until, new: &new };
            body = self.arrives(conversation, body, &envelope, (moment, editor.as_deref()), step);
        }
        let made = conversation.history.line(conversation.history.head()).map(|commit| commit.id);
        arrived.made = made.take_while(|id| Some(*id) != head).collect();
        arrived.made_at = conversation.first_changed(&arrived.made);
        arrived.next = conversation.next.filter(|_| trusted);
        arrived.composed = match ready {
            Some(ready) if trusted => leave(conversation, &body, &envelope, ready),
            Some(ready) => beside(conversation, &body, &envelope, same, ready),
            None => false,
        };
        waits.set(false);
        conversation.strayed |= arrived.composed;
        if arrived.composed && trusted {
            conversation.rewritten();
        }
        if trusted {
            let rules = self.models.rules(envelope.model.as_deref(), body.wire().cache_rules());
            let Forecast { expects, writes } = conversation.forecast(&body, &envelope, seen.at, &rules);
            (arrived.expects, arrived.writes) = (expects, writes);
            arrived.differs = differs.and_then(|(message, block)| conversation.named(message, block));
            conversation.cache_forecast.asked(&arrived, seen.at);
        }
        give_way();
        let parts = added.left_with();
        let sent = &mut conversation.sent_parts;
        arrived.sent = parts.and_then(|parts| sent.note(&parts, body.bytes(), &mut uses, &mut step.blobs));
        step.records.insert(arrival, record(&conversation.id, seen.at, log::ARRIVED, &arrived, uses));
        match spare {
            Some(kept) if !trusted => conversation.body = Some(kept),
            _ => {
                conversation.aligned = if trusted { count } else { same };
                conversation.body_envelope = envelope.clone();
                conversation.body_packed = Some(packed);
                conversation.body = Some(body);
            }
        }
        if trusted {
            conversation.envelope = envelope;
            conversation.last_turn = conversation.requests;
            conversation.last_activity = seen.at;
            if had_pending {
                step.notes.push(Note { conversation: conversation.id.clone(), name: "pending".into(), body: None });
            }
        }
        give_way();
        let card = card::of(conversation);
        step.notes.push(card::note(&card));
        self.held.meet(&card);
        lock(&self.directory).put(card);
        // Perhaps the next one has to be held.
        if let Some(editor) = self.automatic.get().filter(|_| trusted && !is_held) {
            self.heed_editor(conversation, &*editor, seen.at);
        }
        trusted
    }

    /// Lets what waits, then the automatic editor, look at the conversation as this request leaves it. Gives its body
    /// back.
    fn arrives(
        &self,
        conversation: &mut Conversation,
        body: Body,
        envelope: &Arc<Envelope>,
        (moment, editor): (Moment<'_>, Option<&dyn Automatic>),
        step: &mut Step,
    ) -> Body {
        let count = body.spans().messages.len();
        let kept = conversation.body.replace(body);
        let aligned = std::mem::replace(&mut conversation.aligned, count);
        let around = std::mem::replace(&mut conversation.body_envelope, envelope.clone());
        conversation.envelope = envelope.clone();
        if conversation.waits() {
            self.at_arrival(conversation, moment.at, moment.warm_until, step);
        }
        if let Some(editor) = editor {
            self.act(conversation, editor, &moment, step);
        }
        (conversation.aligned, conversation.body_envelope) = (aligned, around);
        std::mem::replace(&mut conversation.body, kept).unwrap_or_else(|| Body::empty(conversation.wire))
    }

    /// A fork goes on with the operations on what it shares with the conversation it comes from.
    fn inherit(
        &self,
        conversation: &mut Conversation,
        inherited: &Inherited,
        envelope: &Envelope,
        at: u64,
        step: &mut Step,
    ) {
        let Inherited { from, effects, calibration, .. } = inherited;
        let (slots, messages) = conversation.tree.path().map(|slot| (slot.id, &slot.message)).unzip();
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
            change: Change::Inherit { from: from.clone(), effects },
            tokens_before,
            tokens_after,
            unattended: false,
        };
        step.records.push(record(&conversation.id, at, log::COMMIT, &commit, Vec::new()));
        step.notes.push(mark(&conversation.id, EDITED, true));
        conversation.asked = Some(commit.id);
        conversation.history.push(commit);
        self.held.put(&card::of(conversation), true);
    }
}

/// How a turn of the path leaves. False: as it came.
fn leave(conversation: &mut Conversation, body: &Body, envelope: &Envelope, ready: Ready<'_>) -> bool {
    conversation.own_prefixes();
    let slots: Vec<SlotId> = conversation.tree.path().map(|slot| slot.id).collect();
    let at_hand = AtHand {
        body,
        envelope,
        under: conversation.continue_with(&slots),
        slots,
        messages: conversation.tree.path().map(|slot| &slot.message).collect(),
        digests: conversation.chain.digests().to_vec(),
        memo: Some(&conversation.memo),
    };
    let Some(sent) = conversation.outgoing(&at_hand, ready) else { return false };
    conversation.composed_weight = sent.as_ref().map(|sent| sent.weight);
    remember(conversation, sent);
    true
}

/// Keeps what a composed request was, until its answer comes.
fn remember(conversation: &mut Conversation, sent: Option<Sent>) {
    let request = conversation.requests;
    conversation.sent.extend(sent.map(|sent| (request, sent)));
}

/// How a request leaves that carries the history but adds nothing to it: with the same operations.
fn beside(conversation: &mut Conversation, body: &Body, envelope: &Envelope, same: usize, ready: Ready<'_>) -> bool {
    if !conversation.is_edited() {
        return false;
    }
    let same = same.min(conversation.tree.current().len());
    let count = body.spans().messages.len();
    let mut rest: Vec<Message> = (same..count).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect();
    let placed = reconcile(&conversation.tree, &Sighting { same, rest: &rest, compacted: false });
    conversation.keep(same);
    let mut memo = std::mem::take(&mut conversation.memo);
    let known: Vec<&Slot> = conversation.tree.path().take(same).collect();
    let behind = slots(conversation, &placed, same);
    let before: Vec<&Message> = known.iter().map(|slot| &slot.message).collect();
    ctx_core::links::link(&mut rest, &behind, &before);
    let at_hand = AtHand {
        body,
        envelope,
        slots: known.iter().map(|slot| slot.id).chain(behind).collect(),
        messages: known.iter().map(|slot| &slot.message).chain(&rest).collect(),
        digests: conversation
            .digests()
            .into_iter()
            .take(same)
            .chain((same..count).map(|at| digest(body.wire(), body.message(at))))
            .collect(),
        memo: Some(&memo),
        under: None,
    };
    let sent = conversation.outgoing(&at_hand, ready);
    // Behind what both have, it is another message.
    memo.keep(same);
    conversation.memo = memo;
    let composed = sent.is_some();
    remember(conversation, sent.flatten());
    composed
}

/// Side traffic leaves a line in the timeline and nothing else.
fn side(
    conversation: &mut Conversation,
    class: Class,
    seen: &Seen,
    received: Received,
    step: &mut Step,
    ready: Option<Ready<'_>>,
    added: &Added,
) {
    conversation.keep(received.same);
    let count = received.body.spans().messages.len() as u32;
    let arrived = Arrived {
        request: conversation.requests,
        class: class.name().into(),
        verdict: SIDE.into(),
        known: received.same as u32,
        new: count.saturating_sub(received.same as u32),
        changed: 0,
        model: received.envelope.model.as_deref().map(str::to_owned),
        bytes: received.body.bytes().len() as u64,
        detail: None,
        composed: false,
        expects: None,
        writes: Vec::new(),
        manner: None,
        differs: None,
        asks: added.names(),
        next: None,
        made: Vec::new(),
        made_at: None,
        sent: None,
        turn: None,
    };
    step.records.push(record(&conversation.id, seen.at, log::ARRIVED, &arrived, Vec::new()));
    if let Some(ready) = ready {
        beside(conversation, &received.body, &received.envelope, received.same, ready);
    }
    match received.spare {
        Some(kept) => conversation.body = Some(kept),
        None => {
            conversation.aligned = received.same;
            conversation.body_envelope = received.envelope;
            conversation.body_packed = received.packed;
            conversation.body = Some(received.body);
        }
    }
}

/// Whether a turn is surely one of this conversation. Most clients send titles and the like under the
/// same session; such a path is believed when a later request goes on from it.
fn is_trusted(conversation: &Conversation, seen: &Seen, placed: &Reconciled, has_tools: bool) -> bool {
    let tentative = match placed.verdict {
        Verdict::Unrelated => true,
        Verdict::Return => placed.places.is_empty(),
        _ => false,
    };
    let gains_tools = conversation.envelope.tools.is_none() && has_tools;
    ctx_clients::client(seen.hints.client).tells_side_requests || !tentative || gains_tools
}

/// A version of a slot as it is recorded; `blob`: its place in the record's uses.
fn version(slot: SlotId, worn: &Worn, blob: usize) -> Version {
    let dress = worn.dress.0.iter().map(|(at, bytes)| (*at, String::from_utf8_lossy(bytes).into_owned())).collect();
    Version { slot: slot.0, blob: blob as u32, dress }
}

/// A message without its dress. What cannot be written down as text stays on.
fn bare(message: &[u8], cuts: &[std::ops::Range<usize>]) -> (Vec<u8>, Worn) {
    let is_text =
        |cut: &std::ops::Range<usize>| message.get(cut.clone()).is_some_and(|raw| std::str::from_utf8(raw).is_ok());
    let cuts = if cuts.iter().all(is_text) { cuts } else { &[] };
    let (bare, dress) = undress(message, cuts);
    let worn = Worn { blob: Hash::of(&bare), dress };
    (bare, worn)
}

/// The slots of the messages from `same` on: those that were walked over, then those placed.
fn slots(conversation: &Conversation, placed: &Reconciled, same: usize) -> Vec<SlotId> {
    let tree = &conversation.tree;
    let mut slots: Vec<SlotId> = std::iter::successors(placed.base, |&node| tree.parent(node))
        .take(placed.depth - same)
        .map(|node| tree.slot_at(node).id)
        .collect();
    slots.reverse();
    let mut promised = 0;
    for place in &placed.places {
        slots.push(match place {
            Place::Known(slot) => *slot,
            Place::New => {
                promised += 1;
                tree.next_slot(promised - 1)
            }
        });
    }
    slots
}

pub(crate) fn begins_with_summary(facts: &[Message]) -> bool {
    crate::left::begins_with_summary(facts.iter())
}

/// What stands between the messages, when it is not a comma.
fn between(body: &Body) -> Option<Vec<String>> {
    let messages = &body.spans().messages;
    let gaps = || messages.iter().zip(messages.iter().skip(1)).map(|(one, next)| body.bytes().get(one.end..next.start));
    let first = gaps().next()?;
    let text = |gap: Option<&[u8]>| String::from_utf8_lossy(gap.unwrap_or_default()).into_owned();
    if gaps().all(|gap| gap == first) {
        return (first != Some(b",".as_slice())).then(|| vec![text(first)]);
    }
    Some(gaps().map(text).collect())
}
