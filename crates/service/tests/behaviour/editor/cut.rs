//! Long results are cut before they are first sent.

use super::work::{Work, on, results};
use ctx_core::policy::{Cuts, Mode, Settings};
use serde_json::{Value, json};
use std::fs;

fn output() -> String {
    let mut lines: Vec<String> = (0..800).map(|at| format!("compiling part {at} of the whole program")).collect();
    lines[400] = "error: no such_function in src/parts.rs".into();
    lines.join("\n")
}

fn cutting(mode: Mode) -> Settings {
    Settings { mode, cuts: Cuts { build: 1_000, repeated_view: 500, ..Cuts::default() }, ..on() }
}

fn last(body: &Value) -> String {
    results(body).pop().expect("a result")
}

fn begun(settings: Settings) -> Work {
    let mut work = Work::new(settings);
    work.session.user("build it");
    work.send();
    work
}

#[test]
fn a_long_output_is_cut_when_it_arrives_and_all_of_it_is_in_a_file() {
    let mut work = begun(cutting(Mode::On));
    let text = output();
    let sent = last(&work.step_with("Bash", json!({"command": "cd p && make all"}), text.clone()));
    assert!(sent.len() < text.len() / 3 && sent.starts_with("[Cut to save context: "), "{sent}");
    assert!(
        sent.contains("error: no such_function in src/parts.rs")
            && sent.ends_with("compiling part 799 of the whole program")
    );
    let file = sent.split("Read it in ").nth(1).and_then(|rest| rest.split(" if needed.").next()).expect("a path");
    assert_eq!(fs::read_to_string(file).expect("a file"), text, "to the byte");
    assert!(!work.home.path().join("NOTES.md").exists(), "the result itself names the file");
    let reason = work.commits()[0].note.clone().expect("a reason");
    assert!(reason.contains("failures and both ends of a long output stay"), "{reason}");
    assert!(work.events("signal").is_empty(), "nothing was cleared");
    let other = last(&work.step_with("Bash", json!({"command": "git diff"}), text.clone()));
    assert_eq!(other, text, "the agent asked for exactly this");
    let short = "compiling\n".to_owned() + &"ok, a part of it\n".repeat(3);
    assert_eq!(last(&work.step_with("Bash", json!({"command": "make one"}), short.clone())), short);
}

#[test]
fn each_cut_has_its_own_switch_and_observing_cuts_nothing() {
    let text = output();
    for settings in [Settings { cuts: Cuts { build: 0, ..cutting(Mode::On).cuts }, ..on() }, cutting(Mode::Observe)] {
        let mut work = begun(settings);
        assert_eq!(last(&work.step_with("Bash", json!({"command": "make all"}), text.clone())), text);
    }
}

#[test]
fn a_view_that_an_earlier_result_shows_refers_to_it_until_the_file_changes() {
    let mut work = begun(cutting(Mode::On));
    let view: String = (1..200).map(|at| format!("{at:6}→let value_{at} = {at};\n")).collect();
    let read = json!({"file_path": "/p/a.rs"});
    let first = last(&work.step_with("Read", read.clone(), view.clone()));
    assert!(first.starts_with("[lines 1 to 199 of the file"), "{first}");
    let again = last(&work.step_with("Read", read.clone(), view.clone()));
    assert!(again.starts_with("[Cut to save context: an earlier call showed these"), "{again}");
    let edit = json!({"file_path": "/p/a.rs", "old_string": "a", "new_string": "b"});
    work.step_with("Edit", edit, "done".into());
    let changed = last(&work.step_with("Read", read, view));
    assert!(changed.starts_with("[lines 1 to 199 of the file"), "{changed}");
}

#[test]
fn a_view_that_a_new_one_refers_to_is_not_cleared_with_it_nor_soon_after() {
    let mut work = begun(cutting(Mode::On));
    let view: String = (1..900).map(|at| format!("{at:6}→let value_{at} = {at};\n")).collect();
    let read = json!({"file_path": "/p/a.rs"});
    let first = last(&work.step_with("Read", read.clone(), view.clone()));
    (0..10).for_each(|at| drop(work.step("Bash", json!({"command": format!("part-{at}")}))));
    let sent = work.step_with("Read", read, view);
    assert!(last(&sent).starts_with("[Cut to save context: an earlier call showed these"), "{}", last(&sent));
    assert!(results(&sent)[0] == first);
    for at in 0..4 {
        let sent = results(&work.step("Bash", json!({"command": format!("more-{at}")})));
        assert!(sent[0] == first, "{at} answers later");
    }
    let cleared = results(&work.send()).iter().filter(|text| text.starts_with("[Cleared to save context.")).count();
    assert!(cleared > 3, "near the limit, the others go: {cleared}");
}
