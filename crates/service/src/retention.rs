//! Removes the content of conversations after a time, and their figures after another.
//!
//! Before the content goes, the sums of the conversation are stored as a record of their own. The records of a month
//! are one conversation of the store, without messages, which is removed as a whole. A crash between the two changes
//! nothing: the ledger takes the later record in place of everything before it.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use crate::view::{FIGURES, figures_id, is_figures};
use ctx_engine::conversation::waiting::WAITING;
use ctx_engine::{EDITED, NO, Refusal, record};
use ctx_store::{Expectation, NewRecord, Step, StoreError};
use std::collections::{BTreeMap, HashSet};

/// The number of conversations in a batch.
const TOGETHER: usize = 20;

/// How long conversations stay, counted from their last activity, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub content: u64,
    /// By the month; `None`: for ever.
    pub figures: Option<u64>,
    /// Remove edited conversations too. If their session goes on afterwards, its requests leave without the edits.
    pub edited: bool,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionBatch {
    /// The ids of removed conversations.
    pub removed: Vec<String>,
    /// Conversations that are due and still there.
    pub remaining: u64,
}

impl Parts {
    /// One batch.
    pub(crate) fn retain(&self, rules: &Retention) -> Result<RetentionBatch, Refusal> {
        let oldest = now().saturating_sub(rules.content);
        let due = self.due(rules, oldest)?;
        let some = due.get(..due.len().min(TOGETHER)).unwrap_or_default();
        self.keep_figures(some)?;
        let removed = self.remove(some)?;
        let remaining = (due.len() - some.len()) as u64;
        if remaining == 0 {
            let months = self.old_months(rules)?;
            self.remove(&months)?;
            if !removed.is_empty() || !months.is_empty() {
                self.store.sweep()?;
            }
        }
        Ok(RetentionBatch { removed, remaining })
    }

    /// The conversations whose content is too old, oldest first. Another daemon may edit one of them at any time, so the
    /// store is asked, and asked for the versions first.
    fn due(&self, rules: &Retention, oldest: u64) -> Result<Vec<Expectation>, StoreError> {
        let mut due = self.inactive_since(oldest)?;
        if due.is_empty() {
            return Ok(due);
        }
        let (waiting, edited) = (self.noted(WAITING)?, self.noted(EDITED)?);
        let is_edited = |id: &str| edited.contains(id) || self.held.is_held(id);
        due.retain(|Expectation { conversation: id, .. }| !waiting.contains(id) && (rules.edited || !is_edited(id)));
        let directory = lock(&self.directory);
        due.sort_by_cached_key(|due| directory.card(&due.conversation).map(|card| card.last_activity));
        Ok(due)
    }

    /// The conversations with this note.
    fn noted(&self, name: &str) -> Result<HashSet<String>, StoreError> {
        Ok(self.store.notes(name)?.into_iter().filter(|(_, body)| body != NO).map(|(id, _)| id).collect())
    }

    /// Stores the sums of these conversations, before their records go.
    fn keep_figures(&self, due: &[Expectation]) -> Result<(), Refusal> {
        let mut months: BTreeMap<String, Vec<NewRecord>> = BTreeMap::new();
        {
            let mut ledger = lock(&self.ledger);
            ledger.read_on(&*self.store, &self.engine.models)?;
            let directory = lock(&self.directory);
            for id in due.iter().map(|due| &due.conversation) {
                let card = directory.card(id);
                // Costs of an imported copy were paid elsewhere.
                if card.is_some_and(|card| card.imported) {
                    continue;
                }
                let parent = || directory.card(card?.parent.as_ref()?)?.folder.clone();
                let folder = card.and_then(|card| card.folder.clone()).or_else(parent);
                let Some((last, figures)) = ledger.retained(id, folder) else { continue };
                let month = figures_id(last);
                let kept = record(&month, now(), FIGURES, &figures, Vec::new());
                months.entry(month).or_default().push(kept);
            }
        }
        for (month, records) in months {
            let version = self.store.records(&month, 0)?.last_seq().unwrap_or(0);
            self.writer.set_version(&month, version);
            let losses = lock(&self.directory).losses(&month);
            let stored = self.writer.write_now(Step { records, durable: true, ..Step::default() }, losses);
            drop(stored.map_err(|error| error.refusal("The figures"))?);
        }
        Ok(())
    }

    fn remove(&self, due: &[Expectation]) -> Result<Vec<String>, StoreError> {
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let removed = self.remove_unchanged(due)?;
        removed.iter().flat_map(|id| self.confirm(id)).for_each(|warning| tracing::warn!("{warning}"));
        Ok(removed)
    }

    fn old_months(&self, rules: &Retention) -> Result<Vec<Expectation>, StoreError> {
        let Some(figures) = rules.figures else { return Ok(Vec::new()) };
        let first = figures_id(now().saturating_sub(figures));
        let old = self.store.conversations()?.into_iter().filter(|row| is_figures(&row.id) && row.id < first);
        Ok(old.map(|row| Expectation { conversation: row.id, version: row.last_seq }).collect())
    }
}
