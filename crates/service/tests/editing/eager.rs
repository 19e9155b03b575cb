//! An editor that changes results and calls by itself, whenever it likes: what it wants of a call, and when, is decided by
//! the call's id and age alone, so the same request is edited the same way twice.

use ctx_core::policy::{Item, Look, Policy, Proposal};

pub struct Eager;

impl Policy for Eager {
    fn name(&self) -> &str {
        "eager"
    }

    fn about(&self) -> &str {
        "takes what it likes"
    }

    fn propose(&self, look: &Look<'_>) -> Vec<Proposal> {
        let dice = |item: &Item| item.call.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte));
        let old = |item: &&Item| look.age(item) > dice(item) as usize % 4;
        let mut proposed = Vec::new();
        for item in look.items.iter().filter(old) {
            match dice(item) / 4 % 5 {
                0 if !item.cleared => proposed.extend(Proposal::clear([item], "it is old")),
                1 if !item.cleared => proposed.extend(Proposal::shorten([item], "its names will do")),
                2 if !item.cleared => proposed.push(Proposal::instead(item, "as before".into(), "it says little")),
                3 if item.input.is_some() => proposed.push(Proposal::short_input(item, "its call is long")),
                _ => {}
            }
        }
        proposed
    }
}
