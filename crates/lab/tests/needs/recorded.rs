//! The recorded conversations next to the project.

use ctx_lab::needs::{Kind, Need, needs};
use ctx_lab::recording::read;
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;
use testkit::recorded_conversations;

#[test]
fn needs_of_recorded_conversations_point_backwards_and_are_plausible() {
    if recorded_conversations().is_empty() {
        return;
    }
    let gathered = read(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus")]);
    let started = Instant::now();
    let all: Vec<Vec<Need>> = gathered.recordings.iter().map(needs).collect();
    let took = started.elapsed();
    let mut counts: HashMap<Kind, (usize, usize)> = HashMap::new();
    let mut steps = 0;
    for (recording, needs) in gathered.recordings.iter().zip(&all) {
        let mut with: HashMap<Kind, Vec<usize>> = HashMap::new();
        for need in needs {
            let answer = recording.turns[need.turn].answer;
            assert!(!need.sources.is_empty() && need.sources.iter().all(|place| place.message < answer), "{need:?}");
            assert!(need.sources.is_sorted() && !need.text.is_empty(), "{need:?}");
            with.entry(need.kind).or_default().push(need.turn);
        }
        assert!(needs.is_sorted_by_key(|need| need.turn));
        let mut any: Vec<usize> = needs.iter().map(|need| need.turn).collect();
        any.dedup();
        steps += any.len();
        for (kind, mut turns) in with {
            let count = counts.entry(kind).or_default();
            count.0 += turns.len();
            turns.dedup();
            count.1 += turns.len();
        }
    }
    println!("needs and steps with one: {counts:?}; {steps} steps have needs; computed in {took:?}");
    let count = |kind| counts.get(&kind).copied().unwrap_or_default();
    // Nearly all of the 578 edits relied on something, most steps name something, and re-reads are rare.
    assert!((500..=578).contains(&count(Kind::Edit).1), "{counts:?}");
    assert!((2000..=3000).contains(&count(Kind::Name).1), "{counts:?}");
    assert!((10..=60).contains(&count(Kind::Reread).1), "{counts:?}");
}
