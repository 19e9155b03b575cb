use super::*;
use crate::key::Key;
use crate::policy::{Artifact, Budget, CutText, Cuts, Fact, Input, Texts, Trims, tally};
use crate::tool::ToolRole;
use ctx_models::Rates;

fn item(step: usize, role: ToolRole, tokens: u64) -> Item {
    let (call, tool) = (format!("c{step}").into(), format!("{role:?}").into());
    Item { call, tool, role, tokens, step, left: 50, ..Item::default() }
}

/// One result per tool, one answer each.
fn look(tools: &[(ToolRole, u64)]) -> Look<'static> {
    let mut before = 10_000;
    let mut items = Vec::new();
    for (step, (role, tokens)) in tools.iter().enumerate() {
        items.push(Item { before, ..item(step, *role, *tokens) });
        before += tokens;
    }
    Look { items, tokens: before, window: 200_000, steps: tools.len(), ..Look::default() }
}

fn nothing(_: &str) -> Fact<'static> {
    Fact::default()
}

fn gone(proposed: &[Proposal]) -> Vec<&str> {
    proposed.iter().flat_map(|proposed| proposed.what.results()).map(String::as_str).collect()
}

const USUAL: Force = Force::Usual { provider_edits: false, cleared: 0, provider_first: false };

#[test]
fn below_the_limit_nothing_is_forced() {
    let look = look(&[(ToolRole::Shell, 1_000); 20]);
    assert!(choose(&Settings::default(), &look, &nothing, USUAL).is_empty());
}

#[test]
fn at_the_limit_it_goes_in_order_until_the_target_and_what_is_recent_stays() {
    let mut look = look(&[(ToolRole::Shell, 10_000); 18]);
    look.window = 200_000;
    assert!(look.tokens > 160_000);
    let settings = Settings { attention_budget: None, ..Settings::default() };
    let proposed = choose(&settings, &look, &nothing, USUAL);
    let saved = gone(&proposed).len() as u64 * 9_950;
    assert!(look.tokens - saved <= 120_000, "down to the target: {:?}", gone(&proposed));
    assert!(gone(&proposed).iter().all(|call| call[1..].parse::<usize>().expect("a number") <= 12));
    // Below the raised threshold only clearings that pay are made.
    let look = Look { tokens: 170_000, rates: Rates { fresh: 1.0, read: 0.0, write: 1.0 }, ..look };
    let forced = |provider_edits| {
        choose(&settings, &look, &nothing, Force::Usual { provider_edits, cleared: 0, provider_first: false })
    };
    assert!(!forced(false).is_empty());
    assert!(forced(true).is_empty(), "the provider edits: it is left to it for longer");
}

