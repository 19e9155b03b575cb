//! Steps that did without content that a policy had removed.

use crate::{played, recording};
use ctx_core::policy::Policy;
use ctx_lab::policies::{Keep, Nothing};
use ctx_lab::recording::Recording;
use ctx_lab::replay::Turn;
use ctx_lab::run::run;
use ctx_models::Models;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::sync::Arc;

/// A conversation whose first and last calls are the same search, with a large result.
fn searching_twice() -> Recording {
    let mut recording = recording(20);
    let answers: Vec<usize> = recording.turns.iter().map(|turn| turn.answer).collect();
    for (call, at) in [(0, answers[0]), (19, answers[19])] {
        let id = format!("toolu_{call}");
        let search = json!({"type": "tool_use", "id": id, "name": "Grep", "input": {"pattern": "word"}});
        recording.messages[at] = to_raw_value(&json!({"role": "assistant", "content": [search]})).expect("JSON");
    }
    recording
}

#[test]
fn a_search_that_is_repeated_without_its_result_is_counted_by_tokens_and_money() {
    let recording = searching_twice();
    let (none, cleared) = (played(&recording, Nothing), played(&recording, Keep::above(40_000, 3)));
    let repeated = |turn: &Turn| turn.repeated.len();
    assert!(none.turns.iter().all(|turn| repeated(turn) == 0), "the earlier result is in view");
    let turn = &cleared.turns[19];
    assert_eq!(turn.repeated, [r#"Grep {"pattern":"word"}"#]);
    let result = none.turns[1].reading.prompt() - none.turns[0].reading.prompt();
    assert!((turn.repeated_tokens / result - 1.0).abs() < 0.05, "{} of {result}", turn.repeated_tokens);
    let money = (turn.reading.prompt() * 0.5 + turn.repeated_tokens * 6.25 + 100.0 * 25.0) / 1e6;
    assert!((turn.repeated_cost - money).abs() < 1e-9, "{} {money}", turn.repeated_cost);
    assert!(turn.missed.is_empty() && turn.forced == 0.0, "the recording has the same step: {turn:?}");
}

#[test]
fn harm_is_weighed_by_the_content_that_was_missed_and_by_money_and_time() {
    let mut recording = recording(20);
    // A step takes ten seconds; a person pauses once.
    let at = |turn: usize| 1_000_000 + 10_000 * turn as i64 + if turn > 9 { 3_600_000 } else { 0 };
    recording.turns.iter_mut().enumerate().for_each(|(turn, one)| one.at = Some(at(turn)));
    let input = json!({"file_path": "/src/file0.rs", "old_string": "fn word_0() { } fn", "new_string": "x"});
    let edit =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "e", "name": "Edit", "input": input}]});
    *recording.messages.last_mut().expect("an answer") = to_raw_value(&edit).expect("JSON");
    let none = played(&recording, Nothing);
    let turn = played(&recording, Keep::above(40_000, 3)).turns.pop().expect("a turn");
    let policies: [Arc<dyn Policy>; 1] = [Arc::new(Keep::above(40_000, 3))];
    let score = run(&[recording], &policies, Models::listed()).scores.remove(0).remove(0);
    assert_eq!((score.harmed, score.forced_seconds), (1, 10.0));
    assert_eq!(score.forced_cost, turn.forced);
    let result = none.turns[1].reading.prompt() - none.turns[0].reading.prompt();
    assert!((turn.missed_tokens / result - 1.0).abs() < 0.05, "{} of {result}", turn.missed_tokens);
    assert!(none.turns.iter().all(|turn| turn.missed_tokens == 0.0));
}
