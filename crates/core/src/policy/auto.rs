//! Clears when it pays: shortens new results and calls before they are first sent, and reduces old ones to their names.
//!
//! A change of sent content rewrites the cached tail, and the number of future requests is unknown. So an edit must bring
//! several times its price within the requests that may be expected, and fit the account ([`Look::budget`]). When the
//! cache has expired, it is free.

use super::cut::{CutText, cut};
use super::proposal::referred;
use super::settings::{Rules, Settings};
use super::trim::trim;
use super::{CutKind, Item, Look, Policy, PossibleCut, Price, Proposal, Thought};
use crate::fast_map::FastMap;
use crate::key::Key;
use crate::tool::ToolRole;

/// The policy of the automatic editor.
#[derive(Default)]
pub struct Auto(pub Rules);

/// The policy's step before the next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outlook {
    /// Nothing is old enough.
    Nothing,
    /// It makes an edit of this price.
    Acts(Price),
    /// The best edit does not bring enough yet.
    TooEarly(Price),
    /// The best edit costs more than the account allows.
    TooDear(Price),
}

/// Content that may go.
struct Old<'i> {
    cut: PossibleCut,
    what: What<'i>,
}

enum What<'i> {
    Result(&'i Item),
    /// The text that a call replaced.
    Replaced(&'i Item),
    Thinking(&'i Thought),
}

impl Old<'_> {
    fn goes(&self, reason: &str) -> Proposal {
        match self.what {
            What::Result(item) => Proposal::shorten([item], reason).swap_remove(0),
            What::Replaced(item) => Proposal::without_replaced(item, reason),
            What::Thinking(thought) => Proposal::drop_thinking(thought, reason),
        }
    }
}

impl Auto {
    /// Shortens what was not sent yet.
    pub fn on_arrival(&self, look: &Look) -> Vec<Proposal> {
        let mut proposed = Vec::new();
        for item in look.items.iter().filter(|item| item.fresh && !item.pinned) {
            if look.trims.edits && item.saves_replaced() >= self.0.least {
                proposed.push(Proposal::without_replaced(item, "the replaced text of a finished edit"));
            }
            if !item.cleared && item.tokens >= self.0.least {
                proposed.extend(look.text(&item.call).and_then(|text| shortened_on_arrival(look, item, &text)));
            }
        }
        proposed
    }

    /// The content that may go, in order of position.
    fn old<'i>(&self, look: &'i Look) -> Vec<Old<'i>> {
        let share = if look.cold { self.0.cold_share } else { 1.0 };
        let is_past = |answers: usize, age: usize| answers as f64 >= age as f64 * share;
        let touched = last_touches(look);
        let is_quiet = |item: &Item| {
            let last = item.file.and_then(|file| touched.get(&file)).copied().filter(|last| *last > item.step);
            item.released || last.is_none_or(|last| is_past(look.steps.saturating_sub(last), self.0.quiet))
        };
        let mut old = Vec::new();
        for item in look.items.iter().filter(|item| !item.pinned && !item.role.is_steering() && !item.fresh) {
            let (age, least) = (look.age(item), self.0.least);
            let view_age = if item.role == ToolRole::Read { self.0.view_age } else { self.0.other_age };
            let is_result = !item.cleared && is_past(age, view_age) && item.saves() >= least;
            let is_input = look.trims.edits && is_past(age, self.0.input_age) && item.saves_replaced() >= least;
            if (is_result || is_input) && !is_quiet(item) {
                continue;
            }
            if let Some(input) = item.input.filter(|_| is_input) {
                let cut = PossibleCut { before: input.before, removed: item.saves_replaced() };
                old.push(Old { cut, what: What::Replaced(item) });
            }
            if is_result {
                old.push(Old { cut: PossibleCut::of(item), what: What::Result(item) });
            }
        }
        let is_old = |thought: &&Thought| look.cold || look.steps.saturating_sub(thought.step) > self.0.thinking_age;
        // Its tokens are priced with every cut before it.
        let thoughts = look.thinking.iter().filter(|thought| !thought.kept).filter(is_old);
        old.extend(thoughts.map(|thought| Old {
            cut: PossibleCut { before: thought.before, removed: 0 },
            what: What::Thinking(thought),
        }));
        old.sort_by_key(|old| old.cut.before);
        old
    }

    /// The first cut of the edit that brings most, of those that `is_chosen`, and its price.
    fn best(&self, look: &Look, old: &[Old], is_chosen: impl Fn(&Price) -> bool) -> Option<(usize, Price)> {
        let cuts: Vec<PossibleCut> = old.iter().map(|old| old.cut).collect();
        let prices = look.prices(&cuts).into_iter().enumerate().filter(|(_, price)| is_chosen(price));
        prices.max_by(|(_, one), (_, other)| self.gain(look, one).total_cmp(&self.gain(look, other)))
    }

    /// The gain of an edit beyond its price, over the expected requests.
    fn gain(&self, look: &Look, Price { break_even, .. }: &Price) -> f64 {
        break_even.saves * self.0.horizon * look.steps as f64 - break_even.once
    }

    fn pays(&self, look: &Look, price: &Price) -> bool {
        self.gain(look, price) > self.0.gain * price.break_even.once
    }

    /// Shortens sent content, if that pays.
    pub(super) fn shortened(&self, look: &Look) -> Vec<Proposal> {
        if look.tokens < self.0.smallest {
            return Vec::new();
        }
        let old = self.old(look);
        if look.cold {
            return goes(&old, "the cache has expired, so this costs nothing");
        }
        let best = self.best(look, &old, |price| look.affords(price));
        let Some((first, price)) = best.filter(|(_, price)| self.pays(look, price)) else { return Vec::new() };
        let removed = crate::format::count(price.removed);
        let why = format!("old results: {removed} tokens less in total, {}", price.forecast());
        goes(old.get(first..).unwrap_or_default(), &why)
    }

    /// Its step before the next request, and the reason.
    pub fn outlook(&self, look: &Look) -> Outlook {
        let old = if look.tokens < self.0.smallest { Vec::new() } else { self.old(look) };
        let affordable = self.best(look, &old, |price| look.affords(price)).filter(|(_, price)| self.pays(look, price));
        match (affordable, self.best(look, &old, |_| true)) {
            (Some((_, price)), _) => Outlook::Acts(price),
            (None, Some((_, price))) if self.pays(look, &price) => Outlook::TooDear(price),
            (None, Some((_, price))) => Outlook::TooEarly(price),
            (None, None) => Outlook::Nothing,
        }
    }
}

