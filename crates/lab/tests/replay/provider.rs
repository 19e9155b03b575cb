//! Clearing by the provider itself, and what it does to the cache.

use crate::account::{STEP, Step, session};
use crate::{bill, played, recording};
use ctx_lab::policies::{Nothing, named};
use ctx_lab::recording::Recording;
use ctx_lab::replay::{PlayOutcome, play};
use ctx_lab::run::with_known;
use ctx_models::Models;

fn provided(recording: &Recording, name: &str) -> PlayOutcome {
    let policy = named(name).expect("a policy");
    with_known(recording, Models::listed(), |known| play(known, policy)).expect("played")
}

/// The turns before which the provider cleared something.
fn events(played: &PlayOutcome) -> Vec<usize> {
    played.turns.iter().enumerate().filter(|(_, turn)| turn.cleared).map(|(at, _)| at).collect()
}

#[test]
fn the_provider_clears_all_but_the_newest_results_and_the_cache_ends_before_the_first() {
    let recording = recording(60);
    let (none, cleared) = (played(&recording, Nothing), provided(&recording, "provider:trigger=60000"));
    let first = *events(&cleared).first().expect("it clears");
    let turn = |played: &PlayOutcome, at: usize| played.turns[at].reading;
    assert!(turn(&none, first).prompt() > 60_000.0 && turn(&none, first - 1).prompt() <= 60_000.0);
    assert_eq!(turn(&none, first - 1), turn(&cleared, first - 1), "until then nothing changes");
    // The head, the first message and three results are left.
    assert!(turn(&cleared, first).prompt() < 35_000.0, "{:?}", turn(&cleared, first));
    assert!(turn(&cleared, first).read < 22_000.0, "{:?}", turn(&cleared, first));
    let next = turn(&cleared, first + 1);
    assert!((next.read - turn(&cleared, first).prompt()).abs() < 1.0, "what stays cleared is read again: {next:?}");
    let [done] = &cleared.turns[first].done[..] else { panic!("{:?}", cleared.turns[first].done) };
    assert!(done.what.starts_with("the provider clears ") && done.tokens_less > 30_000, "{done:?}");
    let ([keep, anew], all) =
        (["provider:keep=9", "provider:lasting=false"].map(|name| provided(&recording, name)), 61);
    assert!(keep.turns[all - 1].reading.prompt() > provided(&recording, "provider").turns[all - 1].reading.prompt());
    let changes = events(&anew);
    assert_eq!(changes.len(), all - changes[0], "each request is cleared anew, so each clears one more result");
    assert!(anew.turns[all - 1].reading.read < 22_000.0, "and nothing behind it is read: {:?}", anew.turns[all - 1]);
}

#[test]
fn fewer_clearings_that_remove_more_cost_less() {
    let recording = recording(120);
    let often = provided(&recording, "provider:trigger=60000:keep=15");
    let seldom = provided(&recording, "provider:trigger=60000:keep=5:at_least=30000");
    assert!(events(&often).len() > 3 * events(&seldom).len(), "{:?} {:?}", events(&often), events(&seldom));
    assert!(bill(&often).0 > bill(&seldom).0 * 1.3);
    let by_ctx = provided(&recording, "provider-ctx");
    let share = bill(&by_ctx).0 / bill(&played(&recording, Nothing)).0;
    assert!(share < 1.0, "{share}");
    let inputs = provided(&recording, "provider:inputs=true");
    assert!(inputs.turns[120].reading.prompt() < provided(&recording, "provider").turns[120].reading.prompt());
}

#[test]
fn cleared_thinking_makes_requests_smaller_and_breaks_the_cache_each_time() {
    let recording = session(&[Step { thinking: 900, ..STEP }; 40]);
    let none = played(&recording, Nothing);
    // One person's message: all of it is one turn.
    let by_turn = provided(&recording, "provider-thinking");
    assert!(events(&by_turn).is_empty() && by_turn.turns[39].reading == none.turns[39].reading);
    let by_message = provided(&recording, "provider-thinking:by_message=true:thinking=3");
    assert_eq!(events(&by_message), (4..40).collect::<Vec<usize>>());
    let last = &by_message.turns[39].reading;
    assert!(last.prompt() < none.turns[39].reading.prompt() - 30.0 * 900.0, "{last:?}");
    // The cache has nothing behind the oldest thinking that was there one request earlier.
    assert!(last.written > none.turns[39].reading.written * 3.0, "{last:?}");
    assert!(bill(&by_message).0 > bill(&none).0, "so it costs more than it saves");
    // If the cache found any beginning, only what stands behind the cleared thinking would be written again.
    let anywhere = provided(&recording, "provider-thinking:by_message=true:thinking=3:anywhere=true");
    let best = &anywhere.turns[39].reading;
    assert!(best.prompt() == last.prompt() && best.written < last.written / 2.0, "{best:?}");
    assert!(best.written > none.turns[39].reading.written, "{best:?}");
}
