//! The error rates of the matcher.
//!
//! A simulated client keeps its true history, renders it to exact request bytes and does to it all
//! that clients do. A *sighting* is one message in one request. A *leak* is a sighting of a known
//! message in another slot than its first: an edit on it would be lost. A *swallow* is a sighting
//! in a slot that was made for another message: an edit on that one would hit it. Both are counted
//! at every sighting, not only at the first, so one that lasts is counted again and again.
//!
//! `formats` measures the same with recorded conversations of Codex, opencode and Gemini CLI.
//!
//! `CTX_LONG=1` runs many more conversations, `CTX_SEED=17` only that one and prints its requests.

#[path = "recognise/behaviour.rs"]
mod behaviour;
#[path = "recognise/client.rs"]
mod client;
#[path = "recognise/corpus.rs"]
mod corpus;
#[path = "recognise/formats.rs"]
mod formats;
#[path = "recognise/history.rs"]
mod history;
#[path = "recognise/random.rs"]
mod random;
#[path = "recognise/render.rs"]
mod render;
#[path = "recognise/rewriting.rs"]
mod rewriting;
#[path = "recognise/tally.rs"]
mod tally;
#[path = "recognise/watch.rs"]
mod watch;

use behaviour::{APPENDING, Behaviour, MIX, Nature};
use client::Client;
use proptest::prelude::*;
use random::Random;
use tally::Tally;
use watch::Watch;

const LEAKS: f64 = 30.0;
const SWALLOWS: f64 = 2.0;

fn long() -> bool {
    testkit::is_long()
}

fn seeds(short_run: u64, long_run: u64) -> std::ops::Range<u64> {
    match std::env::var("CTX_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..if long() { long_run } else { short_run },
    }
}

fn converse(seed: u64, behaviours: usize, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let nature = Nature::any(&mut random);
    let script: Vec<Behaviour> = (0..behaviours).map(|_| Behaviour::any(&mut random)).collect();
    let mut client = Client::new(nature, random);
    let mut watch = Watch::new(format!("seed {seed}"), tally);
    watch.traces = std::env::var_os("CTX_SEED").is_some();
    script.into_iter().for_each(|behaviour| client.act(behaviour, &mut watch));
    watch.restart();
}

#[test]
fn all_that_clients_do_stays_within_thirty_leaks_and_two_swallows_in_ten_thousand_sightings() {
    let mut tally = Tally::default();
    seeds(60, 1500).for_each(|seed| converse(seed, 30, &mut tally));
    tally.assert_at_most(LEAKS, SWALLOWS);
}

#[test]
fn append_only_traffic_loses_nothing_and_takes_nothing() {
    let mut tally = Tally::default();
    for seed in seeds(25, 500) {
        let mut random = Random::new(seed);
        let nature = Nature { moving_notice: false, ..Nature::any(&mut random) };
        let script: Vec<Behaviour> = (0..20).map(|_| *random.pick(&APPENDING)).collect();
        let mut client = Client::new(nature, random);
        let mut watch = Watch::new(format!("append-only seed {seed}"), &mut tally);
        script.into_iter().for_each(|behaviour| client.act(behaviour, &mut watch));
    }
    tally.assert_at_most(0.0, 0.0);
}

#[test]
fn recorded_conversations_replayed_turn_by_turn_lose_nothing_and_take_nothing() {
    let mut tally = Tally::default();
    for conversation in corpus::conversations() {
        let mut watch = Watch::new(conversation.name.clone(), &mut tally);
        conversation.replay(&mut watch);
        watch.restart();
    }
    tally.assert_at_most(0.0, 0.0);
}

#[test]
fn recorded_conversations_survive_all_that_clients_do() {
    let mut tally = Tally::default();
    let (rounds, length) = if long() { (20, 300) } else { (1, 40) };
    for (seed, conversation) in corpus::conversations().iter().cycle().enumerate().take(48 * rounds) {
        let mut random = Random::new(seed as u64);
        let nature = Nature::any(&mut random);
        let script: Vec<Behaviour> = (0..12).map(|_| Behaviour::any(&mut random)).collect();
        let mut client = Client::new(nature, random);
        conversation.recall(&mut client, length);
        let mut watch = Watch::new(format!("{} seed {seed}", conversation.name), &mut tally);
        client.turn(&mut watch, watch::Expect::Plain);
        script.into_iter().for_each(|behaviour| client.act(behaviour, &mut watch));
        watch.restart();
    }
    tally.assert_at_most(LEAKS, SWALLOWS);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if long() { 2000 } else { 60 }) })]

    /// Whatever the client does, in whatever order: each slot stands once on a path, nothing is
    /// counted twice, the log gives the same tree, and the verdict is right where the wire tells.
    #[test]
    fn any_sequence_of_behaviours_keeps_the_tree_in_order(
        seed in any::<u64>(),
        script in proptest::collection::vec(prop::sample::select(MIX.map(|(behaviour, _)| behaviour).to_vec()), 1..8),
    ) {
        let mut tally = Tally::default();
        let mut random = Random::new(seed);
        let mut client = Client::new(Nature::any(&mut random), random);
        let mut watch = Watch::new(format!("{script:?} with seed {seed}"), &mut tally);
        watch.replays = true;
        script.iter().for_each(|&behaviour| client.act(behaviour, &mut watch));
        prop_assert!(tally.wrong_verdicts.is_empty(), "{:?}", tally.wrong_verdicts);
    }
}
