//! Recorded conversations as beginnings, where there are any: they stay where they are.

use crate::client::Client;
use crate::tally::Tally;
use crate::world::World;
use serde_json::Value;
use testkit::{Random, first_seed, is_long, recorded_conversations};

#[test]
fn recorded_conversations_go_on_under_edits() {
    // A debug build reads large ones slowly.
    let most = if is_long() { usize::MAX } else { 150_000 };
    let rounds = if is_long() { 10 } else { 1 };
    let first = first_seed();
    let (mut count, mut tally) = (0, Tally::default());
    for (name, body) in recorded_conversations().into_iter().filter(|(_, body)| body.len() < most) {
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        for round in first..first + rounds {
            let mut random = Random::new(round ^ 0xc0de);
            let client = Client::recorded(&body, &mut random);
            let mut world = World::with(round, client);
            if count % 2 == 1 {
                world.automate();
            }
            let steps = if is_long() { 40 } else { 10 };
            for step in std::iter::once(0).chain((1..steps).map(|_| random.number())) {
                let outcome = if step == 0 { world.begin() } else { world.step(step) };
                if let Err(what) = outcome {
                    panic!(
                        "{name}, CTX_FIRST={round}:\n{}\n{}",
                        world.story.join("\n"),
                        what.chars().take(5000).collect::<String>()
                    );
                }
            }
            count += 1;
            tally.add(&world.tally);
        }
    }
    println!("{count} sequences on recorded conversations\n{tally:#?}");
}
