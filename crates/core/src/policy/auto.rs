use super::{Item, Look, Policy, Price, Proposed};

/// What the automatic editor does: what is old enough is shortened to its names, at the moment and from the place on
/// where that pays off soonest, and all of it when the cache has expired.
pub struct Auto {
    /// Answers after which a file that was read is hardly needed any more, and any other result.
    pub read_age: usize,
    pub other_age: usize,
    /// Below that nothing is done.
    pub above: u64,
    /// The most requests in which it has to have paid off, and its share of those that went before: a conversation
    /// that has been going on for long mostly goes on.
    pub horizon: f64,
    pub share: f64,
    /// Results of fewer tokens stay.
    pub least: u64,
}

impl Default for Auto {
    fn default() -> Auto {
        Auto { read_age: 13, other_age: 4, above: 80_000, horizon: 25.0, share: 0.4, least: 200 }
    }
}

/// Tools whose results are short, or are what the agent steers by.
const STEERING: [&str; 8] =
    ["Glob", "Task", "Agent", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "AskUserQuestion"];

impl Auto {
    fn may_go(&self, look: &Look, item: &Item) -> bool {
        let age = if item.tool.as_ref() == "Read" { self.read_age } else { self.other_age };
        let is_worth = item.tokens >= self.least.max(item.left * 3 / 2);
        is_worth && look.age(item) >= age && !STEERING.contains(&item.tool.as_ref())
    }
}

impl Policy for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn about(&self) -> &str {
        "old results shrink to their names when that pays off, or when the cache has expired"
    }

    fn propose(&self, look: &Look) -> Vec<Proposed> {
        let may_go: Vec<&Item> = look.whole().filter(|item| self.may_go(look, item)).collect();
        if look.cold {
            return Proposed::shorten(may_go, "the cache has expired: this costs nothing now");
        }
        if look.tokens < self.above {
            return Vec::new();
        }
        let horizon = self.horizon.min(self.share * look.steps as f64);
        let gain = |price: &Price| price.later * horizon - price.once;
        let prices = look.prices(&may_go);
        let best = prices.iter().enumerate().max_by(|(_, one), (_, other)| gain(one).total_cmp(&gain(other)));
        let Some((from, price)) = best.filter(|(_, price)| gain(price) > 0.0) else { return Vec::new() };
        let after = price.pays_after().ceil();
        let why = format!("{} tokens less, paid off after {after} requests", price.removed);
        Proposed::shorten(may_go.into_iter().skip(from), &why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            fresh: false,
            pinned: step == 2,
            superseded: false,
        };
        let items: Vec<Item> = (0..steps).map(item).collect();
        Look { tokens: 20_000 + steps as u64 * 5000, items, steps, cold, ..Look::default() }
    }

    fn calls(proposed: &[Proposed]) -> Vec<usize> {
        let id = |proposed: &Proposed| match &proposed.operation {
            crate::edit::Operation::SummarizeResults { select, text: None, .. } => {
                select.calls[0].trim_start_matches("toolu_").parse().expect("a number")
            }
            other => panic!("{other:?}"),
        };
        proposed.iter().map(id).collect()
    }

    #[test]
    fn old_results_go_when_it_pays() {
        assert!(Auto::default().propose(&look(4, false)).is_empty(), "too short");
        let gone = calls(&Auto::default().propose(&look(40, false)));
        assert!(!gone.is_empty() && gone.is_sorted(), "{gone:?}");
        assert!(gone.iter().all(|step| *step > 2), "neither what is gone nor what is pinned: {gone:?}");
        assert!(gone.iter().all(|step| 40 - step >= if step.is_multiple_of(2) { 13 } else { 4 }), "{gone:?}");
    }

    #[test]
    fn all_of_them_when_the_cache_has_expired() {
        let proposed = Auto::default().propose(&look(8, true));
        assert_eq!(calls(&proposed), [3], "a short conversation too");
        assert!(proposed[0].reason.contains("expired"));
        let many = calls(&Auto::default().propose(&look(40, true)));
        assert!(many.len() >= calls(&Auto::default().propose(&look(40, false))).len());
    }
}
