//! What the automatic editor wants of a conversation: what the best policy of the lab wants, within what somebody
//! decided; and, where the limit forces it, more.

use super::artifacts::{Call, fits};
use super::settings::{Mode, Settings};
use super::targets::Target;
use crate::edit::Operation;
use crate::policy::extract::{BARE, bare};
use crate::policy::{Auto, Item, Look, Policy, Proposed, Wanted};
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

/// Tools that search, and commands that do.
const SEARCHES: [&str; 7] = ["Grep", "Glob", "LS", "WebSearch", "WebFetch", "*search*", "*fetch*"];
const COMMANDS: [&str; 6] = ["grep *", "rg *", "find *", "ls *", "git grep *", "fd *"];

pub fn is_search(tool: &str, command: Option<&str>) -> bool {
    let runs = |command: &str| COMMANDS.iter().any(|pattern| fits(pattern, command.trim_start()));
    SEARCHES.iter().any(|pattern| fits(pattern, tool)) || tool == "Bash" && command.is_some_and(runs)
}

/// How hard it is to be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// If it pays, or the limit asks for it. The provider may edit too; `cleared`: tokens of results that it left out
    /// of the request before.
    Usual { provider_edits: bool, cleared: u64 },
    /// Somebody wants all that may go to go now.
    All,
}

