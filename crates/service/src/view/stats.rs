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

/// The sums of requests in groups. Those of several people can be added.
#[derive(Default)]
pub struct Figures {
    groups: BTreeMap<(u64, Option<String>), Group>,
    days: BTreeMap<Day, i64>,
    total: Sum,
    skipped: u64,
    prices_as_of: String,
}

#[derive(Default)]
struct Group {
    sum: Sum,
    model: Option<String>,
    title: Option<String>,
}

impl Figures {
    /// Everything in each of these groups; once in the sums.
    pub fn under(mut self, keys: &[Option<String>]) -> Figures {
        self.groups.clear();
        if self.total != Sum::default() {
            let group = |key: &Option<String>| ((0, key.clone()), Group { sum: self.total, ..Group::default() });
            self.groups = keys.iter().map(group).collect();
        }
        self
    }

    /// The ids of conversations together with their owner, and without titles.
    pub fn of_owner(mut self, owner: &str) -> Figures {
        let renamed = |((at, key), group): ((u64, Option<String>), Group)| {
            let key = key.map(|key| format!("{owner}:{key}"));
            ((at, key), Group { title: None, ..group })
        };
        self.groups = self.groups.into_iter().map(renamed).collect();
        self
    }

    fn sum_up(&mut self, day: Day, sum: &Sum) {
        self.total.add(sum);
        *self.days.entry(day).or_default() += sum.cost;
    }

    pub fn add(&mut self, other: Figures) {
        for (key, Group { sum, model, title }) in other.groups {
            let group = self.groups.entry(key).or_default();
            group.sum.add(&sum);
            (group.model, group.title) = (model, title);
        }
        other.days.into_iter().for_each(|(day, cost)| *self.days.entry(day).or_default() += cost);
        self.total.add(&other.total);
        self.skipped += other.skipped;
        self.prices_as_of = other.prices_as_of;
    }

    pub fn view(self, asked: &StatsScope) -> Stats {
        let now = now();
        let mut groups: Vec<GroupView> = self
            .groups
            .into_iter()
            .map(|((_, key), group)| GroupView {
                title: group.title,
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
            Grouping::Conversation | Grouping::Project | Grouping::Model | Grouping::Person | Grouping::Group => {
                groups.sort_by(|one, other| other.spent.cost.total_cmp(&one.spent.cost));
                groups.truncate(most);
            }
        }
        let since = asked.since.map(|since| Day::of(since).start());
        let (total, days) = (self.total.spent(), filled(&self.days));
        let (prices_as_of, skipped) = (self.prices_as_of, self.skipped);
        Stats { by: asked.by, since, prices_as_of, groups, more, total, days, skipped }
    }
}

impl Parts {
    /// People and groups are not known here: those figures are only summed.
    pub(crate) fn figures(&self, asked: &StatsScope) -> Result<Figures, Refusal> {
        let only = asked.conversation.as_deref().map(|name| self.meant(name)).transpose()?;
        self.settle(self.patience());
        let mut ledger = lock(&self.ledger);
        ledger.read_on(&*self.store, &self.engine.models)?;
        let since = asked.since.map(Day::of);
        // A clock may have been ahead: nothing was spent later than now.
        let today = Day::of(now());
        let counts_on = |day: Day| since.is_none_or(|since| day.min(today) >= since);
        let cards: HashMap<String, Card> =
            lock(&self.directory).cards().map(|card| (card.id.clone(), card.clone())).collect();
        let is_meant = |id: &String| only.as_ref().is_none_or(|only| only == id);
        let mut found =
            Figures { skipped: ledger.skipped(), prices_as_of: self.engine.models.as_of.clone(), ..Figures::default() };
        for (id, talk) in ledger.talks() {
            // Costs of an imported copy were paid elsewhere.
            let is_copy = cards.get(id).is_some_and(|card| card.imported);
            if is_copy || !is_meant(id) {
                continue;
            }
            let mut counts = false;
            for ((day, model), sum) in talk.filter(|((day, _), _)| counts_on(*day)) {
                counts = true;
                let day = (*day).min(today);
                found.sum_up(day, sum);
                let key = match asked.by {
                    Grouping::Request | Grouping::Person | Grouping::Group => continue,
                    Grouping::Conversation => Some(id.clone()),
                    Grouping::Project => folder(&cards, id),
                    Grouping::Day => Some(day.to_string()),
                    Grouping::Model => model.clone(),
                };
                found.groups.entry((0, key)).or_default().sum.add(sum);
            }
            if counts && asked.by == Grouping::Request {
                for row in self.rows(id)? {
                    if counts_on(Day::of(row.at)) {
                        let group = found.groups.entry((row.at, Some(format!("{id}/{}", row.request)))).or_default();
                        group.sum.add(&row.sum);
                        group.model = row.model;
                    }
                }
            }
        }
        for figures in ledger.removed().filter(|figures| is_meant(&figures.conversation)) {
            let id = &figures.conversation;
            for ((day, model), sum) in figures.days().filter(|((day, _), _)| counts_on(*day)) {
                let day = day.min(today);
                found.sum_up(day, sum);
                let key = match asked.by {
                    Grouping::Person | Grouping::Group => continue,
                    // Its requests are no longer known one by one.
                    Grouping::Conversation | Grouping::Request => Some(id.clone()),
                    Grouping::Project => figures.folder.clone(),
                    Grouping::Day => Some(day.to_string()),
                    Grouping::Model => model,
                };
                found.groups.entry((0, key)).or_default().sum.add(sum);
            }
        }
        if asked.by == Grouping::Conversation {
            for ((_, key), group) in &mut found.groups {
                group.title = key.as_ref().and_then(|key| Some(cards.get(key)?.title.clone()));
            }
        }
        Ok(found)
    }

    pub(crate) fn stats(&self, asked: &StatsScope) -> Result<Stats, Refusal> {
        Ok(self.figures(asked)?.view(asked))
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
