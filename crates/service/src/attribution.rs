//! Finds the conversation of a request, by the client's ids or by its content. No function here holds the lock of one
//! conversation while it waits for another.

use crate::directory::SharedConversation;
use crate::parts::Parts;
use crate::recorder::Order;
use crate::threads::lock;
use ctx_clients::Hints;
use ctx_core::content::WireId;
use ctx_core::message::{Message, Role};
use ctx_core::reconcile::{Place, Sighting, reconcile};
use ctx_core::{Class, Key};
use ctx_engine::attribution::{
    CANDIDATES, Continuation, Fork, FormatMove, Inheritance, NamedAgent, Newborn, Origin, ParsedBody, SeenRequest,
    client_name, continues, facts, human, kept_messages, with_model,
};
use ctx_engine::card::Beginning;
use ctx_engine::class::class;
use ctx_engine::conversation::left;
use ctx_engine::log::OpeningRecord;
use ctx_engine::{Conversation, Problem};
use ctx_store::StoreError;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use ctx_wire::rope::Pieces;
use std::sync::{Arc, TryLockError};

impl Parts {
    /// The conversation of a request, and how it was found; `None` if it belongs to none. Leaves a parsed body in
    /// `parsed`.
    pub(crate) fn attribute(
        &self,
        seen: &SeenRequest,
        parsed: &mut Option<ParsedBody>,
        agent: Option<&NamedAgent>,
    ) -> Result<Option<(SharedConversation, Option<String>)>, Problem> {
        if let Some((session, agent)) = agent {
            return Ok(Some((self.of_session(session, Some(agent), seen)?, None)));
        }
        let agent = seen.hints.agent.as_deref();
        if let Some(session) = &seen.hints.session {
            return Ok(Some((self.of_session(session, agent, seen)?, None)));
        }
        let (body, envelope) = match parsed {
            Some(parsed) => parsed,
            None => {
                let body = Body::read(&seen.pieces, seen.wire)?;
                let envelope = with_model(Arc::new(body.envelope(ctx_clients::lexicon())), seen);
                parsed.insert((body, envelope))
            }
        };
        match &envelope.session {
            Some(session) => Ok(Some((self.of_session(session, agent, seen)?, None))),
            None if envelope.threaded => {
                Ok(self.of_answer(envelope.continues.as_deref())?.map(|shared| (shared, None)))
            }
            None => match (self.by_path(body)?, class(&seen.hints, envelope, body)) {
                (Some(found), _) => Ok(Some(found)),
                (None, class) if class.is_turn() => Ok(Some((self.without_id(envelope, class, seen), None))),
                (None, class) => Ok(self.carried(body, class)?.map(|shared| (shared, None))),
            },
        }
    }

    fn of_answer(&self, id: Option<&str>) -> Result<Option<SharedConversation>, Problem> {
        let conversation = id.and_then(|id| self.answers.find(id));
        Ok(conversation.map(|id| self.get(&id)).transpose()?.flatten())
    }

    /// The conversation of a session, or of an agent in it.
    fn of_session(
        &self,
        session: &str,
        agent: Option<&str>,
        seen: &SeenRequest,
    ) -> Result<SharedConversation, Problem> {
        let hints = &seen.hints;
        let (id, parent) = {
            let mut directory = lock(&self.directory);
            let above = hints.parent_agent.as_deref().filter(|above| Some(*above) != agent);
            let of_agent = agent.map(|_| (session, above));
            // A subagent with its own session names that of its parent.
            let of_session = || hints.parent_session.as_deref().filter(|parent| *parent != session);
            let above = of_agent.or_else(|| Some((of_session()?, None)));
            let parent = above.map(|(session, agent)| directory.id_of_session(session, agent));
            (directory.id_of_session(session, agent), parent)
        };
        let id = self.of_wire(id, (session, agent), seen)?;
        let opened = OpeningRecord {
            wire: seen.wire.id(),
            class: if parent.is_some() { Class::Subagent } else { Class::Main }.name().into(),
            session: Some(session.to_owned()),
            agent: agent.map(str::to_owned),
            client: hints.product.as_deref().map(str::to_owned),
            parent,
            forked_from: None,
            title: None,
        };
        let found = match self.get(&id) {
            // Everything stored has a card, so this one is new and needs no store.
            Err(_) if lock(&self.directory).card(&id).is_none() => None,
            found => found?,
        };
        let shared = match found {
            Some(found) => found,
            None => lock(&self.directory).keep(self.newborn(id, opened.clone())),
        };
        let mut conversation = lock(&shared);
        if !conversation.log.introduced {
            conversation.introduce(opened);
        }
        drop(conversation);
        Ok(shared)
    }