/// What should go before the next request.
pub fn choose(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, force: Force) -> Vec<Proposed> {
    let mut look = look.clone();
    mark(settings, &mut look, facts);
    // While the provider clears, what would pay is its business: a cut of ours would only cost its cache.
    let leaves_it = matches!(force, Force::Usual { cleared, .. } if cleared > 0);
    let mut proposed = match force {
        Force::Usual { .. } if leaves_it => Auto::default().trimmed(&look),
        Force::Usual { .. } => Auto::default().propose(&aged(settings, &look, facts)),
        Force::All => Vec::new(),
    };
    let mut held = |call: &str| is_held(settings, &look, facts, call);
    proposed.retain_mut(|proposed| keep_what_stays(&mut proposed.what, &mut held));
    if !leaves_it {
        proposed.extend(beyond_budget(settings, &look, facts, &proposed));
    }
    let gone: HashSet<String> = proposed.iter().flat_map(|proposed| calls(&proposed.what)).cloned().collect();
    let mut left = look.tokens;
    // What is fresh is only trimmed, which saves little.
    let goes = |item: &&Item| gone.contains(&*item.call) && !item.fresh;
    let shortened = |item: &Item| item.tokens.saturating_sub(item.left);
    left -= look.items.iter().filter(goes).map(shortened).sum::<u64>().min(left);
    let (from, until) = match force {
        Force::Usual { provider_edits, cleared } => (
            look.window / 100 * settings.threshold(provider_edits) + cleared,
            look.window / 100 * settings.target(provider_edits),
        ),
        Force::All => (0, 0),
    };
    // What pays may be enough for now; but what stands behind it is written anew anyway.
    if look.tokens < from {
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
            true => proposed.push(Proposed { what: Wanted::Bare { call: item.call.to_string() }, reason: why }),
            false => proposed.extend(Proposed::shorten([item], &why)),
        }
    }
    if force != Force::All && settings.mode == Mode::On {
        proposed.extend(bared(&look, left.saturating_sub(until)));
    }
    proposed
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
fn bared(look: &Look<'_>, mut over: u64) -> Vec<Proposed> {
    let mut proposed = Vec::new();
    for item in look.items.iter().filter(|item| item.cleared && !item.pinned && item.tokens > 2 * BARE) {
        if over == 0 {
            break;
        }
        if let Some(text) = look.text(&item.call).and_then(|text| bare(&text)) {
            over = over.saturating_sub(item.tokens.saturating_sub(BARE));
            proposed.push(Proposed::instead(item, text, "the limit is near: the names in it go too"));
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
            is_search(&item.tool, fact.command) && {
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

/// Searches beyond what a conversation may hold of them: the oldest go, many at once, even if that does not pay.
fn beyond_budget(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, proposed: &[Proposed]) -> Vec<Proposed> {
    let Some(budget) = settings.attention_budget else { return Vec::new() };
    let gone: HashSet<&String> = proposed.iter().flat_map(|proposed| calls(&proposed.what)).collect();
    let stays = |item: &&Item| !item.fresh && !gone.contains(&item.call.to_string());
    let is_search = |item: &&Item| is_search(&item.tool, facts(&item.call).command);
    let searches: Vec<&Item> = look.whole().filter(stays).filter(is_search).collect();
    let mut held: u64 = searches.iter().map(|item| item.tokens).sum();
    if held <= budget.session_total {
        return Vec::new();
    }
    let until = budget.accumulated.min(budget.session_total);
    let goes = |item: &&Item| {
        let goes = held > until && item.tokens >= LEAST.max(item.left * 3 / 2);
        held -= if goes { item.tokens } else { 0 };
        goes && !is_held(settings, look, facts, &item.call)
    };
    let why = format!("attention_budget (more than {} tokens of searches)", budget.session_total);
    Proposed::shorten(searches.into_iter().filter(goes), &why)
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
    let (fact, text) = (facts(call), look.text(call));
    let call = Call { tool: &item.tool, path: fact.path, command: fact.command, text: text.as_deref() };
    settings.preserves(&call).is_some()
}

fn calls(wanted: &Wanted) -> &[String] {
    match wanted {
        Wanted::Operation(Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. }) => {
            &select.calls
        }
        Wanted::Bare { call } => std::slice::from_ref(call),
        _ => &[],
    }
}

/// False: nothing is left of the operation.
fn keep_what_stays(wanted: &mut Wanted, is_held: &mut dyn FnMut(&str) -> bool) -> bool {
    match wanted {
        Wanted::Operation(
            Operation::SummarizeResults { select, text: None, .. } | Operation::DropResults { select, .. },
        ) => {
            let named = !select.calls.is_empty();
            select.calls.retain(|call| !is_held(call));
            !named || !select.calls.is_empty()
        }
        _ => true,
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

pub fn tally(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Tally {
    let mut look = look.clone();
    mark(settings, &mut look, facts);
    let mut clearable: Vec<(Target, u64)> = settings.clear_targets.iter().map(|target| (*target, 0)).collect();
    for (target, item) in in_order(settings, &look, facts) {
        if is_held(settings, &look, facts, &item.call) {
            continue;
        }
        let place = clearable.iter_mut().find(|(one, _)| *one == target);
        place.into_iter().for_each(|(_, tokens)| *tokens += saved(item));
    }
    let stay = look.items.iter().filter(|item| item.pinned && !item.cleared);
    Tally { preserved: stay.map(|item| item.tokens).sum(), clearable }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automatic::{Artifact, Budget};
    use crate::policy::{Rates, Texts};

    fn item(step: usize, tool: &str, tokens: u64) -> Item {
        Item {
            call: format!("c{step}").into(),
            tool: tool.into(),
            file: None,
            changes: false,
            tokens,
            before: 0,
            step,
            left: 50,
            cleared: false,
            fresh: false,
            pinned: false,
            superseded: false,
            input: None,
        }
    }

    /// As many results as there are tools, one an answer.
    fn look(tools: &[(&str, u64)]) -> Look<'static> {
        let mut before = 10_000;
        let mut items = Vec::new();
        for (step, (tool, tokens)) in tools.iter().enumerate() {
            items.push(Item { before, ..item(step, tool, *tokens) });
            before += tokens;
        }
        let (steps, rates) = (tools.len(), Rates::default());
        Look { items, tokens: before, window: 200_000, steps, cold: false, rates, texts: Texts::default() }
    }

    fn nothing(_: &str) -> Fact<'static> {
        Fact::default()
    }

    fn gone(proposed: &[Proposed]) -> Vec<&str> {
        proposed.iter().flat_map(|proposed| calls(&proposed.what)).map(String::as_str).collect()
    }

    const USUAL: Force = Force::Usual { provider_edits: false, cleared: 0 };

    #[test]
    fn below_the_limit_nothing_is_forced() {
        let look = look(&[("Bash", 1_000); 20]);
        assert!(choose(&Settings::default(), &look, &nothing, USUAL).is_empty());
    }

    #[test]
    fn at_the_limit_it_goes_in_order_until_the_target_and_what_is_recent_stays() {
        let mut look = look(&[("Bash", 10_000); 18]);
        look.window = 200_000;
        assert!(look.tokens > 160_000);
        let settings = Settings { attention_budget: None, ..Settings::default() };
        let proposed = choose(&settings, &look, &nothing, USUAL);
        let saved = gone(&proposed).len() as u64 * 9_950;
        assert!(look.tokens - saved <= 120_000, "down to the target: {:?}", gone(&proposed));
        assert!(gone(&proposed).iter().all(|call| call[1..].parse::<usize>().expect("a number") <= 12));
        // Below the raised threshold only what pays goes.
        let look = Look { tokens: 170_000, rates: Rates { read: 0.0, write: 1.0 }, ..look };
        let forced = |provider_edits| choose(&settings, &look, &nothing, Force::Usual { provider_edits, cleared: 0 });
        assert!(!forced(false).is_empty());
        assert!(forced(true).is_empty(), "the provider edits: it is left to it for longer");
    }

    #[test]
    fn what_the_provider_clears_is_left_to_it_until_that_does_not_suffice() {
        let look = Look { cold: true, ..look(&[("Grep", 10_000); 19]) };
        let with =
            |cleared| choose(&Settings::default(), &look, &nothing, Force::Usual { provider_edits: true, cleared });
        assert!(
            look.tokens >= 190_000,
            "the limit is near, the cache is cold, and the searches are beyond their budget"
        );
        assert!(!with(0).is_empty());
        assert!(with(100_000).is_empty(), "the model reads half of it");
        assert!(!with(5_000).is_empty(), "the model reads nearly all of it");
    }

    #[test]
    fn what_is_named_never_goes_even_if_all_shall() {
        let look = look(&[
            ("Read", 5_000),
            ("TodoWrite", 5_000),
            ("Bash", 5_000),
            ("Read", 5_000),
            ("Grep", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
            ("Read", 5_000),
        ]);
        let facts = |call: &str| match call {
            "c0" => Fact { path: Some("/p/NOTES.md"), ..Fact::default() },
            "c2" => Fact { command: Some("bd ready"), ..Fact::default() },
            _ => Fact::default(),
        };
        let proposed = choose(&Settings::default(), &look, &facts, Force::All);
        assert_eq!(gone(&proposed), ["c3", "c4", "c5"], "stale, and neither kept nor recent");
        assert!(proposed[0].reason.starts_with("stale_tool_results"), "{}", proposed[0].reason);
    }

    #[test]
    fn the_first_target_that_fits_names_it_and_decides_its_place() {
        let mut look = look(&[("Bash", 2_000); 20]);
        look.items[12].superseded = true;
        let facts = |call: &str| match call {
            "c13" => Fact { is_done: true, ..Fact::default() },
            "c14" => Fact { command: Some("make"), ..Fact::default() },
            "c11" => Fact { phases: &["setup"], ..Fact::default() },
            _ => Fact::default(),
        };
        let settings = Settings {
            clear_targets: vec![
                Target::VerboseDebug,
                Target::IntermediateOutputs,
                Target::SupersededFileReads,
                Target::CompletedPhaseDetails,
            ],
            ..Settings::default()
        };
        let proposed = choose(&settings, &look, &facts, Force::All);
        assert_eq!(gone(&proposed), ["c14", "c13", "c12", "c11"]);
        let tally = tally(&settings, &look, &facts);
        assert_eq!(tally.clearable[0], (Target::VerboseDebug, 1_950));
        assert_eq!(tally.preserved, 5 * 2_000, "the recent ones");
    }

    #[test]
    fn what_a_result_says_can_keep_it() {
        let text = |call: &str| Some(if call == "c2" { "SECRET PLAN" } else { "words" }.to_owned());
        let look = Look { texts: Texts(Some(&text)), ..look(&[("Bash", 2_000); 20]) };
        let mut settings = Settings { preserve_artifacts: vec!["plan".into()], ..Settings::default() };
        settings
            .artifacts
            .insert("plan".into(), Artifact { texts: vec!["*secret plan*".into()], ..Artifact::default() });
        let proposed = choose(&settings, &look, &nothing, Force::All);
        assert!(!gone(&proposed).contains(&"c2") && gone(&proposed).contains(&"c3"));
    }

    #[test]
    fn a_conversation_holds_no_more_searches_than_its_budget() {
        let look = look(&[("Grep", 1_500); 20]);
        let gone_of = |total| {
            let budget = Budget { session_total: total, ..Budget::default() };
            let settings = Settings { attention_budget: Some(budget), ..Settings::default() };
            choose(&settings, &look, &nothing, USUAL)
        };
        assert!(gone_of(30_000).is_empty());
        let proposed = gone_of(15_000);
        assert_eq!(gone(&proposed).first(), Some(&"c0"));
        assert_eq!(gone(&proposed).len(), 12, "15 are not recent; 3 of them are within 5,000 tokens");
        assert!(proposed[0].reason.starts_with("attention_budget"), "{}", proposed[0].reason);
    }

    #[test]
    fn searches_are_told_by_tool_and_command() {
        assert!(is_search("Grep", None) && is_search("mcp__web__search_pages", None));
        assert!(is_search("Bash", Some("rg foo src")) && !is_search("Bash", Some("cargo test")));
        assert!(!is_search("Read", None));
    }
}
