//! A policy that knows the future, as an upper bound for savings: it removes everything that no later step relies on,
//! keeps only the names of content that is merely named later, and knows the number of requests to come.

use crate::harm::text_of;
use crate::needs::{Kind, Need, Place, value_of};
use crate::recording::Recording;
use ctx_core::Content;
use ctx_core::policy::stub::{BARE, top_names};
use ctx_core::policy::{Action, Auto, Cut, Item, Look, Policy, Price, Proposal};
use std::collections::HashMap;

/// Its name.
pub const NAME: &str = "foresight";
/// The number of replies for which every result is kept, as in the automatic editor's settings.
const RECENT: usize = 6;
/// Below the first, it does nothing; below the second, nothing that costs.
const FLOOR: u64 = 20_000;
const ABOVE: u64 = 50_000;
/// Fewer tokens are not worth an edit.
const LEAST: u64 = 200;
/// Shorter inputs are not shortened.
const SHORT: usize = 300;

/// It acts when the savings exceed the cost by this factor: waiting a little increases the savings of one edit.
const PATIENCE: f64 = 2.0;

/// The newest turn that relies on something, by call.
type Until = HashMap<Box<str>, usize>;

#[derive(Default)]
pub struct Foresight {
    results: Until,
    names: Until,
    inputs: Until,
    turns: usize,
}

/// The content of a block: a result, or the input of its call.
struct BlockText {
    call: Box<str>,
    is_input: bool,
    length: usize,
    names: Vec<Box<str>>,
}

impl BlockText {
    /// Whether a name is still visible after shortening.
    fn names(&self, name: &str) -> bool {
        self.names.iter().any(|told| told.contains(name)) || (self.is_input && self.length < SHORT)
    }
}

fn said(recording: &Recording) -> HashMap<Place, BlockText> {
    let mut all = HashMap::new();
    for (message, json) in recording.messages.iter().enumerate() {
        let contents = recording.wire().contents(json.get().as_bytes());
        // A call with its result in the same message is the provider's own and stays.
        let is_own = |id: &str| contents.iter().any(|content| content.answers() == Some(id));
        for (block, content) in contents.iter().enumerate() {
            let of = |call: &str, is_input, text: String| BlockText {
                call: call.into(),
                is_input,
                length: text.len(),
                names: top_names(&text, &|_: &str| false).into_iter().map(Into::into).collect(),
            };
            let said = match (content, content.answers()) {
                (Content::Call { id: Some(call), input, .. }, _) if !is_own(call) => {
                    of(call, true, value_of(input).to_string())
                }
                (_, Some(call)) => of(call, false, text_of(content)),
                _ => continue,
            };
            all.insert(Place { message, block }, said);
        }
    }
    all
}

impl Foresight {
    pub fn of(recording: &Recording, needs: &[Need]) -> Foresight {
        let said = said(recording);
        let mut known = Foresight { turns: recording.turns.len(), ..Foresight::default() };
        // From the end: content kept for a later step is also there for earlier ones.
        for need in needs.iter().rev() {
            // Content with another copy stays anyway.
            let sources: Option<Vec<&BlockText>> = need.sources.iter().map(|place| said.get(place)).collect();
            if let Some(sources) = sources {
                known.keep(need, &sources);
            }
        }
        known
    }

    fn keep(&mut self, need: &Need, sources: &[&BlockText]) {
        let is_kept = |until: &Until, said: &BlockText| until.get(&said.call).is_some_and(|turn| *turn >= need.turn);
        let whole = |said: &&&BlockText| is_kept(if said.is_input { &self.inputs } else { &self.results }, said);
        if sources.iter().any(|said| whole(&said)) {
            return;
        }
        if need.kind == Kind::Name {
            let named: Vec<&&BlockText> = sources.iter().filter(|said| said.names(&need.text)).collect();
            if named.iter().any(|said| said.is_input || is_kept(&self.names, said)) {
                return;
            }
            if let Some(said) = named.last() {
                self.names.insert(said.call.clone(), need.turn);
                return;
            }
        }
        if let Some(said) = sources.iter().min_by_key(|said| said.length) {
            let until = if said.is_input { &mut self.inputs } else { &mut self.results };
            until.insert(said.call.clone(), need.turn);
        }
    }

    /// The removable content, in order.
    fn unneeded(&self, look: &Look<'_>) -> Vec<(Cut, Proposal)> {
        let needed = |until: &Until, item: &Item| until.get(&item.call).is_some_and(|turn| *turn >= look.steps);
        let reason = "nobody will need it";
        let mut all = Vec::new();
        let old = |item: &&Item| look.age(item) >= RECENT && !item.pinned && !item.role.is_steering();
        for item in look.items.iter().filter(old) {
            let is_named = needed(&self.names, item);
            let left = if is_named { item.left } else { BARE };
            if !item.cleared && !needed(&self.results, item) && item.tokens >= LEAST.max(left * 6 / 5) {
                let cut = Cut { before: item.before, removed: item.tokens - left };
                let bare = || Proposal { what: Action::Bare { call: item.call.to_string() }, reason: reason.into() };
                let shorter = Proposal::shorten(Some(item).filter(|_| is_named), reason).pop();
                all.push((cut, shorter.unwrap_or_else(bare)));
            }
            let input = item.input.filter(|input| input.is_worth(LEAST));
            if let Some(input) = input.filter(|_| !needed(&self.inputs, item)) {
                let cut = Cut { before: input.before, removed: input.tokens - input.left };
                all.push((cut, Proposal::short_input(item, reason)));
            }
        }
        all.sort_by_key(|(cut, _)| cut.before);
        all
    }
}

impl Policy for Foresight {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> &str {
        "what no later step relies on goes: only the lab can know that, so it tells how much there is to save"
    }

    fn propose(&self, look: &Look<'_>) -> Vec<Proposal> {
        let mut proposed = Auto::default().trimmed(look);
        if look.tokens < FLOOR {
            return proposed;
        }
        let mut unneeded = self.unneeded(look);
        if !look.cold {
            let to_come = self.turns.saturating_sub(look.steps) as f64;
            let gain = |Price { break_even: even, .. }: &Price| even.saves * to_come - even.once * PATIENCE;
            let prices = look.prices(&unneeded.iter().map(|(cut, _)| *cut).collect::<Vec<_>>());
            let best = prices.iter().enumerate().max_by(|(_, one), (_, other)| gain(one).total_cmp(&gain(other)));
            match best.filter(|(_, price)| look.tokens >= ABOVE && gain(price) > 0.0) {
                Some((from, _)) => drop(unneeded.drain(..from)),
                None => unneeded.clear(),
            }
        }
        proposed.extend(unneeded.into_iter().map(|(_, proposed)| proposed));
        proposed
    }
}
