//! Recordings replayed through the engine.

mod account;
mod charged;
mod harmed;
mod provider;
mod recorded;
mod searching;
mod sizes;
mod wires;

use ctx_core::policy::Policy;
use ctx_lab::policies::{Foresight, Keep, Nothing};
use ctx_lab::recording::Recording;
use ctx_lab::replay::{PlayOutcome, play};
use ctx_lab::run::with_known;
use ctx_models::Models;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// A conversation with this many calls, each with a result of at least 3,000 tokens.
fn recording(calls: usize) -> Recording {
    let mut messages = vec![json!({"role": "user", "content": "please look at all of these files"})];
    for call in 0..calls {
        let input = json!({"file_path": format!("/src/file{call}.rs")});
        let id = format!("toolu_{call}");
        messages.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Read", "input": input}]}),
        );
        let text = format!("fn word_{call}() {{ }} ").repeat(500);
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}));
    }
    messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]}));
    let answers = messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant");
    let turns = answers.map(|(answer, _)| ctx_lab::recording::Turn { answer, ..Default::default() }).collect();
    let raw = |value: &Value| -> Box<RawValue> { to_raw_value(value).expect("JSON") };
    Recording {
        name: "made".into(),
        wire: ctx_wire::WireId::Anthropic,
        lead: Vec::new(),
        model: "claude-opus-4-5-20251101".into(),
        head: raw(
            &json!({"model": "claude-opus-4-5-20251101", "max_tokens": 1000, "tools": [{"name": "Read", "input_schema": {}}]}),
        ),
        messages: messages.iter().map(raw).collect(),
        turns,
        labels: ctx_lab::recording::Labels::default(),
    }
}

fn played(recording: &Recording, policy: impl Policy + 'static) -> PlayOutcome {
    with_known(recording, Models::listed(), |known| play(known, std::sync::Arc::new(policy))).expect("played")
}

#[test]
fn without_a_policy_what_was_sent_is_read_again_and_what_is_new_is_written() {
    let recording = recording(10);
    let played = played(&recording, Nothing);
    assert_eq!(played.turns.len(), 11);
    for (before, turn) in played.turns.iter().zip(played.turns.iter().skip(1)) {
        assert!((turn.reading.read - before.reading.prompt()).abs() < 1.0, "{turn:?}");
        assert!(turn.reading.written > 2000.0 && turn.reading.input == 0.0, "{turn:?}");
        assert!(turn.done.is_empty() && turn.missed.is_empty());
    }
}

#[test]
fn clearing_makes_requests_smaller_and_costs_the_rest_of_the_cache_once() {
    let recording = recording(10);
    let played = played(&recording, Keep::above(40_000, 3));
    let none = self::played(&recording, Nothing);
    let cleared: Vec<usize> = (0..11).filter(|turn| !played.turns[*turn].done.is_empty()).collect();
    let first = *cleared.first().expect("it acts");
    assert!(played.turns[first].reading.read < 25_000.0, "up to the first result: {:?}", played.turns[first]);
    assert!(played.turns[first].reading.prompt() < none.turns[first].reading.prompt() - 10_000.0);
    let next = &played.turns[first + 1].reading;
    assert!((next.read - played.turns[first].reading.prompt()).abs() < 1.0, "only once: {next:?}");
    assert!(played.turns[10].reading.prompt() < 45_000.0, "{:?}", played.turns[10]);
    let [done] = &played.turns[first].done[..] else { panic!("once: {:?}", played.turns[first].done) };
    assert!(done.what.contains("drop-results") && done.why.len() == 1, "each reason is told once: {done:?}");
}

#[test]
fn who_knows_the_future_clears_what_nobody_needs_and_harms_nobody() {
    let recording = recording(60);
    let (cost, missed) = bill(&played(&recording, Foresight::default()));
    let (without, _) = bill(&played(&recording, Nothing));
    assert!(missed == 0 && cost < without * 0.70, "{cost} of {without}, {missed}");
    let (early, missed) = bill(&played(&recording, Foresight::early()));
    assert!(missed == 0 && early < cost * 0.75, "{early} of {cost}, {missed}: nothing of it is ever cached");
}

/// Below the provider's minimum nothing is cached.
#[test]
fn who_knows_the_future_leaves_a_small_conversation_alone() {
    let mut recording = recording(30);
    let usage = |at: usize| ctx_lab::recording::Usage { input: 3000 + 450 * at as u64, ..Default::default() };
    recording.turns.iter_mut().enumerate().for_each(|(at, turn)| turn.usage = Some(usage(at)));
    let (cost, _) = bill(&played(&recording, Foresight::early()));
    let (without, _) = bill(&played(&recording, Nothing));
    assert!(cost <= without, "{cost} of {without}");
}

/// The cost, and the number of harmed steps.
fn bill(played: &PlayOutcome) -> (f64, usize) {
    let missed = played.turns.iter().map(|turn| turn.missed.len()).sum();
    (played.turns.iter().map(|turn| turn.input_cost + turn.output_cost + turn.forced).sum(), missed)
}
