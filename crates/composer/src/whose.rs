//! Whose request it is: by the client's ids, else by what it carries.
//!
//! Here a request finds its conversation and its class, and its body is compared with the one
//! before. What it changes in the conversation is decided in [`crate::observe`].

use crate::conversation::Conversation;
use crate::directory::{Beginning, Shared, lock};
use crate::log::Opened;
use crate::observe::{Seen, begins_with_summary};
use crate::{Composer, Problem};
use ctx_core::Class;
use ctx_core::message::{Message, Role};
use ctx_core::reconcile::{Place, Reconciled, Sighting, Verdict, reconcile};
use ctx_store::Hash;
use ctx_wire::anthropic::envelope::{self, Envelope};
use ctx_wire::anthropic::identify::{self, Hints, Tail};
use ctx_wire::anthropic::message;
use ctx_wire::anthropic::request::Body;
use ctx_wire::pieces::Pieces;
use std::sync::Arc;

/// How many conversations that begin alike are looked at.
pub const CANDIDATES: usize = 8;

/// A request beside the conversation it belongs to.
pub struct Received {
    pub body: Body,
    /// Leading messages with the bytes of the current path.
    pub same: usize,
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
    /// The body kept so far, if the new one did not replace it.
    pub spare: Option<Body>,
}

pub struct Found {
    pub shared: Shared,
    pub received: Received,
    pub class: Class,
    /// What people should know of how it was found.
    pub detail: Option<String>,
}

/// What comparing with the conversations in memory gave.
enum Compared {
    GoesOn(Shared, Received),
    /// It goes on from none of them, but is now read.
    Read(Body, Arc<Envelope>),
    Unlike,
}

impl Composer {
    /// Finds the conversation of a request; `None` when it belongs to none.
    pub(crate) fn whose(&self, seen: &Seen) -> Result<Option<Found>, Problem> {
        let Some((shared, received, detail)) = self.nearest(seen)? else { return Ok(None) };
        let class = identify::class(&seen.hints, &received.envelope, tail(&received.body));
        let found = Found { shared, received, class, detail };
        Ok(Some(if class == Class::Subagent && seen.hints.agent.is_none() {
            self.unnamed_agent(found, seen)?
        } else {
            found
        }))
    }

    fn nearest(&self, seen: &Seen) -> Result<Option<(Shared, Received, Option<String>)>, Problem> {
        if let Some(session) = &seen.hints.session {
            let shared = self.of_session(session, seen.hints.agent.as_deref(), &seen.hints)?;
            let received = receive(&mut lock(&shared), &seen.pieces)?;
            return Ok(Some((shared, received, None)));
        }
        let (body, envelope) = match self.compare(seen)? {
            Compared::GoesOn(shared, received) => return Ok(Some((shared, received, None))),
            Compared::Read(body, envelope) => (body, envelope),
            Compared::Unlike => {
                let body = Body::read(&seen.pieces)?;
                let envelope = Arc::new(envelope::read(body.bytes(), body.request()));
                (body, envelope)
            }
        };
        let (shared, detail) = match &envelope.session {
            Some(session) => (self.of_session(session, seen.hints.agent.as_deref(), &seen.hints)?, None),
            None if !identify::class(&seen.hints, &envelope, tail(&body)).is_turn() => return Ok(None),
            None => self.by_path(&body, seen)?,
        };
        let received = beside(&mut lock(&shared), body, envelope);
        Ok(Some((shared, received, detail)))
    }

    /// The conversation of a session, or of an agent in it.
    fn of_session(&self, session: &str, agent: Option<&str>, hints: &Hints) -> Result<Shared, Problem> {
        let (id, parent) = {
            let mut directory = lock(&self.directory);
            let above = hints.parent_agent.as_deref().filter(|above| Some(*above) != agent);
            let parent = agent.map(|_| directory.id_of_session(session, above));
            (directory.id_of_session(session, agent), parent)
        };
        let opened = Opened {
            class: if agent.is_some() { Class::Subagent } else { Class::Main }.name().into(),
            session: Some(session.to_owned()),
            agent: agent.map(str::to_owned),
            client: hints.client.as_deref().map(str::to_owned),
            parent,
            forked_from: None,
            title: None,
        };
        let shared = match self.get(&id)? {
            Some(found) => found,
            None => lock(&self.directory).keep(self.newborn(id, opened.clone())),
        };
        let mut conversation = lock(&shared);
        if !conversation.introduced {
            conversation.opened = opened;
        }
        drop(conversation);
        Ok(shared)
    }

