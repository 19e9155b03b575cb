//! The usage and cost of requests, in groups.

use super::ledger::{Row, Sum, dollars, rows};
use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::stats::{DayView, GroupView, Grouping, Stats};
use ctx_core::day::Day;
use ctx_engine::Refusal;
use ctx_engine::card::Card;
use std::collections::{BTreeMap, HashMap};

/// The scope of a query to the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatsScope {
    pub by: Grouping,
    /// Milliseconds since 1970; includes the whole day.
    pub since: Option<u64>,
    pub conversation: Option<String>,
    /// The maximum number of groups, newest or most expensive first; the sums include all.
    pub most: Option<usize>,
}

/// A group while it grows.
#[derive(Default)]
struct Group {
    sum: Sum,
    model: Option<String>,
}

impl Parts {
    pub(crate) fn stats(&self, asked: &StatsScope) -> Result<Stats, Refusal> {
        let only = asked.conversation.as_deref().map(|name| self.meant(name)).transpose()?;
        self.settle(self.patience());
        let mut ledger = lock(&self.ledger);
        ledger.read_on(&*self.store, &self.engine.models)?;
        let since = asked.since.map(Day::of);
        // A clock may have been ahead: nothing was spent later than now.
        let now = now();
        let day_of = |day: Day| day.min(Day::of(now));
        let counts_on = |day: Day| since.is_none_or(|since| day_of(day) >= since);
        let cards: HashMap<String, Card> =
            lock(&self.directory).cards().map(|card| (card.id.clone(), card.clone())).collect();
        let mut groups: BTreeMap<(u64, Option<String>), Group> = BTreeMap::new();
        let mut days: BTreeMap<Day, i64> = BTreeMap::new();
        let mut total = Sum::default();
        for (id, talk) in ledger.talks() {
            // Costs of an imported copy were paid elsewhere.
            let is_copy = cards.get(id).is_some_and(|card| card.imported);
            if is_copy || only.as_ref().is_some_and(|only| only != id) {
                continue;
            }
            let mut counts = false;
            for (day, sum) in talk.filter(|(day, _)| counts_on(**day)) {
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
        let skipped = ledger.skipped();
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

    fn rows(&self, id: &str) -> Result<Vec<Row>, Refusal> {
        Ok(rows(&*self.store, &self.engine.models, self.engine.moments.cache_seconds, id)?)
    }
}

/// The client's working folder; a subagent works in its parent's.
fn folder(cards: &HashMap<String, Card>, id: &str) -> Option<String> {
    let card = cards.get(id)?;
    let parent = || cards.get(card.parent.as_ref()?)?.folder.clone();
    card.folder.clone().or_else(parent)
}

/// Adds the days without spending.
fn filled(days: &BTreeMap<Day, i64>) -> Vec<DayView> {
    let Some((first, last)) = days.keys().next().zip(days.keys().next_back()) else { return Vec::new() };
    let day = |day: Day| DayView { day: day.to_string(), cost: dollars(days.get(&day).copied().unwrap_or(0)) };
    first.until(*last).map(day).collect()
}