    /// The conversation of a session in the format of this request: `newest`, or the one before the client moved to
    /// another format, or a new one.
    fn of_wire(&self, newest: String, whose: (&str, Option<&str>), seen: &SeenRequest) -> Result<String, Problem> {
        let wire = seen.wire.id();
        if self.speaks(&newest, wire)? {
            return Ok(newest);
        }
        let others = lock(&self.directory).of_session(whose);
        for id in others {
            if self.speaks(&id, wire)? {
                return Ok(id);
            }
        }
        Ok(lock(&self.directory).id_of_wire(whose, wire))
    }

    /// Whether a conversation has this format, or none yet.
    fn speaks(&self, id: &str, wire: WireId) -> Result<bool, Problem> {
        let found = match self.get(id) {
            // Everything stored has a card, so this one is new.
            Err(_) if lock(&self.directory).card(id).is_none() => None,
            found => found?,
        };
        let speaks = |conversation: &Conversation| !conversation.log.introduced || conversation.wire().id() == wire;
        Ok(found.is_none_or(|shared| speaks(&lock(&shared))))
    }

    /// The usual case of a client without ids, at memory speed: it appends to its last request. Bytes alone decide only
    /// behind an answer. A conversation locked by another thread is skipped: parsing the request finds it too.
    pub(crate) fn longest_prefix(&self, pieces: &Pieces, wire: WireId) -> Option<SharedConversation> {
        let mut best: Option<(usize, SharedConversation)> = None;
        let mut tie = false;
        let at_work = lock(&self.directory).at_work();
        for shared in at_work {
            let reach = {
                let conversation = match shared.try_lock() {
                    Ok(conversation) => conversation,
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                    Err(TryLockError::WouldBlock) => continue,
                };
                let body = conversation.newest.last.body.as_ref().filter(|_| conversation.wire().id() == wire);
                let body = body.filter(|body| body.shares_history(pieces));
                body.map_or(0, |body| body.common_prefix(pieces))
            };
            let deepest = best.as_ref().map_or(0, |(deepest, _)| *deepest);
            tie = reach == deepest || (tie && reach < deepest);
            if reach > deepest {
                best = Some((reach, shared));
            }
        }
        best.filter(|_| !tie).map(|(_, shared)| shared)
    }

    /// The conversation whose history a request carries. The longest known path wins, among equal ones the one that
    /// ends there: a look-alike that continued elsewhere has its own edits. A tie is reported.
    fn by_path(&self, body: &Body) -> Result<Option<(SharedConversation, Option<String>)>, Problem> {
        let messages = facts(body, 0);
        let candidates = lock(&self.directory).beginning_with(&Beginning::of(messages.iter()), false, CANDIDATES);
        let mut best: Option<(Continuation, SharedConversation)> = None;
        let mut ties: Vec<String> = Vec::new();
        for id in candidates {
            let Some(shared) = self.get(&id)? else { continue };
            let reached = match &*lock(&shared) {
                other if other.wire().id() == body.wire().id() => continues(other, &messages),
                _ => Continuation::default(),
            };
            let deepest = best.as_ref().map_or(Continuation::default(), |(deepest, _)| *deepest);
            if reached > deepest {
                ties.clear();
                best = Some((reached, shared));
            } else if reached == deepest && reached.depth > 0 {
                ties.push(id);
            }
        }
        let detail = (!ties.is_empty()).then(|| format!("may just as well continue {}", ties.join(", ")));
        match best {
            Some((_, shared)) => Ok(Some((shared, detail))),
            None => Ok(self.compacted(&messages, body.wire().id())?.map(|shared| (shared, None))),
        }
    }

