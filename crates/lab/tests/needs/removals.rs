//! Content that the client itself removed, and what the agent did without it.

use super::Talk;
use ctx_lab::harm_check::{HarmCheck, Uses, check};
use ctx_lab::recording::{Recording, Usage};
use serde_json::{Value, json};

fn edit(old: &str) -> Value {
    json!({"file_path": "a", "old_string": old, "new_string": "changed"})
}

fn uses(check: &HarmCheck, kind: &str, summarized: bool) -> [Uses; 2] {
    let found = check.uses.iter().find(|uses| uses.kind == kind && uses.summarized == summarized).expect("a row");
    [found.removed, found.visible]
}

fn named(name: &str, talk: &Talk) -> Recording {
    Recording { name: name.into(), ..talk.recording() }
}

const SUMMARY: &str = "This session is being continued from a previous conversation that ran out of context. It was about \
                       told_name.";

#[test]
fn after_a_summary_content_is_fetched_again_told_again_or_used_anyway() {
    let before =
        Talk::new().call("Read", json!({"file_path": "a"}), "let first_line = 1;\nlet second_line = 2;\ntold_name");
    let mut after = Talk::new().user(SUMMARY);
    after.messages.remove(0);
    after = after
        .call("Read", json!({"file_path": "a"}), "let first_line = 1;")
        .call("Edit", edit("let first_line = 1;"), "ok")
        .call("Edit", edit("let second_line = 2;"), "ok")
        .call("Bash", json!({"command": "grep told_name a"}), "ok");
    let recordings = [named("talk-s0", &before), named("talk-s1", &after)];
    let found = check(&recordings);
    assert_eq!((found.clearings, found.summaries, found.steps), (0, 1, 4));
    let edits = Uses { fetched_again: 1, used_anyway: 1, told_again: 0 };
    assert_eq!(uses(&found, "edit", true), [edits, Uses::default()]);
    assert_eq!(uses(&found, "name", true), [Uses { told_again: 1, ..Uses::default() }, Uses::default()]);
    assert_eq!((found.harmed, found.harmed_fetched), (2, 1), "a text that tells it again is no harm");
    assert!(found.fetched_tokens > 0);
    let others = check(&[named("talk-s0", &before), named("other-s1", &after)]);
    assert_eq!(others, HarmCheck { uses: others.uses.clone(), ..HarmCheck::default() }, "of another session");
}

#[test]
fn after_a_clearing_the_oldest_results_are_gone_and_the_newest_are_visible() {
    let filler = "words without end ".repeat(3_000);
    let mut talk = Talk::new().call("Read", json!({"file_path": "a"}), &format!("let first_line = 1; {filler}"));
    for at in 0..4 {
        talk = talk.call("Read", json!({"file_path": "b"}), &format!("let line_of_{at} = 1; {filler}"));
    }
    talk = talk.call("Edit", edit("let first_line = 1;"), "ok").call("Edit", edit("let line_of_3 = 1;"), "ok");
    let mut recording = talk.recording();
    let size = |at: usize| if at < 5 { 20_000 + 20_000 * at as u64 } else { 80_000 + 100 * at as u64 };
    for (at, turn) in recording.turns.iter_mut().enumerate() {
        turn.usage = Some(Usage { input: size(at), output: 100, ..Usage::default() });
    }
    let found = check(&[recording]);
    assert_eq!((found.clearings, found.summaries, found.steps), (1, 0, 2));
    let anyway = Uses { used_anyway: 1, ..Uses::default() };
    assert_eq!(uses(&found, "edit", false), [anyway, anyway]);
    assert_eq!((found.harmed, found.harmed_fetched), (1, 0));
}
