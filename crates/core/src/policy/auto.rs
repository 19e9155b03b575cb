use super::stub::{BARE, without_names};
use super::trim::trim;
use super::{Cut, Item, Look, Policy, Price, Proposal};
use crate::key::Key;
use crate::tool::ToolRole;
use std::collections::HashMap;

/// What the automatic editor does: what says nothing goes before it is sent for the first time; what is old enough is
/// shortened to its names, as soon as waiting has cost half of what that costs, and all of it when the cache has expired.
pub struct Auto {
    /// Answers after which a file that was read is hardly needed any more; one that was changed since, so that what was
    /// read is not true any more; any other result; and what a call was asked with.
    pub read_age: usize,
    pub changed_age: usize,
    pub other_age: usize,
    pub input_age: usize,
    /// A file that was read in so few tokens stays longer: it saves little, and may be missed like a long one.
    pub few: u64,
    pub few_age: usize,
    /// Who reads a file may want to change it. So what was read, and what a call was asked with, only goes along with
    /// something else until the work has moved on: until so many changes were made since, or so many answers given.
    pub changes: usize,
    pub longest: usize,
    /// What a call was asked with stays as long as its file was changed in so many answers.
    pub at_work: usize,
    /// Answers after which the names that are left of a result go too.
    pub names_age: usize,
    /// Below that nothing is done that costs something; and nothing at all below the second: near the shortest prompt
    /// that the provider caches, less may cost more.
    pub above: u64,
    pub floor: u64,
    /// Whoever rents what can be bought does not know for how long. Having paid the price in rents it is time to buy;
    /// and a little before, for what is bought lasts for long. So it acts when the requests so far have read what could
    /// have gone for this share of what acting costs.
    pub rent: f64,
    /// And it has to pay off in this share of the requests that went before: a conversation that has been going on for
    /// long mostly goes on.
    pub share: f64,
    /// Where it begins is chosen as if so many requests were to come.
    pub to_come: f64,
    /// Results of fewer tokens stay, and inputs that would lose fewer.
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

/// Something that may go.
struct Old<'i> {
    cut: Cut,
    item: &'i Item,
    what: What,
    /// For how many requests it has been read since it may go.
    idle: usize,
    /// It goes along with what goes before it, and by itself only when the work has moved on.
    waits: bool,
}

enum What {
    Result,
    Input,
    /// The names that are left of a result; without them it reads like this.
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

/// Which files are worked on.
struct Work {
    /// The answers that changed something, in order, once for each change.
    changes: Vec<usize>,
    /// The last answer that changed a file.
    last: HashMap<Key, usize>,
}

impl Work {
    fn of(look: &Look) -> Work {
        let mut changes: Vec<usize> = look.items.iter().filter(|item| item.changes).map(|item| item.step).collect();
        changes.sort_unstable();
        let files = look.items.iter().filter(|item| item.changes).filter_map(|item| Some((item.file?, item.step)));
        Work { changes, last: files.collect() }
    }

    /// Whether the file of a result was changed after it.
    fn changed(&self, item: &Item) -> bool {
        self.last_change(item).is_some_and(|last| last > item.step)
    }

    fn last_change(&self, item: &Item) -> Option<usize> {
        self.last.get(&item.file?).copied()
    }

    /// How many changes were made after an answer.
    fn since(&self, step: usize) -> usize {
        self.changes.len() - self.changes.partition_point(|change| *change <= step)
    }
}

/// Whether a result shows a file.
fn is_view(item: &Item) -> bool {
    item.role == ToolRole::Read
}

impl Auto {
    /// Results that can be said in fewer words, as long as nobody has seen them.
    pub fn trimmed(&self, look: &Look) -> Vec<Proposal> {
        let fresh = look.whole().filter(|item| item.fresh && item.tokens >= self.least);
        let short = |item: &Item| {
            let short = trim(item.role, &look.text(&item.call)?)?;
            Some(Proposal::instead(
                item,
                short,
                "trimmed before first sending: line numbers, colours and repeated lines",
            ))
        };
        fresh.filter_map(short).collect()
    }

