//! What the automatic editor wants of a conversation: what the best policy of the lab wants, within what somebody
//! decided; and, where the limit forces it, more.

use super::protect::Call;
use super::searches::{beyond, is_search};
use super::settings::{Mode, Settings};
use super::stub::{BARE, without_names};
use super::target::Target;
use super::{Action, Auto, Cut, Item, Look, Policy, Price, Proposal};
use crate::edit::Operation;
use std::collections::HashSet;

/// What is known of a call beside its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fact<'f> {
    /// The file that it is about.
    pub path: Option<&'f str>,
    /// The command that it runs, or what it searches for.
    pub command: Option<&'f str>,
    /// The loop of tools that it belongs to has come to its answer.
    pub is_done: bool,
    /// Phases that it belongs to and that have ended.
    pub phases: &'f [&'f str],
}

/// Tells what is known of a call, by its id.
pub type Facts<'f> = &'f dyn Fn(&str) -> Fact<'f>;

/// Answers after which a result is stale, where nothing else is known of it.
const STALE: usize = 10;
/// Tokens from which on the output of a command is a long one.
const VERBOSE: u64 = 1_000;
/// Results of fewer tokens stay, whatever happens.
const LEAST: u64 = 100;

/// How hard it is to be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// If it pays, or the limit asks for it. The provider may edit too; `cleared`: tokens of results that it left out
    /// of the request before; `provider_first`: it begins to with this one.
    Usual { provider_edits: bool, cleared: u64, provider_first: bool },
    /// Somebody wants all that may go to go now.
    All,
}

/// What should go before the next request.
pub fn choose(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, force: Force) -> Vec<Proposal> {
    let mut look = look.clone();
    mark(settings, &mut look, facts);
    // While the provider clears, what would pay is its business: a cut of ours would only cost its cache.
    let goes_first = matches!(force, Force::Usual { provider_first: true, .. });
    let leaves_it = goes_first || matches!(force, Force::Usual { cleared, .. } if cleared > 0);
    let mut proposed = match force {
        Force::Usual { .. } if leaves_it => Auto::default().trimmed(&look),
        Force::Usual { .. } => Auto::default().propose(&aged(settings, &look, facts)),
        Force::All => Vec::new(),
    };
    let held = |call: &str| is_held(settings, &look, facts, call);
    proposed.retain_mut(|proposed| keep_what_stays(&mut proposed.what, &held));
    if !leaves_it {
        proposed.extend(beyond_budget(settings, &look, facts, &proposed));
    }
    if !leaves_it && force != Force::All {
        proposed.extend(after_phases(settings, &look, facts, &proposed));
    }
    let gone: HashSet<String> = proposed.iter().flat_map(|proposed| calls(&proposed.what)).cloned().collect();
    let mut left = look.tokens;
    // What is fresh is only trimmed, which saves little.
    let goes = |item: &&Item| gone.contains(&*item.call) && !item.fresh;
    let shortened = |item: &Item| item.tokens.saturating_sub(item.left);
    left -= look.items.iter().filter(goes).map(shortened).sum::<u64>().min(left);
    let (from, until) = match force {
        Force::Usual { provider_edits, cleared, .. } => (
            look.window / 100 * settings.threshold(provider_edits) + cleared,
            look.window / 100 * settings.target(provider_edits),
        ),
        Force::All => (0, 0),
    };
    // What pays may be enough for now; but what stands behind it is written anew anyway.
    if look.tokens < from || goes_first {
        return proposed;
    }
    for (target, item) in in_order(settings, &look, facts) {
        if left <= until && force != Force::All {
            break;
        }
        if gone.contains(&*item.call) || is_held(settings, &look, facts, &item.call) {
            continue;
        }
        left = left.saturating_sub(saved(item));
        let why = format!("{} ({})", target.name(), target.in_words());
        match is_dense(item) {
            true => proposed.push(Proposal { what: Action::Bare { call: item.call.to_string() }, reason: why }),
            false => proposed.extend(Proposal::shorten([item], &why)),
        }
    }
    let asked = inputs(settings, &look, facts, (&proposed, left.saturating_sub(until), force == Force::All));
    left = left.saturating_sub(asked.iter().map(|(_, saved)| saved).sum());
    proposed.extend(asked.into_iter().map(|(proposed, _)| proposed));
    if force != Force::All && settings.mode == Mode::On {
        proposed.extend(bared(&look, left.saturating_sub(until)));
    }
    proposed
}

