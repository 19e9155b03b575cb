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
        released: false,
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
    // 4,500 tokens were read for 16 requests in vain: 7,200. Acting costs writing the 75,500 tokens behind.
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
        look.items.push(Item { step: 12, changes: true, role: ToolRole::Edit, tokens: 10, ..look.items[0].clone() });
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
    let gone =
        |look: &Look| calls(&Auto { share: 100.0, rent: 0.01, to_come: 1000.0, ..Auto::default() }.propose(look)).len();
    assert_eq!(gone(&look), 0, "nothing was changed since");
    look.items.iter_mut().filter(|item| item.step > 8).for_each(|item| item.changes = true);
    assert!(gone(&look) > 0);
    look.items.iter_mut().for_each(|item| item.changes = false);
    look.items[2].role = ToolRole::Shell;
    assert_eq!(gone(&look), 6, "those from 4 to 14");
}

#[test]
fn the_names_that_are_left_go_when_they_are_very_old() {
    let left = super::super::stub::result_stub(&"some_name other_name ".repeat(9), Some("It is in a file."), |_| false);
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
