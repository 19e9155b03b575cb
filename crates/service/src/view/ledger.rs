//! The ledger: what requests took, what that cost, and what operations saved.
//!
//! Saved is what the same request would have cost unedited, under the same cache, less what it did cost. Unedited it
//! reads what the edited one reads and what was removed in front of that, and nothing is written again because of an
//! edit. So the request after an edit has a negative figure, and those that follow have positive ones.
//!
//! Money is counted in whole billionths of a dollar: sums are the same however they are grouped.

mod row;

use ctx_api::stats::{DayView, GroupView, Grouping, Stats};
use ctx_core::day::Day;
use ctx_engine::Refusal;
use ctx_engine::card::Card;
use row::{Row, Sum, Talk};

use crate::Service;
use crate::directory::lock;
use ctx_store::Records;
use std::collections::{BTreeMap, HashMap};

/// Records that are read at once.
const PAGE: usize = 5_000;

/// What is asked of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    pub by: Grouping,
    /// Milliseconds since 1970; the whole day in which that lies counts.
    pub since: Option<u64>,
    pub conversation: Option<String>,
    /// At most so many groups, the newest or dearest; the sums are of all.
    pub most: Option<usize>,
}

/// Sums that are kept, so that only what is new has to be read.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The number of the last record that is in it.
    seq: u64,
    skipped: u64,
    talks: HashMap<String, Talk>,
}

impl Ledger {
    pub fn forget(&mut self, conversation: &str) {
        self.talks.remove(conversation);
    }
}

/// A group while it grows.
#[derive(Default)]
struct Group {
    sum: Sum,
    model: Option<String>,
}

impl Service {
    /// What requests took and cost.
    pub fn stats(&self, asked: &Asked) -> Result<Stats, Refusal> {
        let only = asked.conversation.as_deref().map(|name| self.meant(name)).transpose()?;
        self.settle(crate::PATIENCE);
        let mut ledger = lock(&self.ledger);
        self.read_on(&mut ledger)?;
        let since = asked.since.map(Day::of);
        // A clock may have been ahead: nothing was spent later than now.
        let now = crate::now();
        let day_of = |day: Day| day.min(Day::of(now));
        let counts_on = |day: Day| since.is_none_or(|since| day_of(day) >= since);
        let cards: HashMap<String, Card> =
            lock(&self.directory).cards().map(|card| (card.id.clone(), card.clone())).collect();
        let mut groups: BTreeMap<(u64, Option<String>), Group> = BTreeMap::new();
        let mut days: BTreeMap<Day, i64> = BTreeMap::new();
        let mut total = Sum::default();
        for (id, talk) in &ledger.talks {
            // What was paid elsewhere is not paid here.
            let is_copy = cards.get(id).is_some_and(|card| card.imported);
            if is_copy || only.as_ref().is_some_and(|only| only != id) {
                continue;
            }
            let mut counts = false;
            for (day, sum) in talk.days.iter().filter(|(day, _)| counts_on(**day)) {
                counts = true;
                total.add(sum);
                let day = day_of(*day);
                *days.entry(day).or_default() += sum.cost;
                let key = match asked.by {
                    Grouping::Request => continue,
                    Grouping::Conversation => Some(id.clone()),
                    Grouping::Project => folder(&cards, id),
                    Grouping::Day => Some(day.to_string()),
                };
                groups.entry((0, key)).or_default().sum.add(sum);
            }
            if counts && asked.by == Grouping::Request {
                for row in self.rows(id)? {
                    if counts_on(Day::of(row.at)) {
                        let group = groups.entry((row.at, Some(format!("{id}/{}", row.request)))).or_default();
                        group.sum.add(&row.sum);
                        group.model = row.model;
                    }
                }
            }
        }
        let skipped = ledger.skipped;
        drop(ledger);
        let titled = asked.by == Grouping::Conversation;
        let mut groups: Vec<GroupView> = groups
            .into_iter()
            .map(|((_, key), group)| GroupView {
                title: key.as_ref().filter(|_| titled).and_then(|key| Some(cards.get(key)?.title.clone())),
                key,
                model: group.model,
                at: group.sum.at.min(now),
                spent: group.sum.spent(),
            })
            .collect();
        let most = asked.most.unwrap_or(usize::MAX);
        let more = groups.len().saturating_sub(most);
        match asked.by {
            Grouping::Request | Grouping::Day => drop(groups.drain(..more)),
            Grouping::Conversation | Grouping::Project => {
                groups.sort_by(|one, other| other.spent.cost.total_cmp(&one.spent.cost));
                groups.truncate(most);
            }
        }
        let since = since.map(Day::start);
        let prices_as_of = self.engine.models.as_of.clone();
        let (total, days) = (total.spent(), filled(&days));
        Ok(Stats { by: asked.by, since, prices_as_of, groups, more, total, days, skipped })
    }

    /// Takes in what has come since.
    fn read_on(&self, ledger: &mut Ledger) -> Result<(), Refusal> {
        loop {
            let Records { records, skipped } = self.store.log(ledger.seq, PAGE)?;
            ledger.skipped += skipped.len() as u64;
            let last = records.last().map(|record| record.seq).max(skipped.last().map(|skipped| skipped.seq));
            for record in &records {
                let talk = ledger.talks.entry(record.conversation.clone()).or_default();
                match talk.take(self, record) {
                    Ok(Some(row)) => talk.days.entry(Day::of(row.at)).or_default().add(&row.sum),
                    Ok(None) => {}
                    Err(_) => ledger.skipped += 1,
                }
            }
            ledger.seq = last.unwrap_or(ledger.seq);
            if records.len() + skipped.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Every answered request of a conversation.
    fn rows(&self, id: &str) -> Result<Vec<Row>, Refusal> {
        let mut talk = Talk::new(self.engine.moments.cache_seconds);
        let records = self.store.records(id, 0)?.records;
        Ok(records.iter().filter_map(|record| talk.take(self, record).ok().flatten()).collect())
    }
}

/// Where its client works; a sub-agent works where its parent does.
fn folder(cards: &HashMap<String, Card>, id: &str) -> Option<String> {
    let card = cards.get(id)?;
    let parent = || cards.get(card.parent.as_ref()?)?.folder.clone();
    card.folder.clone().or_else(parent)
}

/// With the days on which nothing was spent.
fn filled(days: &BTreeMap<Day, i64>) -> Vec<DayView> {
    let Some((first, last)) = days.keys().next().zip(days.keys().next_back()) else { return Vec::new() };
    let day = |day: Day| DayView { day: day.to_string(), cost: row::dollars(days.get(&day).copied().unwrap_or(0)) };
    first.until(*last).map(day).collect()
}

#[cfg(test)]
mod tests;