/// What old calls were asked with, the oldest first, and the tokens that each saves: where results do not suffice, for
/// `over` tokens are too many, or where `all` shall go.
fn inputs(
    settings: &Settings,
    look: &Look<'_>,
    facts: Facts<'_>,
    (proposed, mut over, all): (&[Proposal], u64, bool),
) -> Vec<(Proposal, u64)> {
    let gone: HashSet<&str> = proposed
        .iter()
        .filter_map(|proposed| match &proposed.what {
            Action::ShortInput { call } => Some(&**call),
            _ => None,
        })
        .collect();
    let mut chosen = Vec::new();
    for (target, item, saved) in old_inputs(settings, look, facts) {
        if over == 0 && !all {
            break;
        }
        if !gone.contains(&*item.call) {
            over = over.saturating_sub(saved);
            let why = format!("{} ({}): what it was asked with", target.name(), target.in_words());
            chosen.push((Proposal::short_input(item, &why), saved));
        }
    }
    chosen
}

/// The long inputs that may go, what kind of result theirs is, and the tokens that each saves.
fn old_inputs<'l>(settings: &Settings, look: &'l Look<'_>, facts: Facts<'_>) -> Vec<(Target, &'l Item, u64)> {
    let named = |item: &'l Item| {
        let input = item.input.filter(|input| input.is_worth(LEAST))?;
        let target = target(settings, None, item, &facts(&item.call), look.steps)?;
        Some((target, item, input.tokens.saturating_sub(input.left)))
    };
    let items = look.items.iter().filter(|item| !item.pinned && !item.fresh);
    items.filter_map(named).filter(|(_, item, _)| !is_held(settings, look, facts, &item.call)).collect()
}

/// Whether its names are nearly all of it, so that they cannot stay.
fn is_dense(item: &Item) -> bool {
    item.tokens < item.left * 3 / 2
}

/// Tokens that are saved if it goes.
fn saved(item: &Item) -> u64 {
    item.tokens.saturating_sub(if is_dense(item) { BARE } else { item.left })
}

/// Where even that does not suffice, the names that are left of results go too, the oldest first: otherwise they would
/// fill the window one day, and until then every request would be cut again. `over`: tokens that are too many.
fn bared(look: &Look<'_>, mut over: u64) -> Vec<Proposal> {
    let mut proposed = Vec::new();
    for item in look.items.iter().filter(|item| item.cleared && !item.pinned && item.tokens > 2 * BARE) {
        if over == 0 {
            break;
        }
        if let Some(text) = look.text(&item.call).and_then(|text| without_names(&text)) {
            over = over.saturating_sub(item.tokens.saturating_sub(BARE));
            proposed.push(Proposal::instead(item, text, "the limit is near: the names in it go too"));
        }
    }
    proposed
}

/// Marks what stays.
fn mark(settings: &Settings, look: &mut Look<'_>, facts: Facts<'_>) {
    let steps = look.steps;
    for item in &mut look.items {
        let fact = facts(&item.call);
        let call = Call { tool: &item.tool, path: fact.path, command: fact.command, text: None };
        let stays = settings.excludes(&item.tool) || settings.preserves(&call).is_some();
        // What was never sent is not cleared, only trimmed: that it is new does not protect it.
        item.pinned |= stays || (is_recent(settings, item, steps) && !item.fresh);
    }
}

fn is_recent(settings: &Settings, item: &Item, steps: usize) -> bool {
    steps.saturating_sub(item.step) <= settings.preserve_recent_turns
}

