//! Whatever is done to whatever conversation, the provider accepts what comes out, what was covered is gone, and
//! what was not is there once, in its own bytes.
//!
//! `CTX_LONG=1` runs many more cases, new ones each time (`CTX_FIRST` repeats them), `CTX_SEED=17` only that one and
//! prints it.

#[path = "compose/effects.rs"]
mod effects;
#[path = "compose/judge.rs"]
mod judge;
#[path = "compose/talk.rs"]
mod talk;

use ctx_core::key::Key;
use ctx_core::message::Kind;
use judge::Case;
use std::collections::{HashMap, HashSet};
use talk::Talk;
use testkit::{Random, first_seed, is_long, recorded_conversations};

/// The seeds to run, and whether to print.
fn seeds(usual: u64) -> (std::ops::Range<u64>, bool) {
    match std::env::var("CTX_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()) {
        Some(seed) => (seed..seed + 1, true),
        None => {
            let first = first_seed();
            (first..first + if is_long() { usual * 80 } else { usual }, false)
        }
    }
}

#[test]
fn any_effects_on_any_conversation() {
    let (seeds, prints) = seeds(500);
    for seed in seeds {
        let mut random = Random::new(seed);
        let talk = Talk::new(&mut random);
        let mut body = talk.body();
        if random.chance(30) {
            let value: serde_json::Value = serde_json::from_str(&body).expect("JSON");
            body = serde_json::to_string_pretty(&value).expect("JSON");
        }
        let mut case = Case::read(body.clone().into_bytes());
        for _ in 0..random.between(1, 5) {
            let effect = effects::any(&mut random, &case);
            case.effects.push(effect);
        }
        if random.chance(60) {
            let prefixes = case.prefixes();
            case.written = prefixes.into_iter().filter(|_| random.chance(20)).collect();
        }
        if prints {
            println!("{body}\n{:#?}", case.effects);
        }
        case.judge(&format!("seed {seed}"), prints);
    }
}

/// A conversation that goes on under edits: what the model thinks after an edit stays as long as the edit does.
#[test]
fn thinking_follows_the_edits_it_was_produced_under() {
    let (seeds, prints) = seeds(60);
    for seed in seeds {
        let mut random = Random::new(seed);
        let mut talk = Talk::new(&mut random);
        talk.manual = false;
        let mut effects = Vec::new();
        let mut bound: Option<HashMap<Key, Key>> = None;
        let mut written: HashSet<Key> = HashSet::new();
        let mut changed = false;
        let mut kept = 0;
        for turn in 0..8 {
            let mut case = Case::read(talk.body().into_bytes());
            // What is older than we are was produced after the client's own prefix.
            case.bound = bound.get_or_insert_with(|| case.bound.clone()).clone();
            case.written = written.iter().copied().collect();
            if random.chance(30) {
                // Frames that move may take along what arrives later: that changes the prefix.
                effects.push(effects::in_place(&mut random, &case));
                changed = true;
            } else if random.chance(10) && effects.pop().is_some() {
                changed = true;
            }
            case.effects = effects.clone();
            let (text, composed) = case.judge(&format!("seed {seed}, turn {turn}"), prints);
            let thoughts = text.matches("\"type\":\"thinking\"").count();
            if !changed && turn > 0 {
                assert!(thoughts > kept, "seed {seed}, turn {turn}: {kept} thoughts were kept before, now {thoughts}");
            }
            kept = thoughts;
            // A message that we had to put at the end is not there next time.
            changed = composed.repairs.iter().any(|repair| matches!(repair.rule, "A1" | "A6"));
            written.extend(&composed.marks);
            let signature = talk.reply_to(&mut random, text.as_bytes());
            bound.get_or_insert_default().insert(signature, composed.prefix);
        }
    }
}

#[test]
fn any_effects_on_recorded_conversations() {
    let rounds = if is_long() { 40 } else { 1 };
    let first = first_seed();
    for (name, body) in recorded_conversations() {
        for round in first..first + rounds {
            let mut random = Random::new(round);
            let mut case = Case::read(body.clone());
            case.bound.clear();
            for _ in 0..random.between(1, 6) {
                let effect = effects::any(&mut random, &case);
                case.effects.push(effect);
            }
            case.judge(&format!("{name}, CTX_FIRST={round}"), false);
        }
    }
}

/// The size that the bench measures: many messages, and many operations among them.
#[test]
fn many_effects_on_a_long_tool_loop() {
    let mut case = Case::read(talk::large(3000, 5_000_000).into_bytes());
    // Its signatures are made up, so no thinking may stay.
    case.bound.clear();
    case.written = case.prefixes().into_iter().step_by(2).collect();
    let blocks = |kind: Kind, from: usize, each: usize| {
        let messages = case.facts.iter().enumerate().skip(from).step_by(each);
        let all = messages.flat_map(|(at, facts)| (0..facts.blocks.len()).map(move |block| (at, block)));
        all.filter(|(at, block)| case.facts[*at].blocks[*block].kind == kind).take(250).collect::<Vec<_>>()
    };
    let (results, calls) = (blocks(Kind::ToolResult, 20, 2), blocks(Kind::ToolUse, 1021, 4));
    assert_eq!((results.len(), calls.len()), (250, 250));
    case.effects = vec![effects::replace_results(&case, &results), effects::delete(&case, &calls)];
    let (text, _) = case.judge("a long tool loop", false);
    assert!(text.len() < 4_500_000, "{} bytes are left", text.len());
}