    /// The conversation that a client without ids has summarised: the kept messages are the only evidence, and must
    /// include an answer.
    fn compacted(&self, messages: &[Message], wire: WireId) -> Result<Option<SharedConversation>, Problem> {
        if !left::begins_with_summary(messages.iter()) {
            return Ok(None);
        }
        let candidates = lock(&self.directory).recent(false, CANDIDATES);
        let mut best: Option<(usize, SharedConversation)> = None;
        for id in candidates {
            let Some(shared) = self.get(&id)? else { continue };
            let known = match &*lock(&shared) {
                other if other.wire().id() == wire => kept_messages(other, messages),
                _ => 0,
            };
            if known > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((known, shared));
            }
        }
        Ok(best.map(|(_, shared)| shared))
    }

    /// The conversation whose history a side request without ids carries as one text. Some clients name their session with
    /// each turn, but not here. Requests other than for a summary matter only if there is something to cut out of them.
    fn carried(&self, body: &Body, class: Class) -> Result<Option<SharedConversation>, Problem> {
        let is_summary = class == Class::Compaction;
        if !is_summary && self.held.edited_count() == 0 {
            return Ok(None);
        }
        let is_candidate = |id: &String| is_summary || self.held.is_edited(id);
        let recent = |named| lock(&self.directory).recent(named, usize::MAX).into_iter();
        let candidates = [false, true].map(|named| recent(named).filter(is_candidate).take(CANDIDATES));
        let mut best: Option<(usize, SharedConversation)> = None;
        for id in candidates.into_iter().flatten() {
            let Some(shared) = self.get(&id)? else { continue };
            let carried = match &*lock(&shared) {
                other if other.wire().id() == body.wire().id() => self.engine.carried_texts(other, body),
                _ => 0,
            };
            if carried > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((carried, shared));
            }
        }
        Ok(best.map(|(_, shared)| shared))
    }

    /// A new conversation of a client without a session.
    fn without_id(&self, envelope: &Envelope, class: Class, seen: &SeenRequest) -> SharedConversation {
        let opened = OpeningRecord {
            wire: seen.wire.id(),
            class: class.name().into(),
            client: client_name(&seen.hints, envelope),
            ..OpeningRecord::unknown()
        };
        let nonce = format!("{}-{}", seen.at, self.engine.nonce());
        let mut directory = lock(&self.directory);
        let id = directory.free_id(&["path", &nonce]);
        directory.keep(self.newborn(id, opened))
    }

    /// Whether the body of a client without a session header may belong to an edited conversation: by the session in
    /// the body, otherwise by its beginning. Reads memory only.
    pub(crate) fn may_continue_edited(&self, body: &Body, agent: Option<&str>) -> bool {
        let envelope = body.envelope(ctx_clients::lexicon());
        if let Some(session) = &envelope.session {
            return self.held.may_be_edited(Some(session), agent);
        }
        if self.held.is_outdated() {
            return true;
        }
        let messages = facts(body, 0);
        let beginning = Beginning::of(messages.iter());
        let asks_for_summary = class(&Hints::default(), &envelope, body) == Class::Compaction;
        let directory = lock(&self.directory);
        let is_edited = |named| directory.recent(named, usize::MAX).iter().any(|id| self.held.is_edited(id));
        let follows_summary = asks_for_summary || left::begins_with_summary(messages.iter());
        if follows_summary && is_edited(false) || asks_for_summary && is_edited(true) {
            return true;
        }
        let alike = [false, true].map(|named| directory.beginning_with(&beginning, named, usize::MAX));
        drop(directory);
        alike.iter().flatten().any(|id| self.held.is_edited(id))
    }

    /// A possible parent. An unreadable one is an error only if it is edited: others have nothing to inherit.
    fn kin(&self, id: &str) -> Result<Option<SharedConversation>, StoreError> {
        match self.get(id) {
            Err(_) if !self.held.is_edited(id) => Ok(None),
            found => found,
        }
    }

    /// The content that a new conversation with these messages inherits. Locks only the conversation being compared.
    pub(crate) fn origin(&self, new: &Newborn, facts: &[Message], order: Option<Order>) -> Result<Origin, StoreError> {
        let fork = self.fork_of(new, facts, order)?;
        let moved = if fork.is_none() { self.moved_from(new, facts, order)? } else { None };
        let bound = self.thoughts(new, fork.as_ref().map(|fork| fork.from.as_str()), facts)?;
        Ok(Origin { fork, moved, bound })
    }

    /// The conversation that a client continued in another format: of the same session, or with all its user's texts.
    fn moved_from(
        &self,
        new: &Newborn,
        facts: &[Message],
        order: Option<Order>,
    ) -> Result<Option<FormatMove>, StoreError> {
        if !facts.iter().any(|message| message.role == Role::Assistant) {
            return Ok(None);
        }
        let candidates = match &new.session {
            Some(session) => lock(&self.directory).of_session((session, new.agent.as_deref())),
            None => {
                let start = Beginning { opening: None, ..Beginning::of(facts.iter()) };
                lock(&self.directory).beginning_with(&start, false, CANDIDATES)
            }
        };
        let said: Vec<Key> = human(facts.iter()).collect();
        for id in candidates.into_iter().filter(|id| *id != new.id) {
            self.catch_up(&id, order);
            let Some(shared) = self.kin(&id)? else { continue };
            let other = lock(&shared);
            let mut theirs = human(other.messages.tree.path().map(|slot| &slot.message)).peekable();
            let is_same = match new.session {
                Some(_) => theirs.any(|key| said.contains(&key)),
                None => theirs.peek().is_some() && theirs.all(|key| said.contains(&key)),
            };
            if other.wire().id() != new.wire && is_same {
                let detail = format!("continues {id}, which came as {}", other.wire().id().name());
                return Ok(Some(FormatMove { from: id, detail }));
            }
        }
        Ok(None)
    }

    /// A conversation whose history this new one begins with.
    fn fork_of(&self, new: &Newborn, facts: &[Message], order: Option<Order>) -> Result<Option<Fork>, StoreError> {
        if !facts.iter().any(|message| message.role == Role::Assistant) {
            return Ok(None);
        }
        // The same words may begin two conversations, but no two summaries are alike.
        let mut beginning = Beginning::of(facts.iter());
        beginning.start = beginning.start.filter(|_| left::begins_with_summary(facts.iter()));
        let mut candidates = lock(&self.directory).beginning_with(&beginning, true, CANDIDATES);
        candidates.extend(lock(&self.directory).beginning_with(&beginning, false, CANDIDATES));
        candidates.extend(new.parent.clone().filter(|parent| !candidates.contains(parent)));
        let mut best: Option<Fork> = None;
        let mut ties = 0;
        for id in candidates.into_iter().filter(|id| *id != new.id) {
            self.catch_up(&id, order);
            let Some(shared) = self.kin(&id)? else { continue };
            let other = lock(&shared);
            if other.wire().id() != new.wire {
                continue;
            }
            let placed = reconcile(
                &other.messages.tree,
                &Sighting { same: 0, rest: facts, compacted: false, unanswered: false },
            );
            let deepest = best.as_ref().map_or(0, |best| best.known);
            // The reply that its client has not sent back yet is also part of its history.
            let next = facts.get(placed.known()..).unwrap_or_default();
            let brought = other.newest.pending.iter().zip(next).take_while(|(reply, next)| reply.facts.key == next.key);
            let known = placed.known() + brought.count();
            // An agent that continues a history has it from its parent, or at least from its own session.
            let is_kin = other.opened().session.is_some() && other.opened().session == new.session;
            let kinship = u8::from(is_kin) + u8::from(new.parent.as_ref() == Some(&id));
            let nearest = best.as_ref().map_or(0, |best| best.kinship);
            if known > 0 && (kinship, known) > (nearest, deepest) {
                ties = 0;
                let above = other
                    .messages
                    .tree
                    .path_to(placed.base)
                    .into_iter()
                    .map(|node| other.messages.tree.slot_at(node).id);
                let places = above.map(Place::Known).chain(placed.places.iter().copied()).collect();
                let effects = other.effects(other.history.head());
                let effects = effects.into_iter().map(|(id, effect)| (id, effect.clone())).collect();
                let inherited = Inheritance {
                    from: id.clone(),
                    effects,
                    calibration: other.usage.calibration,
                    kept: other.history.all().flat_map(|commit| &commit.kept).cloned().collect(),
                    pending: other.pending_for_fork(),
                };
                let lost_edits = other.log.lost_edits;
                let (title, detail) = (None, String::new());
                best = Some(Fork { known, kinship, from: id, title, places, inherited, lost_edits, detail });
            } else {
                ties += usize::from((kinship, known) == (nearest, deepest) && deepest > 0);
            }
        }
        let Some(mut fork) = best else { return Ok(None) };
        let tie = if ties > 0 { format!(", as {ties} other(s) do") } else { String::new() };
        fork.title = lock(&self.directory).card(&fork.from).map(|card| card.title.clone());
        fork.detail = format!("shares {} messages with {}{tie}", fork.known, fork.from);
        Ok(Some(fork))
    }

    /// The bindings of the thinking in a new conversation that is not bound to the client's own request. They come from
    /// its parent, or from a conversation with the same beginning; if one of those is edited and none has them, an
    /// answer was missed and the binding is unknown.
    fn thoughts(
        &self,
        new: &Newborn,
        from: Option<&str>,
        facts: &[Message],
    ) -> Result<Vec<(Key, Option<Key>)>, StoreError> {
        let signatures: Vec<Key> =
            facts.iter().flat_map(|message| &message.blocks).filter_map(|block| block.signature).collect();
        if signatures.is_empty() {
            return Ok(Vec::new());
        }
        let beginning = Beginning::of(facts.iter());
        let mut kin: Vec<String> = from.map(str::to_owned).into_iter().collect();
        for named in [true, false] {
            kin.extend(lock(&self.directory).beginning_with(&beginning, named, CANDIDATES));
        }
        let others = kin.iter().filter(|kin| **kin != new.id);
        let mut kin: Vec<_> = others.filter_map(|kin| self.kin(kin).transpose()).collect::<Result<_, _>>()?;
        kin.retain(|kin| lock(kin).wire().id() == new.wire);
        if !kin.iter().any(|kin| lock(kin).is_edited()) {
            return Ok(Vec::new());
        }
        let told = |signature: &Key| {
            kin.iter().find_map(|kin| {
                let kin = lock(kin);
                let bound = kin.reasoning.bound.get(signature).map(|prefix| Some((*signature, Some(*prefix))));
                bound.or_else(|| kin.reasoning.own.contains(signature).then_some(None))
            })
        };
        Ok(signatures.iter().filter_map(|signature| told(signature).unwrap_or(Some((*signature, None)))).collect())
    }
}