    /// Older clients say that an agent speaks, but not which: what it was asked tells.
    fn unnamed_agent(&self, found: Found, seen: &Seen) -> Result<Found, Problem> {
        let session = match &lock(&found.shared).opened {
            Opened { session: Some(session), agent: None, .. } => Some(session.clone()),
            _ => None,
        };
        let Some(session) = session else { return Ok(found) };
        let Received { body, envelope, spare, .. } = found.received;
        lock(&found.shared).body = spare;
        let asked = message::read(body.message(0)).facts.key.to_string();
        let agent = format!("prompt-{}", asked.get(..12).unwrap_or_default());
        let shared = self.of_session(&session, Some(&agent), &seen.hints)?;
        let received = beside(&mut lock(&shared), body, envelope);
        Ok(Found { shared, received, class: found.class, detail: found.detail })
    }

    /// The usual case of a client without ids, at memory speed: it sends what it sent before, and
    /// something behind it. Only what follows an answer is told apart by bytes alone.
    fn compare(&self, seen: &Seen) -> Result<Compared, Problem> {
        let mut best: Option<(usize, Shared)> = None;
        let mut tie = false;
        let at_work = lock(&self.directory).at_work();
        for shared in at_work {
            let reach = lock(&shared)
                .body
                .as_ref()
                .map_or(0, |body| if body.shares_history(&seen.pieces) { body.common_prefix(&seen.pieces) } else { 0 });
            let deepest = best.as_ref().map_or(0, |(deepest, _)| *deepest);
            tie = reach == deepest || (tie && reach < deepest);
            if reach > deepest {
                best = Some((reach, shared));
            }
        }
        let Some((_, shared)) = best.filter(|_| !tie) else { return Ok(Compared::Unlike) };
        let mut conversation = lock(&shared);
        let received = receive(&mut conversation, &seen.pieces)?;
        let rest = facts(&received.body, received.same);
        let placed = reconcile(&conversation.tree, &Sighting { same: received.same, rest: &rest, compacted: false });
        let goes_on = matches!(placed.verdict, Verdict::Next | Verdict::Retry)
            && conversation.tree.path().any(|slot| slot.message.role == Role::Assistant)
            && conversation.opened.session.as_deref() == received.envelope.session.as_deref()
            && conversation.opened.agent.is_none();
        drop(conversation);
        Ok(if goes_on { Compared::GoesOn(shared, received) } else { Compared::Read(received.body, received.envelope) })
    }

    /// The longest known path wins; a tie is told.
    fn by_path(&self, body: &Body, seen: &Seen) -> Result<(Shared, Option<String>), Problem> {
        let messages = facts(body, 0);
        let candidates = lock(&self.directory).beginning_with(&Beginning::of(messages.iter()), false, CANDIDATES);
        let mut best: Option<(usize, Shared)> = None;
        let mut ties: Vec<String> = Vec::new();
        for id in candidates {
            let Some(shared) = self.get(&id)? else { continue };
            let depth = continues(&lock(&shared), &messages);
            let deepest = best.as_ref().map_or(0, |(deepest, _)| *deepest);
            if depth > deepest {
                ties.clear();
                best = Some((depth, shared));
            } else if depth == deepest && depth > 0 {
                ties.push(id);
            }
        }
        let detail = (!ties.is_empty()).then(|| format!("may just as well continue {}", ties.join(", ")));
        if let Some((_, shared)) = best {
            return Ok((shared, detail));
        }
        let opened = Opened { client: seen.hints.client.as_deref().map(str::to_owned), ..Opened::unknown() };
        let nonce = format!("{}-{}", seen.at, self.nonce());
        let mut directory = lock(&self.directory);
        let id = directory.free_id(&["path", &nonce]);
        Ok((directory.keep(self.newborn(id, opened)), None))
    }

