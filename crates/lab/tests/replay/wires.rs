//! Replays of conversations of Codex (Responses) and opencode (Chat Completions).

use ctx_core::policy::{Auto, Policy};
use ctx_lab::policies::Nothing;
use ctx_lab::recording::{Recording, read};
use ctx_lab::run::run;
use ctx_models::Models;
use ctx_wire::WireId;
use std::path::Path;
use std::sync::Arc;

/// Some recordings of the other wires.
fn recorded() -> Option<Vec<Recording>> {
    if testkit::recorded_bodies("codex").is_empty() {
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus-wires/bodies");
    let known = |one: &Recording| matches!(one.wire, WireId::OpenaiChat | WireId::OpenaiResponses);
    Some(read(&[folder]).recordings.into_iter().filter(known).step_by(13).collect())
}

#[test]
fn recordings_of_other_wires_are_played_and_charged_as_they_were_counted() {
    let Some(recordings) = recorded() else { return };
    let policies: Vec<Arc<dyn Policy>> = vec![Arc::new(Nothing), Arc::new(Auto::default())];
    let outcome = run(&recordings, &policies, Models::listed());
    assert_eq!(outcome.unplayable, []);
    let [none, auto] = &outcome.scores[..] else { panic!("two policies") };
    assert_eq!((none.len(), auto.len()), (recordings.len(), recordings.len()));
    for (recording, none) in recordings.iter().zip(none) {
        let mut reported =
            recording.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.input + usage.cache_read);
        let reported = reported.next_back().expect("counts") as f64;
        let off = (none.final_tokens as f64 - reported).abs() / reported;
        assert!(off < 0.25, "{}: {} of {reported}", none.conversation, none.final_tokens);
        assert_eq!((none.clear_events, none.harmed), (0, 0), "{}", none.conversation);
    }
    let spent = |scores: &[ctx_lab::run::Score]| scores.iter().map(ctx_lab::run::Score::cost).sum::<f64>();
    println!("{:.2} without, {:.2} with the automatic editor", spent(none), spent(auto));
    assert!(auto.iter().any(|score| score.clear_events > 0), "it acts on other wires too");
    assert!(spent(auto) <= spent(none) * 1.01);
}
