//! Deletes conversations permanently.

use crate::activity;
use crate::clock::now;
use crate::directory::SharedConversation;
use crate::parts::{PATIENCE, Parts};
use crate::threads::lock;
use crate::view::is_figures;
use ctx_store::{Expectation, PurgeReport, StoreError};
use std::collections::BTreeSet;

/// The number of conversations purged before other work gets a turn.
const PURGED_TOGETHER: usize = 64;

impl Parts {
    /// The conversations without activity since then, with their versions.
    pub(crate) fn inactive_since(&self, oldest: u64) -> Result<Vec<Expectation>, StoreError> {
        let rows = self.store.conversations()?;
        let inactive = activity::inactive_since(oldest, &rows, now()).into_iter();
        // Figures have a time of their own.
        let conversations = inactive.filter(|row| !is_figures(&row.id));
        Ok(conversations.map(|row| Expectation { conversation: row.id.clone(), version: row.last_seq }).collect())
    }

    pub(crate) fn purge(&self, ids: &[String]) -> Result<PurgeReport, StoreError> {
        let mut purged = PurgeReport::default();
        // In the order of storage: neighbours share pages of the file.
        let mut ids = ids.to_vec();
        {
            let directory = lock(&self.directory);
            ids.sort_by_cached_key(|id| directory.card(id).map(|card| card.last_activity));
        }
        // A few at a time, so that none of them waits for all the others.
        for some in ids.chunks(PURGED_TOGETHER) {
            purged += self.purge_some(some)?;
        }
        ids.iter().flat_map(|id| self.confirm(id)).for_each(|warning| tracing::warn!("{warning}"));
        purged += self.store.sweep()?;
        Ok(purged)
    }

    fn purge_some(&self, ids: &[String]) -> Result<PurgeReport, StoreError> {
        self.remove_with(ids, |gone| {
            let purged = self.store.remove(ids)?;
            gone.extend_from_slice(ids);
            Ok(purged)
        })
        .1
    }

    /// Removes those that have not grown, here or through another daemon. Returns them.
    pub(crate) fn remove_unchanged(&self, expected: &[Expectation]) -> Result<Vec<String>, StoreError> {
        let ids: Vec<String> = expected.iter().map(|expect| expect.conversation.clone()).collect();
        let (removed, outcome) = self.remove_with(&ids, |gone| {
            // One whose newest steps are not stored yet has grown, too.
            for expect in expected.iter().filter(|expect| !self.writer.has_backlog(&expect.conversation)) {
                if self.store.remove_if(expect)?.is_some() {
                    gone.push(expect.conversation.clone());
                }
            }
            Ok(())
        });
        outcome.map(|()| removed)
    }

    /// Removes conversations from the store, as `remove` does, and from memory. Returns those that `remove` listed as gone,
    /// even if it failed afterwards.
    fn remove_with<T>(
        &self,
        ids: &[String],
        remove: impl FnOnce(&mut Vec<String>) -> Result<T, StoreError>,
    ) -> (Vec<String>, Result<T, StoreError>) {
        // In a fixed order, so that two purges do not wait for each other.
        let sorted: BTreeSet<&String> = ids.iter().collect();
        let _commits: Vec<_> = sorted.iter().map(|id| self.editing.lock(id)).collect();
        let places: Vec<SharedConversation> = sorted.iter().map(|id| lock(&self.directory).place(id)).collect();
        let _busy: Vec<_> = places.iter().map(|place| lock(place)).collect();
        // Pending writes would bring them back.
        self.settle(PATIENCE);
        let mut gone = Vec::new();
        let outcome = remove(&mut gone);
        // The others are still stored: an empty place must not be taken for one of them.
        self.with_directory(|directory| {
            ids.iter().filter(|id| !gone.contains(id)).for_each(|id| directory.unload(id));
        });
        gone.iter().for_each(|id| self.forget(id));
        (gone, outcome)
    }

    /// Drops everything in memory about a conversation that is no longer stored.
    pub(crate) fn forget(&self, id: &str) {
        lock(&self.ledger).forget(id);
        lock(&self.titles).remove(id);
        lock(&self.tool_uses).forget(id);
        self.weighed.forget(id);
        let card = lock(&self.directory).card(id).cloned();
        self.held.forget(id, card.as_ref());
        self.alarm.set(id, None);
        self.engine.offload_folder.iter().for_each(|folder| folder.forget(id));
        let is_pending = self.writer.has_backlog(id) || self.storing.is_locked(id);
        self.with_directory(|directory| {
            // What is still to be written here would bring it back, if another daemon removed it.
            if is_pending || directory.is_loaded(id) {
                directory.outdate(id);
            }
            directory.forget(id);
        });
        self.writer.set_version(id, 0);
    }
}
