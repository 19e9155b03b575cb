//! The proof of the product: a simulation in process with clients, a random editor, and a strict provider that binds
//! thinking. It must accept every request.
//!
//! `CTX_SEED=17 cargo test …` runs one sequence and tells its story. `CTX_LONG=1` runs 100,000 of them on Anthropic and
//! 30,000 in each other format, or as many as fit in `CTX_LONG_SECONDS`, with new seeds each time; `CTX_FIRST` repeats such
//! a run. `CTX_WORLDS` sets another number of sequences.

mod audit;
mod cache;
mod check;
mod client;
mod corpus;
mod eager;
mod editor;
mod faults;
mod lines;
mod looking;
mod net;
mod nothing;
mod regressions;
mod scripted;
mod spelling;
#[path = "../support/mod.rs"]
mod support;
mod tally;
mod words;
mod world;

use ctx_core::WireId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tally::Tally;
use testkit::{Random, first_seed, is_long};
use world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

struct Failure {
    steps: Vec<u64>,
    story: Vec<String>,
    what: String,
}

/// Lives through the steps.
fn run(wire: WireId, seed: u64, steps: &[u64], tally: &mut Tally) -> Result<(), Failure> {
    let mut world = World::new(wire, seed);
    for (at, step) in steps.iter().enumerate() {
        let outcome = catch_unwind(AssertUnwindSafe(|| world.step(*step)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("panic: {}", text.unwrap_or_default()))
        });
        if let Err(what) = outcome {
            return Err(Failure { steps: steps[..=at].to_vec(), story: world.story, what });
        }
    }
    tally.add(&world.tally);
    Ok(())
}

/// The shortest part of a failing sequence that still fails, as far as a few tries find it.
fn shrink(wire: WireId, seed: u64, mut failure: Failure) -> Failure {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut size = failure.steps.len() / 2;
    while size > 0 {
        let mut from = 0;
        while from + size <= failure.steps.len() && Instant::now() < deadline {
            let mut fewer = failure.steps.clone();
            fewer.drain(from..from + size);
            match run(wire, seed, &fewer, &mut Tally::default()) {
                Err(smaller) if smaller.steps.len() < failure.steps.len() => failure = smaller,
                _ => from += size,
            }
        }
        size /= 2;
    }
    failure
}

fn steps(seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed ^ 0x5eed);
    (0..random.between(6, 45)).map(|_| random.number()).collect()
}

fn judge(wire: WireId, seed: u64, tally: &mut Tally) {
    if let Err(failure) = run(wire, seed, &steps(seed), tally) {
        let count = failure.steps.len();
        let failure = shrink(wire, seed, failure);
        panic!(
            "{}, CTX_SEED={seed}, {count} steps, shrunk to {}:\n{}\n{}",
            wire.name(),
            failure.steps.len(),
            failure.story.join("\n"),
            failure.what
        );
    }
}

/// Long runs found a defect with each of these seeds.
#[test]
fn what_long_runs_found_stays_mended() {
    for seed in [
        607_432_646,
        35_000_465,
        45_001_158,
        55_002_240,
        65_002_124,
        65_008_808,
        82_006_768,
        300_017_401,
        400_015_662,
        500_000_137,
        500_200_043,
        600_010_380,
        600_208_290,
        910_000_097,
    ] {
        judge(WireId::Anthropic, seed, &mut Tally::default());
    }
    judge(WireId::OpenaiChat, 21_001_825, &mut Tally::default());
    judge(WireId::OpenaiResponses, 21_002_200, &mut Tally::default());
    judge(WireId::Gemini, 21_001_044, &mut Tally::default());
}

/// Sequences with clients of this format.
fn worlds(wire: WireId, few: u64, many: u64) {
    let mut tally = Tally::default();
    if let Some(seed) = number("CTX_SEED") {
        return judge(wire, seed, &mut tally);
    }
    let seconds = number("CTX_LONG_SECONDS").unwrap_or(if is_long() { u64::MAX / 4 } else { 40 });
    let most = number("CTX_WORLDS").unwrap_or(if is_long() { many } else { few });
    let first = first_seed();
    let start = Instant::now();
    let mut count = 0;
    while count < most && start.elapsed().as_secs() < seconds {
        judge(wire, first + count, &mut tally);
        count += 1;
        if count % 1_000 == 0 && is_long() {
            println!("{}: {count} sequences in {:?}", wire.name(), start.elapsed());
        }
    }
    println!("{}: {count} sequences in {:?}\n{tally:#?}", wire.name(), start.elapsed());
    assert!(count < 100 || tally.composed > count, "{}: too little is edited: {tally:#?}", wire.name());
}

#[test]
fn everything_is_accepted() {
    worlds(WireId::Anthropic, 1_000, 100_000);
}

#[test]
fn servers_of_chat_completions_accept_everything() {
    worlds(WireId::OpenaiChat, 300, 30_000);
}

#[test]
fn the_responses_api_accepts_everything() {
    worlds(WireId::OpenaiResponses, 300, 30_000);
}

#[test]
fn the_gemini_api_accepts_everything() {
    worlds(WireId::Gemini, 300, 30_000);
}
