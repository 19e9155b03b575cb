//! A hundred web searches: most results are never needed again.

use ctx_core::policy::Auto;
use ctx_lab::policies::Nothing;

#[test]
fn a_long_search_ends_with_a_smaller_context_within_the_account() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("search.json");
    std::fs::write(&file, testkit::searching(100).to_string()).expect("written");
    let recording = ctx_lab::recording::read(&[file]).recordings.remove(0);
    let (none, auto) = (crate::played(&recording, Nothing), crate::played(&recording, Auto::default()));
    assert_eq!(none.turns.len(), 101);
    let last = |played: &ctx_lab::replay::PlayOutcome| played.turns.last().expect("a turn").reading.prompt();
    let (before, after) = (last(&none), last(&auto));
    println!("{before:.0} tokens at the end, {after:.0} with the automatic editor");
    // The ten newest results stay, so the first edit is dear: the account allows it late.
    assert!(before > 300_000.0 && after < 0.95 * before, "{before} {after}");
    let cost = |played: &ctx_lab::replay::PlayOutcome| played.turns.iter().map(|turn| turn.input_cost).sum::<f64>();
    assert!(cost(&auto) <= 1.02 * cost(&none), "{} {}", cost(&auto), cost(&none));
    let harmed = auto.turns.iter().filter(|turn| !turn.missed.is_empty()).count();
    assert!(harmed * 100 <= auto.turns.len(), "{harmed} of {} steps", auto.turns.len());
}