/// The proposals for this content. Only the first thinking is named: what stands behind a change is no longer bound.
fn goes(old: &[Old<'_>], why: &str) -> Vec<Proposal> {
    let is_thinking = |old: &Old<'_>| matches!(old.what, What::Thinking(_));
    let first = old.first().filter(|old| is_thinking(old)).into_iter();
    first.chain(old.iter().filter(|old| !is_thinking(old))).map(|old| old.goes(why)).collect()
}

/// A new result without noise, and without lines if it is long.
fn shortened_on_arrival(look: &Look, item: &Item, text: &str) -> Option<Proposal> {
    let trimmed = trim(item.role, text, look.trims);
    let plain = trimmed.as_deref().unwrap_or(text);
    if let Some((kind, most)) = item.cut.filter(|(_, most)| item.tokens > *most) {
        let bytes = text.len() as u64 * most / item.tokens;
        let shown = || look.view_before(item, |shown| shown == plain).map(|by| by.call.clone());
        let cut = match kind {
            CutKind::View => shown().map(|by| (CutText::shown_before(plain), Some(by))),
            kind => cut(kind, plain, bytes as usize).map(|text| (text, None)),
        };
        if let Some(cut) = cut {
            return Some(Proposal::cut(item, cut, kind.reason()));
        }
    }
    trimmed.map(|short| {
        Proposal::instead(item, short, "trimmed before it is first sent: line numbers, colours, repeated lines")
    })
}

/// The newest answer that read or changed each file.
fn last_touches(look: &Look) -> FastMap<Key, usize> {
    look.items.iter().filter_map(|item| Some((item.file?, item.step))).collect()
}

impl Policy for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn about(&self) -> &str {
        "shortens new results; reduces old ones to their names and drops thinking when that pays off or the cache has \
         expired"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let mut proposed = self.on_arrival(look);
        let mut look = look.clone();
        look.pin(&referred(&proposed));
        proposed.extend(self.shortened(&look));
        proposed
    }

    fn editor(&self, settings: Settings) -> Option<Settings> {
        Some(Settings { rules: self.0, ..settings })
    }
}

#[cfg(test)]
mod tests;
