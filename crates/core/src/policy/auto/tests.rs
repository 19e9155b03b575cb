use super::super::{Action, CachedPlace, CachedPlaces, Input, PlaceFinder, Texts};
use super::*;
use crate::edit::Operation;

/// A result of 5,000 tokens per answer, every second one a file view.
fn look(steps: usize, cold: bool) -> Look<'static> {
    let item = |step: usize| Item {
        call: format!("toolu_{step}").into(),
        tool: "a tool".into(),
        role: if step.is_multiple_of(2) { ToolRole::Read } else { ToolRole::Shell },
        tokens: 5000,
        before: 20_000 + step as u64 * 5000,
        step,
        left: 500,
        cleared: step < 2,
        fresh: step + 1 == steps,
        pinned: step == 2,
        ..Item::default()
    };
    let items: Vec<Item> = (0..steps).map(item).collect();
    Look { tokens: 20_000 + steps as u64 * 5000, items, steps, cold, ..Look::default() }
}

/// The changed results; thinking is -1, replaced text -2.
fn changes(proposed: &[Proposal]) -> Vec<i64> {
    let id = |proposed: &Proposal| match &proposed.what {
        Action::Operation(Operation::SummarizeResults { select, .. }) => {
            select.calls[0].trim_start_matches("toolu_").parse().expect("a number")
        }
        Action::DropThinking { .. } => -1,
        Action::DropReplaced { .. } => -2,
        other => panic!("{other:?}"),
    };
    proposed.iter().map(id).collect()
}

fn proposed(look: &Look) -> Vec<i64> {
    changes(&Auto::default().propose(look))
}

#[test]
fn old_results_go_when_that_brings_several_times_its_price() {
    assert!(proposed(&look(12, false)).is_empty(), "too young");
    let gone = proposed(&look(60, false));
    assert!(!gone.is_empty() && gone.is_sorted(), "{gone:?}");
    assert!(gone.iter().all(|step| *step > 2), "neither what is gone nor what is pinned: {gone:?}");
    assert!(gone.iter().all(|step| 60 - step >= if step % 2 == 0 { 20 } else { 10 }), "{gone:?}");
    // 4,500 tokens less per request, for 24 requests at most, against a rewrite of the rest.
    let few = |tokens: u64| {
        let mut look = look(40, false);
        look.items.retain(|item| item.step == 11);
        proposed(&Look { tokens, ..look })
    };
    assert_eq!(
        (few(82_000), few(84_000)),
        (vec![11], vec![]),
        "three times 2,875 is less than 10,800, three times 5,175 not"
    );
}

#[test]
fn an_edit_that_the_account_does_not_allow_is_not_made() {
    let whole = look(60, false);
    let first = proposed(&whole)[0];
    let price = |budget| proposed(&Look { budget: Some(budget), ..whole.clone() });
    assert_eq!(price(1e9)[0], first);
    assert!(price(118_000.0).first().is_some_and(|later| *later > first), "a later, smaller one is");
    assert_eq!(price(0.0), [0; 0]);
    assert!(!proposed(&Look { budget: Some(0.0), cold: true, ..whole.clone() }).is_empty(), "unless it is free");
}

#[test]
fn a_cut_is_priced_from_the_last_place_that_the_cache_holds() {
    let whole = look(60, false);
    let cuts = [PossibleCut { before: 100_000, removed: 50_000 }];
    let once = |held: CachedPlaces| {
        let places = || held.clone();
        Look { held: PlaceFinder(Some(&places)), ..whole.clone() }.prices(&cuts)[0].break_even.once
    };
    assert!((once(CachedPlaces::Everywhere) - 170_000.0 * 1.15).abs() < 1e-6);
    let held = |places: &[(u64, u64)]| {
        CachedPlaces::At(places.iter().map(|&(before, tokens)| CachedPlace { before, tokens }).collect())
    };
    let estimated = held(&[(15_000, 15_000), (90_000, 90_000), (110_000, 110_000)]);
    assert!((once(estimated) - 180_000.0 * 1.15).abs() < 1e-6);
    let counted = held(&[(15_000, 15_000), (90_000, 80_000), (110_000, 100_000)]);
    assert!((once(counted) - 190_000.0 * 1.15).abs() < 1e-6, "the provider's count");
    assert!((once(CachedPlaces::At(Vec::new())) - 270_000.0 * 1.15).abs() < 1e-6);
}

#[test]
fn everything_old_goes_when_the_cache_has_expired_at_half_the_age() {
    assert_eq!(proposed(&look(9, true)), [3], "five answers old");
    let many = proposed(&look(60, true));
    assert!(many.iter().all(|step| 60 - step >= if step % 2 == 0 { 10 } else { 5 }), "{many:?}");
    assert!(many.len() > proposed(&look(60, false)).len());
    assert!(Auto::default().propose(&look(9, true))[0].reason.contains("expired"));
    assert!(proposed(&Look { tokens: 19_000, ..look(9, true) }).is_empty(), "near the shortest prompt that is cached");
}

#[test]
fn what_belongs_to_a_file_stays_while_that_is_worked_on() {
    let gone = |last: usize| {
        let mut look = look(60, true);
        let file = Some(Key::of([b"a file".as_slice()]));
        look.items[3].file = file;
        look.items[last].file = file;
        proposed(&look).contains(&3)
    };
    assert!(gone(50) && !gone(51), "ten answers ago, when the cache has expired");
}

#[test]
fn thinking_is_a_reason_by_itself_and_goes_behind_any_change() {
    let thought = |step: usize| {
        let before = 20_000 + step as u64 * 5000 - 1;
        Thought { message: step, block: 0, tokens: 3_000, before, step, kept: false }
    };
    let thinking: Vec<Thought> = (0..60).map(thought).collect();
    let mut whole = Look { thinking, ..look(60, false) };
    let with_results = proposed(&whole);
    assert_eq!(with_results.iter().filter(|change| **change == -1).count(), 1, "the first: {with_results:?}");
    whole.items.clear();
    assert_eq!(proposed(&whole), [-1]);
    assert_eq!(proposed(&Look { cold: true, ..whole.clone() }), [-1]);
    let mut restored = whole.clone();
    restored.thinking.iter_mut().for_each(|thought| thought.kept = true);
    assert!(proposed(&restored).is_empty() && proposed(&Look { cold: true, ..restored }).is_empty(), "it was restored");
    whole.thinking.retain(|thought| thought.step >= 57);
    assert!(proposed(&whole).is_empty(), "too young");
}

#[test]
fn the_replaced_text_of_an_edit_goes_on_arrival_or_when_it_is_old() {
    let with_input = |step: usize, steps: usize| {
        let mut look = look(steps, true);
        look.items[step].input = Some(Input { tokens: 1000, before: 9_000, left: 100, unreplaced: 600 });
        look.items.retain(|item| item.step == step);
        look.items[0].cleared = true;
        proposed(&look)
    };
    assert_eq!(with_input(39, 40), [-2], "on arrival");
    assert_eq!((with_input(20, 32), with_input(20, 33)), (vec![], vec![-2]), "half of 25 answers old");
}

#[test]
fn noise_goes_before_it_is_sent() {
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
