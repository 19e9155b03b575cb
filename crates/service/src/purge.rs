//! Deletes conversations permanently.

use crate::activity;
use crate::clock::now;
use crate::directory::SharedConversation;
use crate::parts::{PATIENCE, Parts};
use crate::threads::lock;
use crate::view::is_figures;
use ctx_store::{PurgeReport, StoreError};
use std::collections::BTreeSet;

/// The number of conversations purged before other work gets a turn.
const PURGED_TOGETHER: usize = 64;

impl Parts {
    pub(crate) fn inactive_since(&self, oldest: u64) -> Result<Vec<String>, StoreError> {
        let mut inactive = activity::inactive_since(oldest, &self.store.conversations()?, now());
        // Figures have a time of their own.
        inactive.retain(|id| !is_figures(id));
        Ok(inactive)
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
            purged += self.purge_some(some, None)?.1;
        }
        ids.iter().flat_map(|id| self.confirm(id)).for_each(|warning| tracing::warn!("{warning}"));
        purged += self.store.sweep()?;
        Ok(purged)
    }

    /// With `oldest`, only those without activity since then. Returns the removed ones.
    pub(crate) fn purge_some(
        &self,
        ids: &[String],
        oldest: Option<u64>,
    ) -> Result<(Vec<String>, PurgeReport), StoreError> {
        // In a fixed order, so that two purges do not wait for each other.
        let sorted: BTreeSet<&String> = ids.iter().collect();
        let _commits: Vec<_> = sorted.iter().map(|id| self.editing.lock(id)).collect();
        let places: Vec<SharedConversation> = sorted.iter().map(|id| lock(&self.directory).place(id)).collect();
        let _busy: Vec<_> = places.iter().map(|place| lock(place)).collect();
        // Pending writes would bring them back.
        self.settle(PATIENCE);
        let is_idle = |id: &&String| {
            let card = || lock(&self.directory).card(id).map(|card| card.last_activity);
            oldest.is_none_or(|oldest| card().is_none_or(|last| last < oldest))
        };
        let (idle, active): (Vec<&String>, Vec<&String>) = ids.iter().partition(is_idle);
        let idle: Vec<String> = idle.into_iter().cloned().collect();
        let removed = self.store.remove(&idle);
        // Those are still stored: an empty place must not be taken for one of them.
        let stay: Vec<&String> = if removed.is_err() { ids.iter().collect() } else { active };
        self.with_directory(|directory| stay.iter().for_each(|id| directory.unload(id)));
        let removed = removed?;
        idle.iter().for_each(|id| self.forget(id));
        Ok((idle, removed))
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
        self.writer.set_version(id, 0);
        self.with_directory(|directory| directory.forget(id));
    }
}
