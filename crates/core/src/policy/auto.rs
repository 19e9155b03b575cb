//! Clears when it pays: trims new results before they are first sent, and reduces old ones to their names.
//!
//! Reducing rewrites the cached tail, and the number of future requests is unknown. So the rule is ski rental: act when
//! waiting has cost half as much as acting, or when the cache has expired and acting is free.

use super::stub::{BARE, without_names};
use super::trim::trim;
use super::{Cut, Item, Look, Policy, Price, Proposal};
use crate::key::Key;
use crate::tool::ToolRole;
use std::collections::HashMap;

/// The policy of the automatic editor, with its parameters.
pub struct Auto {
    /// Answers after which a file view may be cleared.
    pub read_age: usize,
    /// The same if the file has changed since.
    pub changed_age: usize,
    /// The same for any other result.
    pub other_age: usize,
    /// The same for a tool input.
    pub input_age: usize,
    /// A file view of fewer tokens stays until `few_age`: it saves little, and is missed as often as a long one.
    pub few: u64,
    pub few_age: usize,
    /// An agent that reads a file may want to change it. File views and inputs are therefore cleared only along with
    /// something else until this many changes were made since, or `longest` answers given.
    pub changes: usize,
    pub longest: usize,
    /// A tool input stays if its file was changed within this many answers.
    pub at_work: usize,
    /// Answers after which the names in a stub are removed too.
    pub names_age: usize,
    /// Below this many tokens, only free edits are made.
    pub above: u64,
    /// Below this many tokens, results are only trimmed: near the shortest prompt that the provider caches, less may
    /// cost more.
    pub floor: u64,
    /// The share of the price of acting that waiting must have cost.
    pub rent: f64,
    /// Acting must pay off within this share of the requests so far: a long conversation usually continues.
    pub share: f64,
    /// The number of future requests assumed when choosing the first cut.
    pub to_come: f64,
    /// Results of fewer tokens stay, as do inputs that would save fewer.
    pub least: u64,
}

impl Default for Auto {
    fn default() -> Auto {
        Auto {
            read_age: 14,
            changed_age: 6,
            other_age: 4,
            input_age: 15,
            few: 1_000,
            few_age: 30,
            changes: 10,
            longest: 40,
            at_work: 15,
            names_age: 80,
            above: 90_000,
            floor: 20_000,
            rent: 0.5,
            share: 0.6,
            to_come: 100.0,
            least: 150,
        }
    }
}

/// A clearable result or tool input.
struct Old<'i> {
    cut: Cut,
    item: &'i Item,
    what: What,
    /// Requests that have read it since it became clearable.
    idle: usize,
    /// It is no reason to act by itself, and is cleared along with a cut before it.
    waits: bool,
}

enum What {
    Result,
    Input,
    /// The names in a stub; holds the stub without them.
    Names(String),
}

impl Old<'_> {
    fn goes(&self, reason: &str) -> Proposal {
        match &self.what {
            What::Result => Proposal::shorten([self.item], reason).swap_remove(0),
            What::Input => Proposal::short_input(self.item, reason),
            What::Names(bare) => Proposal::instead(self.item, bare.clone(), reason),
        }
    }
}

/// The files in work.
struct Work {
    /// The answers that changed a file, in order, once per change.
    changes: Vec<usize>,
    /// The last answer that changed a file.
    last: HashMap<Key, usize>,
}

impl Work {
    fn of(look: &Look) -> Work {
        let mut changes: Vec<usize> = look.items.iter().filter(|item| item.changes).map(Item::counted_from).collect();
        changes.sort_unstable();
        let changed = look.items.iter().filter(|item| item.changes);
        let files = changed.filter_map(|item| Some((item.file?, item.counted_from())));
        Work { changes, last: files.collect() }
    }

    /// Whether the file of a result was changed after it.
    fn changed(&self, item: &Item) -> bool {
        self.last_change(item).is_some_and(|last| last > item.counted_from())
    }

    fn last_change(&self, item: &Item) -> Option<usize> {
        self.last.get(&item.file?).copied()
    }

    /// The number of changes after an answer.
    fn since(&self, step: usize) -> usize {
        self.changes.len() - self.changes.partition_point(|change| *change <= step)
    }
}

/// Whether a result shows a file.
fn is_view(item: &Item) -> bool {
    item.role == ToolRole::Read
}

