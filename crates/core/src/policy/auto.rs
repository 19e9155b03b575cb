use super::{Item, Look, Policy, Proposed};

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
        Auto { read_age: 15, other_age: 5, above: 50_000, horizon: 30.0, share: 0.5, least: 300 }
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
        let gain = |from: &usize| {
            let price = look.price(may_go.iter().skip(*from).copied());
            price.later * horizon - price.once
        };
        let best = (0..may_go.len()).max_by(|one, other| gain(one).total_cmp(&gain(other)));
        match best.filter(|from| gain(from) > 0.0) {
            Some(from) => {
                let price = look.price(may_go.iter().skip(from).copied());
                let after = price.pays_after().ceil();
                let why = format!("{} tokens less, paid off after {after} requests", price.removed);
                Proposed::shorten(may_go.into_iter().skip(from), &why)
            }
            None => Vec::new(),
        }
    }
}