/// The same with what somebody is done with made as old as can be: results of phases that have ended, and of searches
/// beyond their budget.
fn aged<'t>(settings: &Settings, look: &Look<'t>, facts: Facts<'_>) -> Look<'t> {
    let mut aged = look.clone();
    let mut searched = 0;
    let budget = settings.attention_budget;
    let recent = |item: &Item| is_recent(settings, item, look.steps);
    for item in aged.items.iter_mut().rev().filter(|item| !item.cleared && !recent(item)) {
        let fact = facts(&item.call);
        let is_over = budget.is_some_and(|budget| {
            is_search(item.role, fact.command) && {
                searched += item.tokens;
                item.tokens > budget.single_search || searched > budget.accumulated
            }
        });
        if is_over || target(settings, Some(Target::CompletedPhaseDetails), item, &fact, look.steps).is_some() {
            item.step = 0;
        }
    }
    aged
}

/// Searches beyond what a conversation may hold of them: the oldest go, many at once, when that pays off within as many
/// requests as went before, or when there is twice as much of them. Those that stay count, too.
fn beyond_budget(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, proposed: &[Proposal]) -> Vec<Proposal> {
    let Some(budget) = settings.attention_budget else { return Vec::new() };
    let gone: HashSet<&str> = proposed.iter().flat_map(|proposed| calls(&proposed.what)).map(String::as_str).collect();
    let is_there = |item: &&Item| !item.cleared && (item.fresh || !gone.contains(&*item.call));
    let is_search = |item: &&Item| is_search(item.role, facts(&item.call).command);
    let searches: Vec<&Item> = look.items.iter().filter(is_there).filter(is_search).collect();
    let all: u64 = searches.iter().map(|item| item.tokens).sum();
    if all <= budget.session_total {
        return Vec::new();
    }
    let may_go = |item: &&Item| {
        let worth = item.tokens >= LEAST.max(item.left * 3 / 2);
        worth && !item.fresh && !item.pinned && !is_held(settings, look, facts, &item.call)
    };
    let old: Vec<&Item> = searches.into_iter().filter(may_go).collect();
    let tokens: Vec<u64> = old.iter().map(|item| item.tokens).collect();
    let others = all - tokens.iter().sum::<u64>();
    let count = beyond(&tokens, others, budget.session_total);
    let cuts: Vec<Cut> = old.iter().take(count).map(|item| cut(item)).collect();
    let pays_after = look.prices(&cuts).first().map_or(0.0, |price| price.pays_after());
    if pays_after > look.steps as f64 && all <= 2 * budget.session_total {
        return Vec::new();
    }
    let why = format!("attention_budget (more than {} tokens of searches)", budget.session_total);
    Proposal::shorten(old.into_iter().take(count), &why)
}

fn cut(item: &Item) -> Cut {
    Cut { before: item.before, removed: item.tokens.saturating_sub(item.left) }
}

/// What phases leave behind goes when they have ended, however small the conversation is, if that pays off within as many
/// requests as went before.
fn after_phases(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, proposed: &[Proposal]) -> Vec<Proposal> {
    let gone: HashSet<&str> = proposed.iter().flat_map(|proposed| calls(&proposed.what)).map(String::as_str).collect();
    let is_left = |item: &&Item| {
        let details = Some(Target::CompletedPhaseDetails);
        !item.fresh
            && item.is_worth(LEAST)
            && !gone.contains(&*item.call)
            && target(settings, details, item, &facts(&item.call), look.steps).is_some()
            && !is_held(settings, look, facts, &item.call)
    };
    let left: Vec<&Item> = look.whole().filter(is_left).collect();
    let cuts: Vec<Cut> = left.iter().map(|item| cut(item)).collect();
    let prices = look.prices(&cuts);
    let pays = |price: &&Price| price.pays_after().ceil() <= look.steps as f64;
    let Some(price) = prices.first().filter(pays) else { return Vec::new() };
    let target = Target::CompletedPhaseDetails;
    let why = format!("{} ({}), {}", target.name(), target.in_words(), price.forecast());
    Proposal::shorten(left, &why)
}

/// What may go, in the order in which it goes.
fn in_order<'l>(settings: &Settings, look: &'l Look<'_>, facts: Facts<'_>) -> Vec<(Target, &'l Item)> {
    let worth = |item: &&Item| !item.fresh && item.tokens >= if is_dense(item) { 2 * BARE } else { LEAST };
    let named = |item: &'l Item| Some((target(settings, None, item, &facts(&item.call), look.steps)?, item));
    let mut all: Vec<(Target, &Item)> = look.whole().filter(worth).filter_map(named).collect();
    all.sort_by_key(|(target, _)| settings.clear_targets.iter().position(|one| one == target));
    all
}