    /// What may go, in the order in which it stands.
    fn old<'i>(&self, look: &'i Look) -> Vec<Old<'i>> {
        let work = Work::of(look);
        let mut old = Vec::new();
        for item in look.items.iter().filter(|item| !item.pinned && !item.role.is_steering()) {
            let moved_on = look.age(item) >= self.longest || work.since(item.step) >= self.changes;
            let mut add = |what: What, cut: Cut, from: usize| {
                let waits = !moved_on && (matches!(what, What::Input) || is_view(item));
                old.push(Old { cut, item, what, idle: look.age(item) - from, waits })
            };
            let age = look.age(item);
            let from = self.result_age(item, &work);
            if !item.cleared && age >= from && item.is_worth(self.least) {
                add(What::Result, Cut { before: item.before, removed: item.tokens.saturating_sub(item.left) }, from);
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

    /// Answers after which a result may go.
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
            return old.iter().map(|old| old.goes("the cache has expired: this costs nothing now")).collect();
        }
        if look.tokens < self.above {
            return Vec::new();
        }
        let by_itself: Vec<&Old> = old.iter().filter(|old| !old.waits).collect();
        let cuts: Vec<Cut> = by_itself.iter().map(|old| old.cut).collect();
        // What those from each of them on have cost since they may go.
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
            format!("old results: {} tokens less in all, {}", crate::format::count(price.removed), price.forecast());
        old.iter().filter(|old| old.cut.before >= *from).map(|old| old.goes(&why)).collect()
    }
}

