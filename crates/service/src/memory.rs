//! The conversations in memory: loads them from the store, and frees their memory.

use crate::directory::{Directory, SharedConversation};
use crate::parts::Parts;
use crate::recorder::Order;
use crate::threads::lock;
use ctx_engine::{Conversation, log};
use ctx_store::{Expectation, Snapshot, Step, StoreError};
use std::time::Instant;

impl Parts {
    /// The conversation, from memory or replayed from the store.
    pub(crate) fn get(&self, id: &str) -> Result<Option<SharedConversation>, StoreError> {
        const TRIES: usize = 3;
        for attempt in 1.. {
            let (dropped, changes) = {
                let mut directory = lock(&self.directory);
                if let Some(found) = directory.touch(id) {
                    drop(directory);
                    self.meter.get().iter().for_each(|meter| meter.found());
                    return Ok(Some(found));
                }
                (directory.dropped(), directory.changes(id))
            };
            // Steps still waiting to be written belong to it. No lock is held meanwhile.
            if !self.writer.settle_conversation(id, self.patience()) {
                return Err(StoreError::Slow);
            }
            let began = Instant::now();
            let Some(mut conversation) = self.load(id)? else { break };
            self.meter.get().iter().for_each(|meter| meter.loaded(began.elapsed()));
            let snapshot = conversation.log.snapshot.take();
            let mut directory = lock(&self.directory);
            // It may lack an edit that was acknowledged meanwhile.
            if directory.changes(id) != changes {
                continue;
            }
            if directory.dropped() == dropped || attempt >= TRIES {
                self.held.raise(&conversation);
                if !directory.is_loaded(id) {
                    self.writer.set_version(id, conversation.log.version);
                }
                // Under this lock, a purge comes before it or waits for it.
                if let Some(snapshot) = snapshot.filter(|_| !directory.is_loaded(id)) {
                    self.keep_snapshot(id, &snapshot);
                }
                return Ok(Some(directory.keep(conversation)));
            }
        }
        if !lock(&self.directory).is_loaded(id) {
            self.writer.set_version(id, 0);
        }
        Ok(None)
    }

    /// Stores a snapshot in the background, unless the conversation has grown meanwhile: the next load makes another.
    fn keep_snapshot(&self, id: &str, snapshot: &Snapshot) {
        let Some(note) = snapshot.note(id) else { return };
        let expect = Some(Expectation { conversation: id.to_owned(), version: snapshot.version });
        self.writer.write(Step { notes: vec![note], expect, ..Step::default() }, None);
    }

    /// The conversation as stored, with everything about it that is kept elsewhere.
    pub(crate) fn load(&self, id: &str) -> Result<Option<Conversation>, StoreError> {
        let Some(mut conversation) = Conversation::load(id, &*self.store)? else { return Ok(None) };
        conversation.messages.titles = lock(&self.titles).get(id).cloned().unwrap_or_default();
        self.note_parent(&mut conversation);
        conversation.find_folder(None);
        let (model, asked) = (conversation.newest.envelope.model.as_deref(), conversation.asked_lifetime());
        let kept_for = self.engine.kept_for(model, asked);
        conversation.cache.keep_for(kept_for);
        Ok(Some(conversation))
    }

    pub(crate) fn newborn(&self, id: String, opened: log::OpeningRecord) -> Conversation {
        Conversation::new(id, opened)
    }

    /// Waits while conversations are read at the start.
    pub(crate) fn wait_until_known(&self) {
        self.knowledge.wait(self.patience());
    }

    /// Whether [`Parts::rest`] would free memory.
    pub(crate) fn is_heavy(&self) -> bool {
        lock(&self.directory).is_heavy()
    }

    /// Frees the memory of conversations that were not used lately.
    pub(crate) fn rest(&self) {
        self.with_directory(Directory::rest);
    }

    /// Drops all conversations from memory; they are replayed on demand.
    pub(crate) fn start_over(&self) {
        self.with_directory(Directory::unload_all);
    }

    /// Changes the directory. Unloaded conversations are freed after it is unlocked.
    pub(crate) fn with_directory<T>(&self, change: impl FnOnce(&mut Directory) -> T) -> T {
        let mut directory = lock(&self.directory);
        let outcome = change(&mut directory);
        let attic = directory.empty_attic();
        drop(directory);
        attic.free();
        outcome
    }

    pub(crate) fn is_current(&self, id: &str, shared: &SharedConversation) -> bool {
        lock(&self.directory).is_current(id, shared)
    }

    /// Records the size of a conversation. One unloaded while a request was booked in it is unloaded again: a thread
    /// may have loaded it meanwhile without that request.
    pub(crate) fn weigh_loaded(&self, id: &str, shared: &SharedConversation, weight: usize) {
        self.with_directory(|directory| {
            if !directory.is_current(id, shared) {
                directory.unload(id);
            }
            directory.weigh(id, weight);
        });
    }

    /// Waits until everything is booked that passed in another conversation before the request of this `order`.
    pub(crate) fn catch_up(&self, id: &str, order: Option<Order>) {
        let Some(order) = order else { return };
        let whose = lock(&self.directory).card(id).and_then(|card| Some((card.session.clone()?, card.agent.clone())));
        if let Some((session, agent)) = whose {
            self.lanes.catch_up(&session, agent.as_deref(), order);
        }
    }
}
