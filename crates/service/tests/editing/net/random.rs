//! Random sequences with fixed seeds: every body that left, and after every step all that can be seen of each
//! conversation.

use super::golden;
use super::trace::Trace;
use crate::steps;
use crate::world::World;
use ctx_core::WireId;
use testkit::is_long;

/// Sequences in one line of the net.
const BLOCK: u64 = 50;
/// All sequences, and every which block is looked at if it has to be quick.
const SEEDS: u64 = 2_000;
const QUICK: usize = 20;

#[test]
fn random_sequences_leave_the_same_bodies() {
    let blocks = (0..SEEDS).step_by(BLOCK as usize).step_by(if is_long() { 1 } else { QUICK });
    let blocks: Vec<(String, u64)> = blocks.map(|first| (format!("{first:04}..{:04}", first + BLOCK), first)).collect();
    golden::compare("random.txt", &blocks, |name, first| {
        let mut trace = Trace::of(name);
        (*first..first + BLOCK).for_each(|seed| trace = sequence(seed, std::mem::take(&mut trace)));
        trace.finish()
    });
}

fn sequence(seed: u64, mut trace: Trace) -> Trace {
    trace.text("sequence", seed.to_string());
    let mut world = World::new(WireId::Anthropic, seed);
    trace.hide(&world.home(), "HOME");
    world.trace = Some(trace);
    for step in steps(seed) {
        if let Err(what) = world.step(step) {
            panic!("CTX_SEED={seed}:\n{}\n{what}", world.story.join("\n"));
        }
        let mut trace = world.trace.take().expect("there");
        trace.text("tally", format!("{:?}", world.tally));
        for talk in &world.talks {
            let Some(name) = &talk.conversation else { continue };
            trace.composed(world.service(), name);
            trace.frames(world.service(), name);
        }
        world.trace = Some(trace);
    }
    let mut trace = world.trace.take().expect("there");
    for name in world.talks.iter().filter_map(|talk| talk.conversation.as_ref()) {
        trace.history(world.service(), name);
        trace.verdicts(world.service(), name);
    }
    trace
}
