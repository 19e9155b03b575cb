//! The ledger: the usage and cost of requests, and the savings by operations.
//!
//! The saving is the cost of the same request unedited, under the same cache, minus its real cost. Unedited, it reads
//! the tokens that the edited one reads and those removed before them, and nothing is written again because of an edit.
//! So the request after an edit has a negative saving, and later ones have positive ones.
//!
//! Money is counted in whole billionths of a dollar, so sums do not depend on the grouping.

mod retained;
mod row;

pub(crate) use retained::{FIGURES, figures_id, is_figures};
pub(super) use row::{Row, Sum, dollars};

use ctx_core::day::Day;
use ctx_models::Models;
use ctx_store::{Cursor, Reader, Records, StoreError};
use retained::RetainedFigures;
use row::Talk;
use std::collections::{BTreeMap, HashMap};

/// The number of records read at once.
const PAGE: usize = 5_000;

/// Cached sums, so that only new records are read.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The position behind the last record in it.
    cursor: Cursor,
    skipped: u64,
    talks: HashMap<String, Talk>,
    /// Of conversations whose content was removed, by id. One may have a later part in `talks`.
    retained: HashMap<String, RetainedFigures>,
}

impl Ledger {
    pub fn forget(&mut self, conversation: &str) {
        match is_figures(conversation) {
            true => *self = Ledger::default(),
            false => drop(self.talks.remove(conversation)),
        }
    }

    /// The sums of a conversation as they are stored before its content is removed, and the time of its last request.
    pub fn retained(&self, id: &str, folder: Option<String>) -> Option<(u64, RetainedFigures)> {
        let earlier = self.retained.get(id);
        let mut days: BTreeMap<(Day, Option<String>), Sum> =
            earlier.into_iter().flat_map(RetainedFigures::days).map(|(key, sum)| (key, *sum)).collect();
        for (key, sum) in self.talks.get(id).into_iter().flat_map(|talk| &talk.days) {
            days.entry(key.clone()).or_default().add(sum);
        }
        let last = days.values().map(|sum| sum.at).max()?;
        let folder = folder.or_else(|| earlier?.folder.clone());
        Some((last, RetainedFigures::new(id, folder, days)))
    }

    /// Conversations whose content was removed.
    pub fn removed(&self) -> impl Iterator<Item = &RetainedFigures> {
        self.retained.values()
    }

    /// The number of unreadable records.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The sums of each day and model, by conversation.
    pub fn talks(&self) -> impl Iterator<Item = (&String, impl Iterator<Item = (&(Day, Option<String>), &Sum)>)> {
        self.talks.iter().map(|(id, talk)| (id, talk.days.iter()))
    }

    /// Adds the new records.
    pub fn read_on(&mut self, store: &dyn Reader, models: &Models) -> Result<(), StoreError> {
        loop {
            let feed = store.feed(&self.cursor, PAGE)?;
            let Records { records, skipped } = feed.found;
            self.skipped += skipped.len() as u64;
            for record in &records {
                if record.kind == FIGURES {
                    self.take_retained(&record.body);
                    continue;
                }
                let talk = self.talks.entry(record.conversation.clone()).or_default();
                match talk.take(store, models, record) {
                    Ok(Some(row)) => talk.days.entry((Day::of(row.at), row.model)).or_default().add(&row.sum),
                    Ok(None) => {}
                    Err(_) => self.skipped += 1,
                }
            }
            self.cursor = feed.next;
            if records.len() + skipped.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Takes the sums of everything that came before.
    fn take_retained(&mut self, body: &[u8]) {
        match serde_json::from_slice::<RetainedFigures>(body) {
            Ok(figures) => {
                self.talks.remove(&figures.conversation);
                self.retained.insert(figures.conversation.clone(), figures);
            }
            Err(_) => self.skipped += 1,
        }
    }
}

/// Every answered request of a conversation. `kept_for`: the lifetime of the cache in seconds, if set by the user.
pub(super) fn rows(
    store: &dyn Reader,
    models: &Models,
    kept_for: Option<u64>,
    conversation: &str,
) -> Result<Vec<Row>, StoreError> {
    let mut talk = Talk::new(kept_for);
    let records = store.records(conversation, 0)?.records;
    Ok(records.iter().filter_map(|record| talk.take(store, models, record).ok().flatten()).collect())
}

#[cfg(test)]
mod tests;
