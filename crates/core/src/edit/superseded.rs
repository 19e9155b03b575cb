//! Superseded effects: earlier edits of the same content, which no longer influence the request, because a later effect
//! covers everything that they cover and wrote.
//!
//! Editing one frame two hundred times leaves two hundred effects, each of which names all earlier ones. Only the last
//! determines the request. Whether an effect is superseded depends on the effects alone, not on the path, so it is
//! computed once per commit and not once per request.

use super::effect::{Cover, CoveredBlocks, Effect, EffectId, MessageRef, NewMessageId};
use crate::fast_map::{FastMap, FastSet};

/// A coverable unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    /// Blocks of this message.
    Blocks(MessageRef),
    Made(NewMessageId),
}

/// The effects among these, oldest first, that do not influence the request.
pub fn superseded(effects: &[(EffectId, &Effect)]) -> FastSet<EffectId> {
    let places: FastMap<EffectId, usize> = effects.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    let things: Vec<Option<Vec<Thing>>> = effects.iter().map(|(_, effect)| things(effect)).collect();
    let mut namers: FastMap<Thing, Vec<usize>> = FastMap::default();
    for (at, things) in things.iter().enumerate() {
        things.iter().flatten().for_each(|thing| namers.entry(*thing).or_default().push(at));
    }
    // Targets of other effects must stay, and deactivated effects supersede nothing.
    let others = effects.iter().filter(|(_, effect)| !matches!(effect, Effect::Replace { .. }));
    let needed: FastSet<EffectId> = others.flat_map(|(_, effect)| effect.needs()).collect();
    let mut gone: FastSet<usize> = FastSet::default();
    for (last, covered) in things.iter().enumerate().rev() {
        let is_left = !gone.contains(&last) && !needed.contains(&effects[last].0);
        let Some(covered) = covered.as_ref().filter(|_| is_left) else { continue };
        let known: FastSet<Thing> = covered.iter().copied().collect();
        let blocks: FastMap<MessageRef, &CoveredBlocks> = blocks(effects[last].1).map(|own| (own.of, own)).collect();
        // Everything that they write and cover is covered here.
        let earlier = covered.iter().filter_map(|thing| match thing {
            Thing::Made(made) => places.get(&made.effect).copied(),
            Thing::Blocks(_) => None,
        });
        let mut group: FastSet<usize> = earlier
            .filter(|&at| at < last && !gone.contains(&at) && !needed.contains(&effects[at].0))
            .filter(|&at| made(effects[at]).all(|made| known.contains(&made)))
            .filter(|&at| things[at].as_ref().is_some_and(|own| own.iter().all(|thing| known.contains(thing))))
            .filter(|&at| has_own_roles(effects[last].1) || has_no_role(effects[at].1))
            // The same blocks: in a message that the client has rewritten, others would be found.
            .filter(|&at| self::blocks(effects[at].1).all(|own| blocks.get(&own.of) == Some(&own)))
            .collect();
        // No remaining effect may refer to them: it would lose its place.
        loop {
            let names = |at: usize| things[at].iter().flatten().copied().chain(made(effects[at]));
            let is_alone = |thing: Thing| {
                let namers = namers.get(&thing).map(Vec::as_slice).unwrap_or_default();
                namers.iter().all(|at| *at == last || group.contains(at) || gone.contains(at))
            };
            let stays: Vec<usize> = group.iter().copied().filter(|&at| !names(at).all(is_alone)).collect();
            if stays.is_empty() {
                break;
            }
            group.retain(|at| !stays.contains(at));
        }
        gone.extend(group);
    }
    gone.into_iter().map(|at| effects[at].0).collect()
}

fn made<'e>((id, effect): (EffectId, &'e Effect)) -> impl Iterator<Item = Thing> + use<'e> {
    (0..effect.made().len() as u32).map(move |message| Thing::Made(NewMessageId { effect: id, message }))
}

/// Whether its messages have roles. Otherwise the role follows from the covered content, which must stay.
fn has_own_roles(effect: &Effect) -> bool {
    effect.made().iter().all(|made| made.role.is_some())
}

fn has_no_role(effect: &Effect) -> bool {
    effect.made().iter().all(|made| made.role.is_none())
}

fn blocks(effect: &Effect) -> impl Iterator<Item = &CoveredBlocks> {
    let covers = match effect {
        Effect::Replace { covers, .. } => covers.as_slice(),
        _ => &[],
    };
    covers.iter().filter_map(|cover| match cover {
        Cover::Blocks(covered) => Some(&**covered),
        _ => None,
    })
}

/// The units that a replacement covers; `None` for the system prompt, for tools, and for all other effects.
fn things(effect: &Effect) -> Option<Vec<Thing>> {
    let Effect::Replace { covers, .. } = effect else { return None };
    let mut things = Vec::with_capacity(covers.len());
    for cover in covers {
        match cover {
            Cover::Made(made) => things.push(Thing::Made(*made)),
            Cover::Blocks(covered) => things.push(Thing::Blocks(covered.of)),
            Cover::System { .. } | Cover::Tool { .. } => return None,
        }
    }
    Some(things)
}