/// What kind of result it is that may go; `only`: if it is of this one.
fn target(settings: &Settings, only: Option<Target>, item: &Item, fact: &Fact<'_>, steps: usize) -> Option<Target> {
    let is = |target: Target| match target {
        Target::StaleToolResults => steps.saturating_sub(item.step) >= STALE,
        Target::CompletedPhaseDetails => fact.phases.iter().any(|phase| settings.clears_after(phase)),
        Target::SupersededFileReads => item.superseded,
        Target::IntermediateOutputs => fact.is_done,
        Target::VerboseDebug => fact.command.is_some() && item.tokens >= VERBOSE,
    };
    settings.clear_targets.iter().copied().find(|target| only.is_none_or(|only| only == *target) && is(*target))
}

/// Whether a result must stay for what it says.
fn is_held(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, call: &str) -> bool {
    let by_text = |name: &String| settings.artifacts.get(name).is_some_and(|artifact| !artifact.texts.is_empty());
    if !settings.preserve_artifacts.iter().any(by_text) {
        return false;
    }
    let Some(item) = look.items.iter().find(|item| &*item.call == call) else { return false };
    let (fact, words) = (facts(call), look.words(call));
    let text = words.as_ref().map(|words| words.text.as_str());
    let call = Call { tool: &item.tool, path: fact.path, command: fact.command, text };
    settings.preserves(&call).is_some()
}

fn calls(wanted: &Action) -> &[String] {
    match wanted {
        Action::Operation(Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. }) => {
            &select.calls
        }
        Action::Bare { call } => std::slice::from_ref(call),
        _ => &[],
    }
}

/// What must stay is not changed at all: no result, and nothing that its call was asked with. False: nothing is left of
/// the operation.
fn keep_what_stays(wanted: &mut Action, is_held: &dyn Fn(&str) -> bool) -> bool {
    match wanted {
        Action::Operation(Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. }) => {
            let named = !select.calls.is_empty();
            select.calls.retain(|call| !is_held(call));
            !named || !select.calls.is_empty()
        }
        Action::Bare { call } => !is_held(call),
        Action::ShortInput { call } => !is_held(call),
        Action::Operation(_) => true,
    }
}

/// What of a conversation may go, and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tokens that stay: results that are pinned, preserved, of tools that are left alone, or recent.
    pub preserved: u64,
    /// Tokens that clearing would save, by what they are; in the order in which they would go.
    pub clearable: Vec<(Target, u64)>,
}

fn add(sums: &mut [(Target, u64)], target: Target, more: u64) {
    sums.iter_mut().filter(|(one, _)| *one == target).for_each(|(_, tokens)| *tokens += more);
}

/// What may go by the settings, with what kind of result each is.
pub(super) fn candidates(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Vec<(Target, Item)> {
    let mut look = look.clone();
    mark(settings, &mut look, facts);
    let found = in_order(settings, &look, facts).into_iter();
    found
        .filter(|(_, item)| !is_held(settings, &look, facts, &item.call))
        .map(|(target, item)| (target, item.clone()))
        .collect()
}

pub fn tally(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Tally {
    let mut look = look.clone();
    mark(settings, &mut look, facts);
    let mut clearable: Vec<(Target, u64)> = settings.clear_targets.iter().map(|target| (*target, 0)).collect();
    for (target, item) in in_order(settings, &look, facts) {
        if is_held(settings, &look, facts, &item.call) {
            continue;
        }
        add(&mut clearable, target, saved(item));
    }
    for (target, _, saved) in old_inputs(settings, &look, facts) {
        add(&mut clearable, target, saved);
    }
    let stays = |item: &&Item| item.pinned || is_held(settings, &look, facts, &item.call);
    let stay = look.items.iter().filter(|item| !item.cleared).filter(stays);
    Tally { preserved: stay.map(|item| item.tokens).sum(), clearable }
}

#[cfg(test)]
mod tests;