impl Policy for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn about(&self) -> &str {
        "new results are trimmed; old results and inputs shrink to their names when that pays off, or when the cache has expired"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let mut proposed = self.trimmed(look);
        proposed.extend(self.shortened(look));
        proposed
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, Input, Texts};
    use super::*;
    use crate::edit::Operation;

    fn look(steps: usize, cold: bool) -> Look<'static> {
        let item = |step: usize| Item {
            call: format!("toolu_{step}").into(),
            tool: "a tool".into(),
            role: if step.is_multiple_of(2) { ToolRole::Read } else { ToolRole::Shell },
            file: None,
            changes: false,
            tokens: 5000,
            before: 20_000 + step as u64 * 5000,
            step,
            left: 500,
            cleared: step < 2,
            fresh: step + 1 == steps,
            pinned: step == 2,
            superseded: false,
            input: None,
        };
        let items: Vec<Item> = (0..steps).map(item).collect();
        Look { tokens: 20_000 + steps as u64 * 5000, items, steps, cold, ..Look::default() }
    }

    fn calls(proposed: &[Proposal]) -> Vec<usize> {
        let id = |proposed: &Proposal| match &proposed.what {
            Action::Operation(Operation::SummarizeResults { select, text: None, .. }) => {
                select.calls[0].trim_start_matches("toolu_").parse().expect("a number")
            }
            other => panic!("{other:?}"),
        };
        proposed.iter().map(id).collect()
    }

    #[test]
    fn old_results_go_when_it_pays() {
        assert!(Auto::default().propose(&look(5, false)).is_empty(), "too short");
        let gone = calls(&Auto::default().propose(&look(60, false)));
        assert!(!gone.is_empty() && gone.is_sorted(), "{gone:?}");
        assert!(gone.iter().all(|step| *step > 2), "neither what is gone nor what is pinned: {gone:?}");
        assert!(gone.iter().all(|step| 60 - step >= if step.is_multiple_of(2) { 14 } else { 4 }), "{gone:?}");
    }

    #[test]
    fn it_waits_until_waiting_has_cost_half_of_it() {
        let mut look = look(40, false);
        look.items.iter_mut().for_each(|item| item.role = ToolRole::Shell);
        look.items.retain(|item| item.step == 20);
        look.tokens = 200_000;
        // 4,500 tokens were read for 16 requests in vain: 7,200. To act costs what stands behind, 75,500 tokens, written.
        assert!(Auto::default().propose(&look).is_empty());
        look.tokens = 133_000;
        assert_eq!(calls(&Auto::default().propose(&look)), [20], "now 8,500 tokens stand behind");
        look.steps = 26;
        assert!(Auto::default().propose(&look).is_empty(), "it was read in vain for two requests only");
    }

    #[test]
    fn what_shows_a_file_goes_sooner_when_that_was_changed_and_later_when_it_is_short() {
        let gone = |age: usize, change: &dyn Fn(&mut Look)| {
            let mut look = Look { steps: 10 + age, ..look(11, true) };
            look.items.retain(|item| item.step == 10);
            look.items[0].fresh = false;
            change(&mut look);
            !Auto::default().propose(&look).is_empty()
        };
        let changed = |look: &mut Look| {
            look.items[0].file = Some(Key::of([b"a file".as_slice()]));
            look.items.push(Item {
                step: 12,
                changes: true,
                role: ToolRole::Edit,
                tokens: 10,
                ..look.items[0].clone()
            });
        };
        assert!(gone(14, &|_| ()) && !gone(13, &|_| ()));
        assert!(gone(6, &changed) && !gone(5, &changed));
        let short = |look: &mut Look| look.items[0].tokens = 900;
        assert!(gone(30, &short) && !gone(29, &short));
    }

    #[test]
    fn all_of_them_when_the_cache_has_expired() {
        let proposed = Auto::default().propose(&look(8, true));
        assert_eq!(calls(&proposed), [3], "a short conversation too");
        assert!(proposed[0].reason.contains("expired"));
        let many = calls(&Auto::default().propose(&look(60, true)));
        assert!(many.len() >= calls(&Auto::default().propose(&look(60, false))).len());
    }

    #[test]
    fn what_a_call_was_asked_with_goes_when_it_is_old() {
        let mut look = look(40, true);
        look.items.iter_mut().for_each(|item| {
            item.cleared = true;
            item.file = Some(Key::of([item.call.as_bytes()]));
            item.input = Some(Input { tokens: 1000, before: item.before - 1000, left: 100 });
        });
        let proposed = Auto::default().propose(&look);
        let is_input = |proposed: &Proposal| matches!(proposed.what, Action::ShortInput { .. });
        assert!(proposed.iter().all(is_input) && proposed.len() == 25, "all but the pinned one: {proposed:?}");
        (look.items[39].file, look.items[39].changes) = (look.items[0].file, true);
        assert_eq!(Auto::default().propose(&look).len(), 24, "its file is being worked on");
    }

    #[test]
    fn what_was_read_goes_along_and_by_itself_when_the_work_has_moved_on() {
        let mut look = look(29, false);
        look.tokens = 160_000;
        look.items.retain(|item| item.step % 2 == 0);
        let gone = |look: &Look| {
            calls(&Auto { share: 100.0, rent: 0.01, to_come: 1000.0, ..Auto::default() }.propose(look)).len()
        };
        assert_eq!(gone(&look), 0, "nothing was changed since");
        look.items.iter_mut().filter(|item| item.step > 8).for_each(|item| item.changes = true);
        assert!(gone(&look) > 0);
        look.items.iter_mut().for_each(|item| item.changes = false);
        look.items[2].role = ToolRole::Shell;
        assert_eq!(gone(&look), 6, "those from 4 to 14");
    }

    #[test]
    fn the_names_that_are_left_go_when_they_are_very_old() {
        let left =
            super::super::stub::result_stub(&"some_name other_name ".repeat(9), Some("It is in a file."), |_| false);
        let text = |_: &str| Some(left.clone().into());
        let proposed = |steps| {
            let mut look = Look { steps, texts: Texts(Some(&text)), ..look(4, true) };
            look.items.retain(|item| item.cleared);
            look.items.iter_mut().for_each(|item| item.tokens = 500);
            Auto::default().propose(&look)
        };
        assert!(proposed(70).is_empty());
        let [first, _] = &proposed(90)[..] else { panic!("the two that are shortened") };
        let Action::Operation(Operation::SummarizeResults { text: Some(text), .. }) = &first.what else {
            panic!("{first:?}")
        };
        assert!(text.contains("It is in a file.") && !text.contains("some_name"), "{text}");
    }

    #[test]
    fn what_says_nothing_goes_before_it_is_sent() {
        let text = |_: &str| Some("still waiting\n".repeat(100).into());
        let look = Look { texts: Texts(Some(&text)), ..look(6, false) };
        let proposed = Auto::default().propose(&look);
        let [Proposal { what: Action::Operation(Operation::SummarizeResults { select, text: Some(text), .. }), .. }] =
            proposed.as_slice()
        else {
            panic!("one: {proposed:?}")
        };
        assert_eq!(select.calls, ["toolu_5"], "only what is new");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