    /// A conversation whose history this new one begins with.
    pub(crate) fn fork_of(&self, conversation: &Conversation, facts: &[Message]) -> Option<Fork> {
        facts.iter().find(|message| message.role == Role::Assistant)?;
        // The same words may begin two conversations, but no two summaries are alike.
        let mut beginning = Beginning::of(facts.iter());
        beginning.start = beginning.start.filter(|_| begins_with_summary(facts));
        let mut candidates = lock(&self.directory).beginning_with(&beginning, true, CANDIDATES);
        candidates.extend(lock(&self.directory).beginning_with(&beginning, false, CANDIDATES));
        candidates.extend(conversation.opened.parent.clone().filter(|parent| !candidates.contains(parent)));
        let mut best: Option<Fork> = None;
        let mut ties = 0;
        for id in candidates.into_iter().filter(|id| *id != conversation.id) {
            let Ok(Some(shared)) = self.get(&id) else { continue };
            let other = lock(&shared);
            let placed = reconcile(&other.tree, &Sighting { same: 0, rest: facts, compacted: false });
            let deepest = best.as_ref().map_or(0, |best| best.known);
            // The reply that its client has not sent back yet is a part of its history too.
            let reply = other.pending.as_ref().zip(facts.get(placed.known()));
            let known = placed.known() + usize::from(reply.is_some_and(|(reply, next)| reply.facts.key == next.key));
            // An agent that goes on with a history has it from its parent, or at least from its own session.
            let is_kin = other.opened.session.is_some() && other.opened.session == conversation.opened.session;
            let kinship = u8::from(is_kin) + u8::from(conversation.opened.parent.as_ref() == Some(&id));
            let nearest = best.as_ref().map_or(0, |best| best.kinship);
            if known > 0 && (kinship, known) > (nearest, deepest) {
                ties = 0;
                let above = other.tree.path_to(placed.base).into_iter().map(|node| other.tree.slot_at(node).id);
                let places = above.map(Place::Known).chain(placed.places.iter().copied()).collect();
                best = Some(Fork { known, kinship, from: id, places, detail: String::new() });
            } else {
                ties += usize::from((kinship, known) == (nearest, deepest) && deepest > 0);
            }
        }
        let mut fork = best?;
        let tie = if ties > 0 { format!(", as {ties} other(s) do") } else { String::new() };
        fork.detail = format!("shares {} messages with {}{tie}", fork.known, fork.from);
        Some(fork)
    }
}

/// Where a new conversation comes from, and which slots it takes along.
pub struct Fork {
    pub from: String,
    pub places: Vec<Place>,
    pub detail: String,
    known: usize,
    /// How near it stands: of the same session, the very parent.
    kinship: u8,
}

fn facts(body: &Body, from: usize) -> Vec<Message> {
    (from..body.request().messages.len()).map(|at| message::read(body.message(at)).facts).collect()
}

/// Takes the body in by comparing it with the one before.
fn receive(conversation: &mut Conversation, pieces: &Pieces) -> Result<Received, Problem> {
    match conversation.body.take() {
        Some(old) if old.shares_history(pieces) => {
            let behind = old.request().array.end;
            let (body, shared) = old.advance(pieces)?;
            let (envelope, packed) = match shared.envelope {
                true => {
                    let moved = conversation.body_envelope.moved(behind, body.request().array.end);
                    (moved.map_or_else(|| conversation.body_envelope.clone(), Arc::new), conversation.body_packed)
                }
                false => (Arc::new(envelope::read(body.bytes(), body.request())), None),
            };
            Ok(Received { same: shared.messages.min(conversation.aligned), body, envelope, packed, spare: None })
        }
        old => {
            conversation.body = old;
            let body = Body::read(pieces)?;
            let envelope = Arc::new(envelope::read(body.bytes(), body.request()));
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
    if recognises_an_answer(&placed, messages) {
        return placed.known();
    }
    // Only the opening is shared, and the same words may well begin another conversation.
    let at_end = matches!(placed.verdict, Verdict::Next | Verdict::Retry);
    let reply = conversation.pending.as_ref().filter(|_| conversation.answered);
    let same = match messages.iter().find(|message| message.role == Role::Assistant) {
        _ if !at_end => false,
        // A repeat of what was never answered is a retry; of what was, somebody asks anew.
        None => !conversation.answered,
        Some(answer) => reply.is_none_or(|reply| {
            answer.key == reply.facts.key || answer.anchors.iter().any(|anchor| reply.facts.anchors.contains(anchor))
        }),
    };
    if same { placed.known() } else { 0 }
}

fn recognises_an_answer(placed: &Reconciled, messages: &[Message]) -> bool {
    let known = |(at, message): (usize, &Message)| {
        let recognised = at
            .checked_sub(placed.depth)
            .is_none_or(|behind| matches!(placed.places.get(behind), Some(Place::Known(_))));
        recognised && message.role == Role::Assistant
    };
    messages.iter().enumerate().any(known)
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
