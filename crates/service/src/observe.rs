//! Finds and locks the conversation of a passing or held request, lets the engine book the request, and updates the
//! rest of the service. The booking itself is in [`ctx_engine::request`].

use crate::directory::SharedConversation;
use crate::parts::Parts;
use crate::recorder::Order;
use crate::threads::{give_way, lock};
use ctx_core::edit::CommitId;
use ctx_engine::Problem;
use ctx_engine::attribution::{AttributedRequest, Newborn, Origin, ReceivedRequest, SeenRequest};
use ctx_engine::compose::Ready;
use ctx_engine::conversation::Conversation;
use ctx_engine::provider::{Additions, Request};
use ctx_engine::request::circumstances::Circumstances;
use ctx_engine::request::{Booking, Ticket};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

impl Parts {
    pub(crate) fn observe(&self, seen: SeenRequest) -> Result<Option<Ticket>, Problem> {
        self.look(&seen, None, None)
    }

    pub(crate) fn hold(&self, seen: SeenRequest, ready: Ready<'_>) -> Result<Option<Ticket>, Problem> {
        self.look(&seen, Some(ready), None)
    }

    /// Finds the conversation of a request and books the request in it. The conversation is locked from the comparison
    /// of its body until the step is with the writer; only the search for a new conversation's parent runs outside the
    /// lock. `order`: the position of the request among those of other conversations.
    pub(crate) fn look(
        &self,
        seen: &SeenRequest,
        mut ready: Option<Ready<'_>>,
        order: Option<Order>,
    ) -> Result<Option<Ticket>, Problem> {
        let (mut parsed, mut agent) = (None, None);
        if seen.hints.session.is_none()
            && let Some(shared) = self.longest_prefix(&seen.pieces, seen.wire.id())
        {
            let mut conversation = lock(&shared);
            if self.is_current(conversation.id(), &shared) {
                let received = ctx_engine::attribution::receive(&mut conversation, seen)?;
                if ctx_engine::attribution::goes_on(&conversation, &received) {
                    let found = AttributedRequest::new(&conversation, received, &seen.hints, None);
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
            let attributed = self.attribute(seen, &mut parsed, agent.as_ref())?;
            let Some((shared, detail)) = attributed else {
                self.count_elsewhere(parsed.as_ref().is_some_and(|(_, envelope)| envelope.threaded));
                return Ok(None);
            };
            let mut conversation = lock(&shared);
            // It was purged while we waited for it.
            if !self.is_current(conversation.id(), &shared) {
                continue;
            }
            let received = match parsed.take() {
                Some(parsed) => ctx_engine::attribution::beside(&mut conversation, parsed),
                None => ctx_engine::attribution::receive(&mut conversation, seen)?,
            };
            let mut found = AttributedRequest::new(&conversation, received, &seen.hints, detail);
            if agent.is_none() {
                agent = found.unnamed_agent(&conversation, &seen.hints);
                if agent.is_some() {
                    parsed = Some(found.withdraw(&mut conversation));
                    continue;
                }
            }
            if let Some(newborn) = Newborn::of(&conversation).filter(|_| found.class.is_turn() && !seen.counting) {
                drop(conversation);
                let messages = ctx_engine::attribution::read_from(&found.received.body, 0);
                found.origin = self.origin(&newborn, &messages.0, order)?;
                if ready.is_some() && found.origin.fork.as_ref().is_some_and(|fork| fork.lost_edits) {
                    return Err(Problem::LostEdits);
                }
                found.received.messages = Some(messages);
                conversation = lock(&shared);
                if !self.is_current(conversation.id(), &shared) {
                    parsed = Some((found.received.body, found.received.envelope));
                    continue;
                }
                // Another request was first: nothing is known about common messages.
                if !conversation.messages.tree.is_empty() {
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
        shared: &SharedConversation,
        mut conversation: MutexGuard<'_, Conversation>,
        seen: &SeenRequest,
        found: AttributedRequest,
        ready: Option<Ready<'_>>,
    ) -> Result<Ticket, Problem> {
        if conversation.log.lost_edits && ready.is_some() {
            drop(found.withdraw(&mut conversation));
            return Err(Problem::LostEdits);
        }
        self.note_parent(&mut conversation);
        self.count_elsewhere(found.received.envelope.threaded && !seen.counting);
        let ReceivedRequest { body, envelope, same, .. } = &found.received;
        let request = Request { at: seen.at, class: found.class, body, envelope, same: *same, counting: seen.counting };
        if self.provider.is_supervised() && request.class.is_turn() && !request.counting {
            self.provider.note(&seen.hints, self.engine.is_meant(&conversation, &request));
        }
        let added = if ready.is_some() { self.engine.adds(&conversation, &request) } else { Additions::default() };
        if !added.kinds().is_empty() {
            self.provider.counts.asked();
        }
        let (editor, imports) = (self.automatic.get(), self.gather_known(&conversation));
        let by = Circumstances {
            at: seen.at,
            hints: &seen.hints,
            counting: seen.counting,
            is_held: ready.is_some(),
            is_committing: self.storing.is_locked(conversation.id()),
            editor: editor.as_deref(),
            figures: &|conversation, least| lock(&self.tool_uses).figures(conversation, least),
            imports: &imports,
            added: &added,
            give_way,
        };
        let (was, class) = (Posture::of(&conversation), request.class);
        let mut entry = self.engine.arrive(&mut conversation, found, &by);
        // Before it leaves: the client's next request can come before this one is booked.
        self.follow(&was, &conversation);
        if let Some(ready) = ready {
            // Composed or not, it leaves with the edits asked of the provider.
            let mut is_told = false;
            self.engine.leave(&mut conversation, &mut entry, &mut |outgoing| {
                is_told = true;
                ready(added.lay(outgoing));
                // The request is on its way: the thread that sends it goes first.
                give_way();
            })?;
            if !is_told {
                ready(added.lay(None));
            }
        }
        let turn = entry.is_turn();
        let Booking { mut step, card, tools } = self.engine.book(&mut conversation, entry, &by);
        let (request, losses) = (conversation.progress.requests, conversation.log.losses);
        let ticket = Ticket { conversation: conversation.id().to_owned(), request, class, turn, losses };
        if seen.counting {
            return Ok(ticket);
        }
        self.follow(&was, &conversation);
        match card {
            Some(card) => {
                self.held.meet(&card);
                lock(&self.directory).put(card);
            }
            None => self.note_sides(&conversation, &mut step),
        }
        if let Some(tools) = tools {
            lock(&self.tool_uses).put(conversation.id(), tools);
        }
        let (id, weight) = (conversation.id().to_owned(), conversation.weight());
        self.newest.put(&seen.hints, &conversation);
        // Sent before the new state is visible: a reader that settles then finds all of it stored.
        self.write_for(&conversation, step);
        drop(conversation);
        self.weigh_loaded(&id, shared, weight);
        Ok(ticket)
    }

    fn count_elsewhere(&self, is_elsewhere: bool) {
        self.elsewhere.fetch_add(u64::from(is_elsewhere), Ordering::Relaxed);
    }

    /// Records the working folder of the parent's client, while its own is unknown.
    pub(crate) fn note_parent(&self, conversation: &mut Conversation) {
        if conversation.folder().is_none()
            && let Some(parent) = &conversation.opened().parent
        {
            let folder = lock(&self.directory).card(parent).and_then(|card| card.folder.clone());
            conversation.set_parent_folder(folder);
        }
    }

    /// Updates the hold, the alarm and the size of a changed conversation.
    pub(crate) fn follow(&self, was: &Posture, conversation: &Conversation) {
        let is = Posture::of(conversation);
        if is.head != was.head {
            self.weighed.forget(conversation.id());
        }
        if is != *was {
            self.update_hold(conversation);
        } else if is.waits {
            self.set_alarm(conversation);
        }
    }
}

/// The state of a conversation that the rest of the service depends on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Posture {
    is_held: bool,
    is_edited: bool,
    waits: bool,
    head: Option<CommitId>,
}

impl Posture {
    pub fn of(conversation: &Conversation) -> Posture {
        Posture {
            is_held: conversation.is_held(),
            is_edited: conversation.is_edited(),
            waits: conversation.waits(),
            head: conversation.history.head(),
        }
    }
}