#[test]
fn a_cut_that_does_not_suffice_waits_until_it_is_worth_a_reread() {
    // Only one of the results is old enough to go, and all but it stays.
    let settings = Settings { attention_budget: None, preserve_recent_turns: 18, ..Settings::default() };
    let rates = Rates { fresh: 1.0, read: 0.0, write: 1.0 };
    let with = |tokens: u64, change: fn(Look<'static>) -> Look<'static>| {
        let mut look = look(&[(ToolRole::Shell, 10_000); 19]);
        look.items[0].tokens = tokens;
        let look = Look { tokens: 170_000, rates, ..look };
        gone(&choose(&settings, &change(look), &nothing, USUAL)).len()
    };
    let as_it_is = |look| look;
    assert_eq!((with(1_000, as_it_is), with(10_000, as_it_is)), (0, 1), "2 % of the window is worth it");
    assert_eq!(with(1_000, |look| Look { cold: true, ..look }), 1, "without a cache it costs nothing");
    assert_eq!(with(1_000, |look| Look { tokens: 200_500, ..look }), 1, "the request fits again");
    assert_eq!(with(1_000, |look| Look { tokens: 300_000, ..look }), 0, "it would not fit either way");
}

#[test]
fn what_the_provider_clears_is_left_to_it_until_that_does_not_suffice() {
    let look = Look { cold: true, ..look(&[(ToolRole::Search, 10_000); 19]) };
    let with = |cleared| {
        choose(
            &Settings::default(),
            &look,
            &nothing,
            Force::Usual { provider_edits: true, cleared, provider_first: false },
        )
    };
    assert!(look.tokens >= 190_000, "the limit is near, the cache is cold, and the searches are beyond their budget");
    assert!(!with(0).is_empty());
    assert!(with(100_000).is_empty(), "the model reads half of it");
    assert!(!with(5_000).is_empty(), "the model reads nearly all of it");
}

#[test]
fn when_the_provider_begins_to_clear_nothing_else_is_cut_from_that_request() {
    // From far below both triggers to far above them in one step.
    let look = Look { cold: true, ..look(&[(ToolRole::Search, 10_000); 19]) };
    let with = |provider_first| {
        let force = Force::Usual { provider_edits: true, cleared: 0, provider_first };
        choose(&Settings::default(), &look, &nothing, force)
    };
    assert!(!with(false).is_empty());
    assert!(with(true).is_empty(), "it goes first");
}

#[test]
fn what_is_named_never_goes_even_if_all_shall() {
    let look = look(&[
        (ToolRole::Read, 5_000),
        (ToolRole::Todo, 5_000),
        (ToolRole::Shell, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Search, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
        (ToolRole::Read, 5_000),
    ]);
    let facts = |call: &str| match call {
        "c0" => Fact { path: Some("/p/NOTES.md"), ..Fact::default() },
        "c2" => Fact { command: Some("bd ready"), ..Fact::default() },
        _ => Fact::default(),
    };
    let settings = Settings { exclude_tools: vec!["todo*".into()], ..Settings::default() };
    let proposed = choose(&settings, &look, &facts, Force::All);
    assert_eq!(gone(&proposed), ["c3", "c4", "c5"], "stale, and neither kept nor recent");
    assert!(proposed[0].reason.starts_with("stale_tool_results"), "{}", proposed[0].reason);
}

#[test]
fn the_first_target_that_fits_names_it_and_decides_its_place() {
    let mut look = look(&[(ToolRole::Shell, 2_000); 20]);
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
fn what_an_ended_phase_leaves_goes_when_that_pays_however_small_the_conversation_is() {
    let look = look(&[(ToolRole::Shell, 1_000); 20]);
    let of = |call: &str, ended: std::ops::Range<usize>| match ended.contains(&call[1..].parse().expect("a number")) {
        true => Fact { phases: &["setup"], ..Fact::default() },
        false => Fact::default(),
    };
    let (much, little) = (|call: &str| of(call, 0..18), |call: &str| of(call, 3..5));
    let settings = Settings::default();
    let proposed = choose(&settings, &look, &much, USUAL);
    let old: Vec<String> = (0..15).map(|step| format!("c{step}")).collect();
    assert_eq!(gone(&proposed), old, "what is recent stays");
    assert!(proposed[0].reason.contains("completed_phase_details") && proposed[0].reason.contains("pays off after"));
    assert!(choose(&settings, &look, &little, USUAL).is_empty(), "two results do not pay for what stands behind them");
    let cold = Look { cold: true, ..look.clone() };
    assert!(gone(&choose(&settings, &cold, &little, USUAL)).contains(&"c3"), "unless that is written anew anyway");
    let other = Settings { clear_after_phases: vec!["testing".into()], ..Settings::default() };
    assert!(choose(&other, &look, &much, USUAL).is_empty(), "another phase is meant");
}

#[test]
fn what_calls_were_asked_with_goes_when_results_do_not_suffice() {
    let mut look = look(&[(ToolRole::Write, 50); 40]);
    let mut before = 10_000;
    for item in &mut look.items {
        item.input = Some(Input { tokens: 1_400, before, left: 50, unreplaced: 1_400 });
        before += 1_450;
    }
    (look.tokens, look.window) = (before, 60_000);
    let shortened = |proposed: &[Proposal]| {
        let is_input = |proposed: &&Proposal| matches!(proposed.what, Action::ShortInput { .. });
        proposed.iter().filter(is_input).count()
    };
    let settings = Settings::default();
    let forced = shortened(&choose(&settings, &look, &nothing, USUAL));
    assert!(look.tokens > 60_000 && (24..=30).contains(&forced), "down to the target, and no further: {forced}");
    assert_eq!(shortened(&choose(&settings, &look, &nothing, Force::All)), 31, "all that are stale");
    let tally = tally(&settings, &look, &nothing);
    assert_eq!(tally.clearable[0], (Target::StaleToolResults, 31 * 1_350));
    look.tokens = 40_000;
    assert_eq!(shortened(&choose(&settings, &look, &nothing, USUAL)), 0, "below the limit nothing is forced");
}

#[test]
fn what_a_result_says_can_keep_it() {
    let text = |call: &str| Some(if call == "c2" { "SECRET PLAN" } else { "words" }.to_owned().into());
    let look = Look { texts: Texts(Some(&text)), ..look(&[(ToolRole::Shell, 2_000); 20]) };
    let mut settings = Settings { preserve_artifacts: vec!["plan".into()], ..Settings::default() };
    settings.artifacts.insert("plan".into(), Artifact { texts: vec!["*secret plan*".into()], ..Artifact::default() });
    let proposed = choose(&settings, &look, &nothing, Force::All);
    assert!(!gone(&proposed).contains(&"c2") && gone(&proposed).contains(&"c3"));
    let told = tally(&settings, &look, &nothing);
    assert_eq!(told.preserved, 6 * 2_000, "it, and the recent ones");
    let clearable: u64 = told.clearable.iter().map(|(_, tokens)| tokens).sum();
    assert_eq!(clearable, gone(&proposed).len() as u64 * 1_950);
}

#[test]
fn what_must_stay_is_not_trimmed_and_its_call_stays_as_it_is() {
    let noise = "still waiting\n".repeat(100);
    let text = |call: &str| {
        let is_plan = ["c2", "c39"].contains(&call);
        Some(format!("{}{noise}", if is_plan { "the secret plan\n" } else { "words\n" }).into())
    };
    let mut look = Look { texts: Texts(Some(&text)), cold: true, ..look(&[(ToolRole::Shell, 2_000); 40]) };
    look.items.iter_mut().skip(38).for_each(|item| item.fresh = true);
    let input = |before| Input { tokens: 900, before, left: 50, unreplaced: 50 };
    look.items.iter_mut().for_each(|item| item.input = Some(input(item.before)));
    let mut settings = Settings { preserve_artifacts: vec!["plan".into()], ..Settings::default() };
    let all = |settings: &Settings| -> Vec<String> {
        let proposed = choose(settings, &look, &nothing, USUAL);
        let name = |proposed: &Proposal| match &proposed.what {
            Action::DropReplaced { call } => vec![format!("input of {call}")],
            what => what.results().to_vec(),
        };
        proposed.iter().flat_map(name).collect()
    };
    let changed = all(&settings);
    for what in ["c2", "input of c2", "c38", "c39"] {
        assert!(changed.contains(&what.to_owned()), "{what} in {changed:?}");
    }
    let plan = Artifact { texts: vec!["*secret plan*".into()], ..Artifact::default() };
    settings.artifacts.insert("plan".into(), plan);
    let kept = all(&settings);
    let gone: Vec<&String> = changed.iter().filter(|what| !kept.contains(what)).collect();
    assert_eq!(gone, ["input of c39", "c39", "input of c2", "c2"]);
}

#[test]
fn searches_beyond_a_budget_go_sooner() {
    let look = Look { cold: true, ..look(&[(ToolRole::Search, 1_900); 9]) };
    let gone_of = |budget: Option<Budget>| {
        let settings = Settings { attention_budget: budget, preserve_recent_turns: 2, ..Settings::default() };
        gone(&choose(&settings, &look, &nothing, USUAL)).len()
    };
    let budget = Budget { single_search: 9_000, accumulated: 9_000, session_total: 99_000 };
    assert_eq!(gone_of(None), 5, "half of ten answers old");
    assert_eq!(gone_of(Some(budget)), 5);
    assert_eq!(gone_of(Some(Budget { single_search: 1_000, ..budget })), 7, "all but the recent ones");
    assert_eq!(gone_of(Some(Budget { accumulated: 1_000, ..budget })), 7);
    assert_eq!(gone_of(Some(Budget { session_total: 6_000, ..budget })), 6, "recent ones count, though they stay");
}

#[test]
fn every_trim_has_its_own_switch() {
    let view: String = (1..60).map(|at| format!("{at:6}→let x_{at} = {at};\n")).collect();
    let hits: String =
        (1..60).map(|at| format!("crates/core/src/policy/choose.rs:{at}:let x_{at} = {at};\n")).collect();
    let text = |call: &str| {
        let noise = "still waiting\n".repeat(100);
        Some(
            match call {
                "c0" => view.clone(),
                "c1" => hits.clone(),
                _ => noise,
            }
            .into(),
        )
    };
    let tools = [(ToolRole::Read, 900), (ToolRole::Search, 900), (ToolRole::Shell, 900), (ToolRole::Edit, 100)];
    let mut look = Look { texts: Texts(Some(&text)), ..look(&tools) };
    look.items.iter_mut().for_each(|item| item.fresh = true);
    look.items[3].input = Some(Input { tokens: 900, before: 0, left: 100, unreplaced: 300 });
    let trimmed = |trims: Trims| -> Vec<bool> {
        let settings = Settings { trims, cuts: Cuts::default(), ..Settings::default() };
        let proposed = choose(&settings, &look, &nothing, USUAL);
        let has = |at: usize| proposed.iter().any(|one| format!("{:?}", one.what).contains(&format!("\"c{at}\"")));
        (0..4).map(has).collect()
    };
    let all = Trims::default();
    assert_eq!(trimmed(all), [true; 4]);
    assert_eq!(trimmed(Trims { views: false, ..all }), [false, true, true, true]);
    assert_eq!(trimmed(Trims { searches: false, ..all }), [true, false, true, true]);
    assert_eq!(trimmed(Trims { outputs: false, ..all }), [true, true, false, true]);
    assert_eq!(trimmed(Trims { edits: false, ..all }), [true, true, true, false]);
}

#[test]
fn a_new_result_is_cut_only_if_the_settings_cut_its_kind() {
    let text = |_: &str| Some((0..300).map(|at| format!("compiling part {at}\n")).collect::<String>().into());
    let mut look = Look { texts: Texts(Some(&text)), ..look(&[(ToolRole::Shell, 4_000)]) };
    look.items[0].fresh = true;
    let facts = |_: &str| Fact { command: Some("make all"), ..Fact::default() };
    let cuts = |cuts: Cuts| {
        let settings = Settings { cuts, ..Settings::default() };
        let proposed = choose(&settings, &look, &facts, USUAL);
        proposed.iter().filter(|one| matches!(one.what, Action::Cut { .. })).count()
    };
    assert_eq!(cuts(Cuts { build: 1_000, ..Cuts::default() }), 1);
    assert_eq!((cuts(Cuts { build: 4_000, ..Cuts::default() }), cuts(Cuts { log: 1_000, ..Cuts::default() })), (0, 0));
}

#[test]
fn a_view_that_a_new_one_refers_to_stays_until_that_one_is_old() {
    let view: String = (0..300).map(|at| format!("line {at} of the file\n")).collect();
    let reference = CutText::shown_before(&view).with(None);
    let (file, last) = (Some(Key::of([b"a file".as_slice()])), 17);
    // Near the limit, a view of the whole file, and the same view again.
    let gone_after = |answers: usize| {
        let is_cut = answers > 0;
        let text = |call: &str| match call {
            "c17" if is_cut => Some(reference.clone().into()),
            "c3" | "c17" => Some(view.clone().into()),
            _ => None,
        };
        let mut look = Look { texts: Texts(Some(&text)), ..look(&[(ToolRole::Shell, 10_000); 18]) };
        for at in [3, last] {
            (look.items[at].role, look.items[at].file, look.items[at].superseded) = (ToolRole::Read, file, at == 3);
        }
        look.items[last].fresh = !is_cut;
        look.items[last].tokens = if is_cut { 40 } else { 10_000 };
        look.steps += answers;
        let settings = Settings { cuts: Cuts { repeated_view: 300, ..Cuts::default() }, ..Settings::default() };
        let proposed = choose(&settings, &look, &nothing, USUAL);
        let is_cut_now = proposed.iter().any(|one| matches!(one.what, Action::Cut { .. }));
        assert_eq!(is_cut_now, !is_cut);
        let gone = gone(&proposed);
        assert!(gone.contains(&"c0"), "others go: {gone:?}");
        gone.contains(&"c3")
    };
    assert_eq!([0, 1, 4].map(gone_after), [false; 3]);
    assert!(gone_after(30), "the reference is old too");
}