impl Auto {
    /// Trims results that were not sent yet.
    pub fn trimmed(&self, look: &Look) -> Vec<Proposal> {
        let fresh = look.whole().filter(|item| item.fresh && item.tokens >= self.least);
        let short = |item: &Item| {
            let short = trim(item.role, &look.text(&item.call)?)?;
            Some(Proposal::instead(
                item,
                short,
                "trimmed before it is first sent: line numbers, colours, repeated lines",
            ))
        };
        fresh.filter_map(short).collect()
    }

    /// Clearable results, inputs and names, in order of position.
    fn old<'i>(&self, look: &'i Look) -> Vec<Old<'i>> {
        let work = Work::of(look);
        let mut old = Vec::new();
        for item in look.items.iter().filter(|item| !item.pinned && !item.role.is_steering()) {
            let moved_on = look.age(item) >= self.longest || work.since(item.counted_from()) >= self.changes;
            let mut add = |what: What, cut: Cut, from: usize| {
                let waits = !moved_on && (matches!(what, What::Input) || is_view(item));
                old.push(Old { cut, item, what, idle: look.age(item) - from, waits })
            };
            let age = look.age(item);
            let from = self.result_age(item, &work);
            if !item.cleared && age >= from && item.is_worth(self.least) {
                add(What::Result, Cut::of(item), from);
            }
            if let Some(input) = item.input.filter(|input| age >= self.input_age && input.is_worth(self.least))
                && work.last_change(item).is_none_or(|last| look.steps.saturating_sub(last) >= self.at_work)
            {
                let removed = input.tokens.saturating_sub(input.left);
                add(What::Input, Cut { before: input.before, removed }, self.input_age);
            }
            if item.cleared
                && item.tokens > 2 * BARE
                && age >= self.names_age
                && let Some(bare) = look.text(&item.call).and_then(|text| without_names(&text))
            {
                let cut = Cut { before: item.before, removed: item.tokens - BARE };
                add(What::Names(bare), cut, self.names_age);
            }
        }
        old.sort_by_key(|old| old.cut.before);
        old
    }

    /// Answers after which a result may be cleared.
    fn result_age(&self, item: &Item, work: &Work) -> usize {
        match is_view(item) {
            false => self.other_age,
            true if work.changed(item) => self.changed_age,
            true if item.tokens < self.few => self.few_age,
            true => self.read_age,
        }
    }

    fn shortened(&self, look: &Look) -> Vec<Proposal> {
        if look.tokens < self.floor {
            return Vec::new();
        }
        let old = self.old(look);
        if look.cold {
            return old.iter().map(|old| old.goes("the cache has expired, so this costs nothing")).collect();
        }
        if look.tokens < self.above {
            return Vec::new();
        }
        let by_itself: Vec<&Old> = old.iter().filter(|old| !old.waits).collect();
        let cuts: Vec<Cut> = by_itself.iter().map(|old| old.cut).collect();
        // The cost of reading the candidates from each one on, since they became clearable.
        let mut rent = 0.0;
        let since = |old: &&Old| {
            rent += old.cut.removed as f64 * old.idle as f64 * look.rates.read;
            rent
        };
        let mut rents: Vec<f64> = by_itself.iter().rev().map(since).collect();
        rents.reverse();
        let soon = self.share * look.steps as f64;
        let is_due = |Price { break_even: even, .. }: &Price, rent: f64| {
            rent >= self.rent * even.once && even.saves * soon > even.once
        };
        let gain = |Price { break_even: even, .. }: &Price| even.saves * self.to_come - even.once;
        let priced = cuts.iter().zip(look.prices(&cuts)).zip(rents);
        let due = priced.filter(|((_, price), rent)| is_due(price, *rent)).map(|(priced, _)| priced);
        let best = due.max_by(|(_, one), (_, other)| gain(one).total_cmp(&gain(other)));
        let Some((Cut { before: from, .. }, price)) = best else { return Vec::new() };
        let why =
            format!("old results: {} tokens less in total, {}", crate::format::count(price.removed), price.forecast());
        old.iter().filter(|old| old.cut.before >= *from).map(|old| old.goes(&why)).collect()
    }
}

impl Policy for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn about(&self) -> &str {
        "trims new results; reduces old results and inputs to their names when that pays off or the cache has \
         expired"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let mut proposed = self.trimmed(look);
        proposed.extend(self.shortened(look));
        proposed
    }
}

#[cfg(test)]
mod tests;
