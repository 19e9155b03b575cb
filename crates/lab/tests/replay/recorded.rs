//! Replays of the recorded conversations.

use crate::played;
use ctx_core::policy::{Auto, Policy};
use ctx_core::tokens::{self, Calibration};
use ctx_lab::policies::Nothing;
use ctx_lab::recording::{Recording, Usage, read};
use ctx_lab::replay::{Watch, play, play_watching};
use ctx_lab::request::Script;
use ctx_lab::run::{Score, run, with_known};
use ctx_models::Models;
use ctx_wire::anthropic::message;
use std::path::Path;

fn recorded() -> Option<Vec<Recording>> {
    if testkit::recorded_conversations().is_empty() {
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    Some(read(&[folder]).recordings)
}

fn prompt(usage: &Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_written
}

/// The median errors of request estimates: raw, and corrected by the request before.
#[test]
fn estimates_are_near_what_the_provider_counted() {
    let Some(recordings) = recorded() else { return };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for recording in recordings.iter().filter(|recording| recording.model.starts_with("claude")) {
        let each = recording
            .messages
            .iter()
            .map(|json| tokens::of_message(&message::read(json.get().as_bytes(), ctx_clients::lexicon()).facts));
        let mut sums = vec![0.0];
        each.for_each(|own| sums.push(sums[sums.len() - 1] + own));
        let counted = recording.turns.iter().filter_map(|turn| Some((sums[turn.answer], prompt(turn.usage.as_ref()?))));
        let counted: Vec<(f64, u64)> = counted.filter(|(_, counted)| *counted > 0).collect();
        // The head was not recorded: it is the difference at the first request.
        let Some(&(first, all)) = counted.first() else { continue };
        let head = (all as f64 - first).max(0.0);
        let mut calibration = Calibration::default();
        calibration.learn(head + first, all);
        for (estimate, counted) in counted.iter().skip(1).map(|(sum, counted)| (head + sum, *counted)) {
            let off = |tokens: f64| (tokens - counted as f64).abs() / counted as f64;
            before.push(off(estimate));
            after.push(off(calibration.tokens(estimate) as f64));
            calibration.learn(estimate, counted);
        }
    }
    let median = |list: &mut Vec<f64>| {
        list.sort_by(f64::total_cmp);
        list[list.len() / 2]
    };
    let (before, after) = (median(&mut before), median(&mut after));
    println!("off by {:.1} %, corrected {:.2} %", before * 100.0, after * 100.0);
    assert!(before < 0.05 && after < 0.02, "{before} {after}");
}

/// The cache model's figures for the original requests, compared with the provider's.
#[test]
fn the_cache_is_modelled_as_the_provider_has_it() {
    let Some(recordings) = recorded() else { return };
    let (mut modelled, mut reported) = (0.0, 0.0);
    for recording in recordings.iter().filter(|recording| recording.name.starts_with("cc-")).step_by(5) {
        let script = Script::of(recording);
        // Where the client removed content itself, the replay has more than was sent.
        if !script.counted || !script.timed || script.sizes.removed_by_client > 5_000.0 {
            continue;
        }
        let played = played(recording, Nothing);
        modelled += played.turns.iter().map(|turn| turn.reading.read).sum::<f64>();
        reported +=
            recording.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.cache_read as f64).sum::<f64>();
    }
    println!("read from the cache: {modelled:.0} modelled, {reported:.0} reported");
    assert!((modelled / reported - 1.0).abs() < 0.05, "{modelled} {reported}");
}

/// The cost of the chosen conversations relative to no edits, and the share of harmed steps.
fn change(none: &[Score], auto: &[Score], is_chosen: impl Fn(&Score) -> bool) -> (usize, f64, f64) {
    let chosen: Vec<(&Score, &Score)> = none.iter().zip(auto).filter(|(none, _)| is_chosen(none)).collect();
    let sum = |of: &dyn Fn(&(&Score, &Score)) -> f64| chosen.iter().map(of).sum::<f64>();
    let change = sum(&|(_, auto)| auto.cost()) / sum(&|(none, _)| none.cost()) - 1.0;
    let harm = sum(&|(_, auto)| auto.harmed as f64) / sum(&|(_, auto)| auto.steps as f64);
    (chosen.len(), change, harm)
}

/// Thinking that is dropped after a change does not count as sent.
#[test]
fn what_is_told_of_a_request_after_a_change_is_what_the_provider_counts() {
    let Some(recordings) = recorded() else { return };
    let recording = recordings.iter().find(|one| &*one.name == "cc-85f99978-s0").expect("a recording");
    let known = |known: &ctx_lab::replay::RecordingFacts<'_>| {
        let auto = || std::sync::Arc::new(Auto::default());
        let acted = play(known, auto())?.turns.iter().position(|turn| turn.cleared).expect("it acts");
        play_watching(known, auto(), Watch::Turn(acted + 1)).map(|played| played.turns[acted + 1].clone())
    };
    let turn = with_known(recording, Models::listed(), known).expect("played");
    let told: u64 = turn.frames.iter().filter(|row| row.step_of.is_none()).map(|row| row.sent).sum();
    let off = told as f64 / turn.reading.prompt() - 1.0;
    assert!(off.abs() < 0.02, "{told} told, {} counted", turn.reading.prompt());
}

/// The documented promises of the automatic editor as shipped.
#[test]
fn the_automatic_policy_saves_much_does_little_harm_and_never_costs_more() {
    const LONG: u64 = 150_000;
    let Some(recordings) = recorded() else { return };
    let policies: Vec<std::sync::Arc<dyn Policy>> =
        vec![std::sync::Arc::new(Nothing), std::sync::Arc::new(Auto::default())];
    let outcome = run(&recordings, &policies, Models::listed());
    assert_eq!((&outcome.unplayable[..], outcome.beyond_window), (&[][..], 3));
    let [none, auto] = &outcome.scores[..] else { panic!("two policies") };
    assert!(none.iter().all(|score| score.harmed == 0 && score.clear_events == 0));
    assert!(none.iter().all(|score| score.beyond_window == score.conversation.ends_with("uncompacted")));
    let told = |what: &str, is_chosen: &dyn Fn(&Score) -> bool| {
        let (count, change, harm) = change(none, auto, is_chosen);
        println!("{count} {what}: {:.1} % at {:.2} % harm", change * 100.0, harm * 100.0);
        (change, harm)
    };
    told("of all", &|_| true);
    let long = told("long ones", &|score| score.peak_tokens >= LONG);
    assert!(long.0 <= -0.22 && long.1 <= 0.008, "{long:?}");
    told("of all that were sent", &|score| !score.beyond_window);
    let sent = told("long ones that were sent", &|score| score.peak_tokens >= LONG && !score.beyond_window);
    assert!(sent.0 <= -0.14 && sent.1 <= 0.01, "{sent:?}");
    let mut worst = f64::MIN;
    for (none, auto) in none.iter().zip(auto) {
        assert!(auto.cost() <= none.cost() * 1.01, "{}: {} {}", auto.conversation, auto.cost(), none.cost());
        worst = worst.max(auto.cost() / none.cost() - 1.0);
    }
    println!("worst: {:.2} %", worst * 100.0);
}
