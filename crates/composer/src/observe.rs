//! From a request that has passed to what is known of its conversation.
//!
//! Read [`Composer::observe`] top to bottom: receive, classify, reconcile, record. Only what the
//! client has not sent before is parsed and hashed.

use crate::conversation::{Conversation, Worn};
use crate::directory::{Beginning, Shared, lock};
use crate::log::{self, Arrived, Opened, Turn, Version};
use crate::{Composer, Problem, card, envelope, record};
use bytes::Bytes;
use ctx_core::message::{Message, Role};
use ctx_core::reconcile::{Place, Reconciled, Sighting, Verdict, reconcile};
use ctx_core::{Class, SlotId};
use ctx_store::{Hash, Note, Step};
use ctx_wire::anthropic::dress::undress;
use ctx_wire::anthropic::envelope::Envelope;
use ctx_wire::anthropic::identify::{self, Hints, Tail};
use ctx_wire::anthropic::request::{Body, concat};
use ctx_wire::anthropic::{message, words};
use std::sync::Arc;

/// A request that was forwarded, complete and decoded.
pub struct Seen {
    pub hints: Hints,
    pub chunks: Vec<Bytes>,
    pub at: u64,
}

/// Which request an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub conversation: String,
    pub request: u32,
    /// Whether it was a turn of the conversation, not side traffic.
    pub turn: bool,
}

/// A body beside the conversation it belongs to.
struct Received {
    body: Body,
    /// Leading messages with the bytes of the current path.
    same: usize,
    envelope: Arc<Envelope>,
    packed: Option<Hash>,
    /// The body kept so far, if the new one did not replace it.
    spare: Option<Body>,
}

