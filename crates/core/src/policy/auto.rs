use super::trim::trim;
use super::{Cut, Item, Look, Policy, Price, Proposed};

/// What the automatic editor does: what says nothing goes before it is sent for the first time; what is old enough is
/// shortened to its names, at the moment and from the place on where that pays off soonest, and all of it when the cache
/// has expired.
pub struct Auto {
    /// Answers after which a file that was read is hardly needed any more, any other result, and what a call was asked
    /// with.
    pub read_age: usize,
    pub other_age: usize,
    pub input_age: usize,
    /// Below that nothing is done that costs something; and nothing at all below the second: near the shortest prompt
    /// that the provider caches, less may cost more.
    pub above: u64,
    pub floor: u64,
    /// It has to have paid off in this share of the requests that went before: a conversation that has been going on
    /// for long mostly goes on.
    pub share: f64,
    /// Results of fewer tokens stay, and inputs that would lose fewer.
    pub least: u64,
}

impl Default for Auto {
    fn default() -> Auto {
        Auto { read_age: 13, other_age: 4, input_age: 20, above: 50_000, floor: 20_000, share: 0.25, least: 200 }
    }
}

/// Tools whose results are short, or are what the agent steers by.
const STEERING: [&str; 8] =
    ["Glob", "Task", "Agent", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "AskUserQuestion"];

/// Something that may go.
struct Old<'i> {
    cut: Cut,
    item: &'i Item,
    is_input: bool,
}

impl Old<'_> {
    fn goes(&self, reason: &str) -> Proposed {
        match self.is_input {
            true => Proposed::short_input(self.item, reason),
            false => Proposed::shorten([self.item], reason).swap_remove(0),
        }
    }
}

impl Auto {
    /// Results that can be said in fewer words, as long as nobody has seen them.
    pub fn trimmed(&self, look: &Look) -> Vec<Proposed> {
        let fresh = look.whole().filter(|item| item.fresh && item.tokens >= self.least);
        let short = |item: &Item| {
            let short = trim(&item.tool, &look.text(&item.call)?)?;
            Some(Proposed::instead(item, short, "what says nothing is left out before it is sent"))
        };
        fresh.filter_map(short).collect()
    }

    /// What may go, in the order in which it stands.
    fn old<'i>(&self, look: &'i Look) -> Vec<Old<'i>> {
        let mut old = Vec::new();
        for item in look.items.iter().filter(|item| !item.pinned && !STEERING.contains(&&*item.tool)) {
            let age = if &*item.tool == "Read" { self.read_age } else { self.other_age };
            let is_worth = item.tokens >= self.least.max(item.left * 6 / 5);
            if !item.cleared && is_worth && look.age(item) >= age {
                let cut = Cut { before: item.before, removed: item.tokens.saturating_sub(item.left) };
                old.push(Old { cut, item, is_input: false });
            }
            let input = item.input.filter(|input| input.tokens >= input.left + self.least);
            if let Some(input) = input.filter(|_| look.age(item) >= self.input_age) {
                let cut = Cut { before: input.before, removed: input.tokens - input.left };
                old.push(Old { cut, item, is_input: true });
            }
        }
        old.sort_by_key(|old| old.cut.before);
        old
    }

    fn shortened(&self, look: &Look) -> Vec<Proposed> {
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
        let horizon = self.share * look.steps as f64;
        let gain = |price: &Price| price.later * horizon - price.once;
        let prices = look.prices(&old.iter().map(|old| old.cut).collect::<Vec<_>>());
        let best = prices.iter().enumerate().max_by(|(_, one), (_, other)| gain(one).total_cmp(&gain(other)));
        let Some((from, price)) = best.filter(|(_, price)| gain(price) > 0.0) else { return Vec::new() };
        let after = price.pays_after().ceil();
        let why = format!("{} tokens less, paid off after {after} requests", price.removed);
        old.iter().skip(from).map(|old| old.goes(&why)).collect()
    }
}

impl Policy for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn about(&self) -> &str {
        "new results lose what says nothing; old results and inputs shrink to their names when that pays off, or when the cache has expired"
    }

    fn propose(&self, look: &Look) -> Vec<Proposed> {
        let mut proposed = self.trimmed(look);
        proposed.extend(self.shortened(look));
        proposed
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Texts, Wanted};
    use super::*;
    use crate::edit::Operation;

    fn look(steps: usize, cold: bool) -> Look<'static> {
        let item = |step: usize| Item {
            call: format!("toolu_{step}").into(),
            tool: if step.is_multiple_of(2) { "Read" } else { "Bash" }.into(),
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

    fn calls(proposed: &[Proposed]) -> Vec<usize> {
        let id = |proposed: &Proposed| match &proposed.what {
            Wanted::Operation(Operation::SummarizeResults { select, text: None, .. }) => {
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
        assert!(gone.iter().all(|step| 60 - step >= if step.is_multiple_of(2) { 13 } else { 4 }), "{gone:?}");
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
        let mut look = look(30, true);
        look.items.iter_mut().for_each(|item| {
            item.cleared = true;
            item.input = Some(Input { tokens: 1000, before: item.before - 1000, left: 100 });
        });
        let proposed = Auto::default().propose(&look);
        let is_input = |proposed: &Proposed| matches!(proposed.what, Wanted::ShortInput { .. });
        assert!(proposed.iter().all(is_input) && proposed.len() == 10, "all but the pinned one: {proposed:?}");
    }

    #[test]
    fn what_says_nothing_goes_before_it_is_sent() {
        let text = |_: &str| Some("still waiting\n".repeat(100));
        let look = Look { texts: Texts(Some(&text)), ..look(6, false) };
        let proposed = Auto::default().propose(&look);
        let [Proposed { what: Wanted::Operation(Operation::SummarizeResults { select, text: Some(text), .. }), .. }] =
            proposed.as_slice()
        else {
            panic!("one: {proposed:?}")
        };
        assert_eq!(select.calls, ["toolu_5"], "only what is new");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
