//! A request continues from the previous one only where nothing can differ.

use super::*;

/// A question and steps of a tool loop.
fn talk(steps: usize) -> Vec<String> {
    let step = |n: usize| {
        let id = format!("toolu_{n}");
        [
            list("assistant", &[thinks(&format!("s{n}")), text(&format!("step {n}")), call(&id)]),
            list("user", &[result(&id)]),
        ]
    };
    std::iter::once(user("begin")).chain((0..steps).flat_map(step)).collect()
}

/// Whether a talk of `steps` continues from a shorter one with the same operations.
fn goes_on(before: &[String], now: &[String], edit: impl Fn(Case) -> Case) -> bool {
    let memo = Memo::default();
    edit(Case::of(&strs(before))).compose_with(&memo);
    edit(Case::of(&strs(now))).compose_with(&memo).1
}

#[test]
fn new_messages_behind_untouched_ones_go_on() {
    let edit = |case: Case| case.delete(&[(1, 1)]).replace(&[(3, 1)], &[(None, &[&text("new")])]);
    assert!(goes_on(&talk(8), &talk(9), edit));
    assert!(goes_on(&talk(8), &talk(12), edit));
    // The same request again.
    assert!(goes_on(&talk(8), &talk(8), edit));
}

#[test]
fn thinking_of_new_messages_is_looked_at() {
    let edit = |case: Case| case.delete(&[(1, 1)]);
    let memo = Memo::default();
    edit(Case::of(&strs(&talk(8)))).compose_with(&memo);
    let (done, continued) = edit(Case::of(&strs(&talk(9)))).compose_with(&memo);
    assert!(continued);
    // All but that of the first step, which precedes the change.
    assert_eq!((done.composed.thinking_dropped, done.rules()), (8, vec!["A65"]));
}

#[test]
fn messages_that_rules_may_connect_do_not_go_on() {
    let edit = |case: Case| case.delete(&[(1, 1)]);
    // A call without its result.
    let open = [talk(8), vec![list("assistant", &[call("toolu_x")])]].concat();
    assert!(!goes_on(&talk(8), &open, edit));
    // A system message.
    let system = [talk(8), vec![user("and"), list("system", &[text("note")])]].concat();
    assert!(!goes_on(&talk(8), &system, edit));
    // With a synthetic call, an id may occur twice.
    let ours = |case: Case| case.replace(&[(1, 2)], &[(None, &[&call("toolu_0")])]);
    let twice = [talk(9), vec![list("assistant", &[call("toolu_3")]), list("user", &[result("toolu_3")])]].concat();
    assert!(goes_on(&talk(8), &talk(9), ours));
    assert!(!goes_on(&talk(8), &twice, ours));
}

#[test]
fn results_of_new_calls_are_replaced_without_composing_the_beginning() {
    let trim = |case: Case| case.delete(&[(1, 1)]).result((2, 0), "first").result((16, 0), "short");
    let more = |from: usize| {
        move |case: Case| {
            let edited = trim(case).result((18, 0), "new");
            Case { edited_from: from, ..edited }
        }
    };
    let memo = Memo::default();
    trim(Case::of(&strs(&talk(8)))).compose_with(&memo);
    let (done, continued) = more(18)(Case::of(&strs(&talk(9)))).compose_with(&memo);
    assert!(continued);
    assert!(["first", "short", "new"].iter().all(|text| done.text.contains(text)), "{}", done.text);
    // A result of the settled beginning: the whole request is composed.
    assert!(!more(2)(Case::of(&strs(&talk(9)))).compose_with(&memo).1);
    // The next request has the same operations.
    assert!(more(usize::MAX)(Case::of(&strs(&talk(10)))).compose_with(&memo).1);
}

#[test]
fn what_is_composed_as_a_whole_is_not_continued_from_an_older_beginning() {
    let memo = Memo::default();
    let edit = |case: Case| case.delete(&[(1, 1)]);
    edit(Case::of(&strs(&talk(8)))).compose_with(&memo);
    // Nothing of it can be settled: its newest message is edited.
    let more = |steps: usize| edit(Case::of(&strs(&talk(steps)))).result((2, 0), "old").delete(&[(17, 1)]);
    assert!(!Case { edited_from: 2, ..more(9) }.compose_with(&memo).1);
    assert!(!more(10).compose_with(&memo).1);
}

#[test]
fn edits_among_the_newest_messages_settle_nothing() {
    let edit = |case: Case| case.delete(&[(15, 1)]);
    assert!(!goes_on(&talk(8), &talk(9), edit));
}

#[test]
fn a_deferred_tool_goes_on_until_the_tools_change() {
    let compose = |steps: usize, description: &str, memo: &Memo| {
        let read = format!(r#"{{"name":"Read","description":"{description}"}}"#);
        let tools = format!(r#"[{read},{{"name":"Zeta","defer_loading":true}}]"#);
        let messages = talk(steps).join(",");
        let case = Case::body(&format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}],"tools":{tools}}}"#));
        super::rules::deferring(&["Read"]).into_iter().fold(case, Case::effect).compose_with(memo)
    };
    let memo = Memo::default();
    compose(8, "old", &memo);
    let (done, continued) = compose(9, "old", &memo);
    assert!(continued && done.text.contains(r#""description":"old","defer_loading":true"#), "{}", done.text);
    let (done, continued) = compose(10, "new", &memo);
    assert!(!continued && done.text.contains(r#""description":"new","defer_loading":true"#), "{}", done.text);
}