impl Composer {
    /// Takes note of a request. `None` when it belongs to no conversation.
    pub fn observe(&self, seen: Seen) -> Result<Option<Ticket>, Problem> {
        let (shared, received) = match &seen.hints.session {
            Some(session) => {
                let shared = self.of_session(session, &seen.hints)?;
                let received = receive(&mut lock(&shared), &seen.chunks)?;
                (shared, received)
            }
            None => match self.by_content(&seen)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let mut conversation = lock(&shared);
        let class = identify::class(&seen.hints, &received.envelope, tail(&received.body));
        let mut step = Step::default();
        if conversation.requests == 0 {
            step.records.push(record(&conversation.id, seen.at, log::OPENED, &conversation.opened, Vec::new()));
        }
        conversation.requests += 1;
        let ticket =
            Ticket { conversation: conversation.id.clone(), request: conversation.requests, turn: class.is_turn() };
        if class.is_turn() {
            self.turn(&mut conversation, class, &seen, received, &mut step);
        } else {
            side(&mut conversation, class, &seen, received, &mut step);
        }
        let (id, weight) = (conversation.id.clone(), conversation.weight());
        drop(conversation);
        lock(&self.directory).weigh(&id, weight);
        self.write(step);
        Ok(Some(ticket))
    }

    fn of_session(&self, session: &str, hints: &Hints) -> Result<Shared, Problem> {
        let agent = hints.agent.as_deref();
        let mut directory = lock(&self.directory);
        let parent = match agent {
            Some(_) => Some(
                lock(&*directory.of_session(
                    session,
                    hints.parent_agent.as_deref(),
                    || opened(session, hints, None),
                    &*self.store,
                )?)
                .id
                .clone(),
            ),
            None => None,
        };
        Ok(directory.of_session(session, agent, || opened(session, hints, parent), &*self.store)?)
    }

    /// For clients that name no session in their headers: by the body, else by the path.
    fn by_content(&self, seen: &Seen) -> Result<Option<(Shared, Received)>, Problem> {
        let body = Body::parse(concat(&seen.chunks))?;
        let envelope = ctx_wire::anthropic::envelope::read(body.bytes(), body.request());
        let shared = match &envelope.session {
            Some(session) => self.of_session(session, &seen.hints)?,
            None => {
                if !identify::class(&seen.hints, &envelope, tail(&body)).is_turn() {
                    return Ok(None);
                }
                self.by_path(&body, seen)?
            }
        };
        let received = beside(&mut lock(&shared), body, Arc::new(envelope));
        Ok(Some((shared, received)))
    }

    /// The longest known path wins. Two conversations that opened with the same words are told
    /// apart by the answer they got; a repeat of an unanswered request is a retry.
    fn by_path(&self, body: &Body, seen: &Seen) -> Result<Shared, Problem> {
        let messages: Vec<Message> =
            (0..body.request().messages.len()).map(|at| message::read(body.message(at)).facts).collect();
        let candidates = lock(&self.directory).beginning_with(&Beginning::of(messages.iter()), 8);
        let mut best: Option<(usize, Shared)> = None;
        for id in candidates {
            let Some(shared) = lock(&self.directory).get(&id, &*self.store)? else { continue };
            let depth = if lock(&shared).opened.session.is_some() { 0 } else { continues(&lock(&shared), &messages) };
            if depth > 0 && best.as_ref().is_none_or(|(deepest, _)| depth > *deepest) {
                best = Some((depth, shared));
            }
        }
        if let Some((_, shared)) = best {
            return Ok(shared);
        }
        let opened = Opened {
            class: Class::Main.name().into(),
            session: None,
            agent: None,
            client: seen.hints.client.as_deref().map(str::to_owned),
            parent: None,
            forked_from: None,
        };
        let nonce = format!("{}-{}", seen.at, self.nonce());
        Ok(lock(&self.directory).fresh(&["path", &nonce], opened, &*self.store)?)
    }

    /// A turn of the conversation: place it, store what is new, make it the path to look at.
    fn turn(&self, conversation: &mut Conversation, class: Class, seen: &Seen, received: Received, step: &mut Step) {
        let Received { body, same, envelope, packed, .. } = received;
        let count = body.request().messages.len();
        let (facts, cuts): (Vec<Message>, Vec<_>) =
            (same..count).map(|at| message::read(body.message(at))).map(|read| (read.facts, read.cuts)).unzip();
        let compacted = seen.hints.compacted || (same == 0 && begins_with_summary(&body));
        let mut placed = reconcile(&conversation.tree, &Sighting { same, rest: &facts, compacted });
        let mut detail = None;
        let mut verdict = placed.verdict.name();
        if placed.verdict == Verdict::New
            && let Some(fork) = self.fork_of(conversation, &facts)
        {
            verdict = "fork";
            detail = Some(fork.detail);
            conversation.opened.forked_from = Some(fork.from);
            if let Some(first) = step.records.first_mut() {
                *first = record(&conversation.id, seen.at, log::OPENED, &conversation.opened, Vec::new());
            }
            placed.places.iter_mut().zip(fork.slots).for_each(|(place, slot)| *place = Place::Known(slot));
        }
        let gains_tools = conversation.envelope.tools.is_none() && envelope.tools.is_some();
        let trusted = seen.hints.claude_code || placed.verdict != Verdict::Unrelated || gains_tools;

        let mut uses = Vec::new();
        let packed = match packed {
            Some(hash) => {
                uses.push(hash);
                hash
            }
            None => {
                let packed = envelope::pack(body.bytes(), body.request());
                uses.extend(packed.blobs.iter().map(|(hash, _)| *hash));
                let hash = packed.hash();
                step.blobs.extend(packed.blobs);
                hash
            }
        };
        let mut turn = Turn {
            base: placed.base,
            nodes: conversation.tree.node_count(),
            slots: Vec::with_capacity(placed.places.len()),
            versions: Vec::new(),
            envelope: 0,
            between: between(&body, same, conversation.between.as_deref()),
            current: trusted,
        };
        let mut fresh = Vec::new();
        let mut changed = 0;
        let slots = slots(conversation, &placed, same);
        turn.slots.extend(slots[placed.depth - same..].iter().map(|slot| slot.0));
        for (at, ((facts, cuts), slot)) in (same..).zip(facts.into_iter().zip(cuts).zip(slots)) {
            let cuts = if cuts.iter().all(|cut| std::str::from_utf8(&body.message(at)[cut.clone()]).is_ok()) {
                cuts
            } else {
                Vec::new()
            };
            let (bare, dress) = undress(body.message(at), &cuts);
            let worn = Worn { blob: Hash::of(&bare), dress };
            match conversation.versions.get(&slot) {
                Some(known) if *known == worn => continue,
                Some(known) => changed += u32::from(known.blob != worn.blob),
                None => {}
            }
            let dress =
                worn.dress.0.iter().map(|(at, bytes)| (*at, String::from_utf8_lossy(bytes).into_owned())).collect();
            turn.versions.push(Version { slot: slot.0, blob: uses.len() as u32, dress });
            uses.push(worn.blob);
            step.blobs.push((worn.blob, bare));
            fresh.push((slot, worn, facts));
        }
        let (known, new) = (placed.known() as u32, placed.new_messages() as u32);
        let arrived = Arrived {
            request: conversation.requests,
            class: class.name().into(),
            verdict: verdict.into(),
            known,
            new,
            changed,
            model: envelope.model.as_deref().map(str::to_owned),
            bytes: body.bytes().len() as u64,
            detail,
            turn: Some(turn),
        };
        step.records.push(record(&conversation.id, seen.at, log::ARRIVED, &arrived, uses));
        if let Some(turn) = &arrived.turn {
            conversation.grow(turn, fresh, packed);
        }
        conversation.last_turn = conversation.requests;
        conversation.last_activity = seen.at;
        conversation.body_envelope = envelope.clone();
        conversation.body_packed = Some(packed);
        if trusted {
            conversation.envelope = envelope;
            conversation.aligned = count;
            if conversation.pending.take().is_some() {
                step.notes.push(Note { conversation: conversation.id.clone(), name: "pending".into(), body: None });
            }
        } else {
            conversation.aligned = same;
        }
        conversation.body = Some(body);
        let card = card::of(conversation);
        step.notes.push(card::note(&card));
        lock(&self.directory).put(card);
    }

    /// A conversation whose history this new one begins with.
    fn fork_of(&self, conversation: &Conversation, facts: &[Message]) -> Option<Fork> {
        facts.iter().find(|message| message.role == Role::Assistant)?;
        let beginning = Beginning { start: None, ..Beginning::of(facts.iter()) };
        let ids: Vec<String> = lock(&self.directory)
            .beginning_with(&beginning, 8)
            .into_iter()
            .filter(|id| *id != conversation.id)
            .collect();
        let mut best: Option<(Reconciled, String, Vec<SlotId>)> = None;
        let mut ties = 0;
        for id in ids {
            let Ok(Some(shared)) = lock(&self.directory).get(&id, &*self.store) else { continue };
            let other = lock(&shared);
            let placed = reconcile(&other.tree, &Sighting { same: 0, rest: facts, compacted: false });
            let deepest = best.as_ref().map_or(0, |(best, _, _)| best.depth);
            ties += usize::from(placed.depth == deepest && deepest > 0);
            if placed.depth > deepest {
                ties = 0;
                let slots =
                    other.tree.path_to(placed.base).into_iter().map(|node| other.tree.slot_at(node).id).collect();
                best = Some((placed, id, slots));
            }
        }
        let (placed, from, slots) = best?;
        let tie = if ties > 0 { format!(", as {ties} other(s) do") } else { String::new() };
        Some(Fork { detail: format!("shares {} messages with {from}{tie}", placed.depth), from, slots })
    }
}

struct Fork {
    from: String,
    slots: Vec<SlotId>,
    detail: String,
}

fn opened(session: &str, hints: &Hints, parent: Option<String>) -> Opened {
    let class = if parent.is_some() { Class::Subagent } else { Class::Main };
    Opened {
        class: class.name().into(),
        session: Some(session.to_owned()),
        agent: hints.agent.as_deref().filter(|_| parent.is_some()).map(str::to_owned),
        client: hints.client.as_deref().map(str::to_owned),
        parent,
        forked_from: None,
    }
}

/// Side traffic leaves a line in the timeline and nothing else.
fn side(conversation: &mut Conversation, class: Class, seen: &Seen, received: Received, step: &mut Step) {
    let count = received.body.request().messages.len() as u32;
    let arrived = Arrived {
        request: conversation.requests,
        class: class.name().into(),
        verdict: "side".into(),
        known: received.same as u32,
        new: count.saturating_sub(received.same as u32),
        changed: 0,
        model: received.envelope.model.as_deref().map(str::to_owned),
        bytes: received.body.bytes().len() as u64,
        detail: None,
        turn: None,
    };
    step.records.push(record(&conversation.id, seen.at, log::ARRIVED, &arrived, Vec::new()));
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

/// Takes the body in by comparing it with the one before.
fn receive(conversation: &mut Conversation, chunks: &[Bytes]) -> Result<Received, Problem> {
    match conversation.body.take() {
        Some(old) if old.shares_history(chunks) => {
            let (body, shared) = old.advance(chunks)?;
            let (envelope, packed) = match shared.envelope {
                true => (conversation.body_envelope.clone(), conversation.body_packed),
                false => (Arc::new(ctx_wire::anthropic::envelope::read(body.bytes(), body.request())), None),
            };
            Ok(Received { same: shared.messages.min(conversation.aligned), body, envelope, packed, spare: None })
        }
        old => {
            conversation.body = old;
            let body = Body::parse(concat(chunks))?;
            let envelope = Arc::new(ctx_wire::anthropic::envelope::read(body.bytes(), body.request()));
            Ok(beside(conversation, body, envelope))
        }
    }
}

/// A body that was parsed on its own; the one kept so far is set aside.
fn beside(conversation: &mut Conversation, body: Body, envelope: Arc<Envelope>) -> Received {
    let spare = conversation.body.take();
    let same = spare.as_ref().map_or(0, |old| old.same_messages(&body)).min(conversation.aligned);
    Received { body, same, envelope, packed: None, spare }
}

/// How much of `messages` continues this conversation; 0 when it is another one.
fn continues(conversation: &Conversation, messages: &[Message]) -> usize {
    let placed = reconcile(&conversation.tree, &Sighting { same: 0, rest: messages, compacted: false });
    let at_tip = placed.base == conversation.tree.current().last().copied();
    let next = messages.get(placed.depth);
    match (&conversation.pending, next) {
        _ if !at_tip => placed.depth,
        // The same question again: a retry, unless it was answered and asked anew.
        (_, None) => {
            if conversation.answered && conversation.turns == 1 {
                0
            } else {
                placed.depth
            }
        }
        // Somebody else asked the same and got another answer.
        (Some(reply), Some(next)) if next.role == Role::Assistant => {
            let agrees =
                next.key == reply.facts.key || next.anchors.iter().any(|anchor| reply.facts.anchors.contains(anchor));
            placed.depth * usize::from(agrees)
        }
        _ => placed.depth,
    }
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

/// What the end of the body shows about its class.
fn tail(body: &Body) -> Tail {
    const LOOK_BACK: usize = 6;
    let count = body.request().messages.len();
    let mut tail = Tail::default();
    let mut last = None;
    for at in (count.saturating_sub(LOOK_BACK)..count).rev() {
        let read = message::read(body.message(at));
        let marked = read.marked;
        match last {
            None if marked => return tail,
            None if read.facts.role != Role::System => last = Some(at),
            None => {}
            Some(_) if marked => {
                tail.mark_before_last = true;
                break;
            }
            Some(_) => {}
        }
    }
    tail.asks_for_summary = last.is_some_and(|at| {
        let text = body.message(at);
        [b"<analysis>".as_slice(), b"<summary>"].iter().all(|tag| memchr::memmem::find(text, tag).is_some())
    });
    tail
}

fn begins_with_summary(body: &Body) -> bool {
    let first = message::read(body.message(0)).facts;
    first.title.as_deref() == Some(words::SUMMARY_TITLE)
}

/// What stands between the messages, when it is not a comma.
fn between(body: &Body, same: usize, before: Option<&[String]>) -> Option<Vec<String>> {
    let messages = &body.request().messages;
    let gap = |at: usize| &body.bytes()[messages[at - 1].end..messages[at].start];
    if before.is_none() && (same.max(1)..messages.len()).all(|at| gap(at) == b",") {
        return None;
    }
    let gaps: Vec<String> = (1..messages.len()).map(|at| String::from_utf8_lossy(gap(at)).into_owned()).collect();
    match gaps.first() {
        Some(first) if gaps.iter().all(|gap| gap == first) => (first != ",").then(|| vec![first.clone()]),
        Some(_) => Some(gaps),
        None => None,
    }
}
