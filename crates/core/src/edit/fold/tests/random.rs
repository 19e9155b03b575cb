//! Random conversations, operations and client behaviour.

use super::*;
use crate::ErrorCode;
use crate::edit::history::{CommitId, How};
use crate::edit::layout::layout;
use crate::edit::operation::{Operation, Select, Where};
use crate::edit::{Cover, Refusal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::HashSet;

type Event = (u8, u32, u32, u32);

fn grow(mut talk: Talk, seed: u32, count: u32) -> Talk {
    let mut seed = seed;
    talk = talk.arrived();
    for _ in 0..count {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let dice = (seed >> 16) % 12;
        let last = talk.messages.last().map(|message| message.role);
        talk = match (last, dice) {
            (None, _) | (Some(Role::Assistant), 0..=4) if !talk.has_open_calls() => talk.human(),
            (Some(Role::Assistant), 0..=8) if talk.has_open_calls() => talk.results_of(seed % 5000),
            (Some(Role::Assistant), 9) if talk.has_open_calls() => talk.results_and_text(),
            (Some(Role::Assistant), 5) => talk.reminder(),
            (Some(Role::Assistant), 6) => talk.empty(Role::User),
            (Some(Role::Assistant), 7) => talk.says(),
            (Some(Role::Assistant), _) => talk.empty(Role::Assistant),
            (Some(Role::System), 0) => talk.system(),
            (_, 0) => talk.system(),
            (_, 1) => talk.empty(Role::Assistant),
            (_, 2..=5) => talk.calls(&["Read"]),
            (_, 6 | 7) => talk.calls(&["Bash", "Read", "Edit"]),
            _ => talk.says(),
        };
    }
    if seed.is_multiple_of(3) && talk.messages.last().is_some_and(|message| message.role == Role::Assistant) {
        talk = talk.pending();
    }
    talk
}

/// A random operation on existing content.
fn operation(bench: &Bench, (kind, a, b, c): Event) -> Option<Operation> {
    bench.view(|source, view| {
        let pick = |seed: u32| (!view.frames.is_empty()).then(|| seed as usize % view.frames.len());
        let name = |at: usize| view.frames[at].id.to_string();
        let (one, two) = (pick(a)?, pick(b)?);
        let laid = layout(view, &view.frames[one], source.messages);
        let part = || {
            let number = laid.groups.get(c as usize % laid.groups.len().max(1))?.number;
            let steps = laid.steps.max(1);
            let from = c as usize % steps + 1;
            let blocks: Vec<usize> = laid
                .of(|group| group.number == number)
                .iter()
                .filter_map(|laid| match laid.unit {
                    Unit::Source { block, .. } => block,
                    Unit::Made(_) => None,
                })
                .collect();
            Some(match b % 5 {
                0 if laid.steps > 0 => format!("{}/{from}", name(one)),
                1 if laid.steps > 0 => format!("{}/{from}..{}", name(one), (from + b as usize / 5 % 3).min(steps)),
                2 => format!("{}#{number}", name(one)),
                3 if !blocks.is_empty() => format!("{}#{number}.{}", name(one), blocks[c as usize % blocks.len()]),
                _ => name(one),
            })
        };
        let part = part()?;
        let to: Where = match c % 4 {
            0 => start(),
            1 => end(),
            _ => after(&name(two)),
        };
        let select = Select {
            tool: (c % 3 == 0).then(|| TOOLS[c as usize % 3].to_owned()),
            larger_than: (c % 5 == 0).then_some(u64::from(c % 2000)),
            older_than: (c % 7 == 0).then_some(c as usize % 4),
            superseded: c % 11 == 0,
            calls: Vec::new(),
        };
        let text = format!("text {c}");
        Some(match kind % 18 {
            0 | 1 => delete(&part),
            2 | 3 => edit(&part, &text),
            4 | 5 => compact(&part, &text),
            6 => offload(&part),
            7 => restore(&part),
            8 | 9 => shift(&if b.is_multiple_of(3) { format!("{},{}", name(one), name(two)) } else { name(one) }, to),
            10 => add(&text, to),
            11 => combine(&format!("{},{}", name(one), name(two))),
            12 => {
                let at = laid.groups.iter().map(|group| group.number).nth(c as usize % laid.groups.len().max(1));
                let each_step = b.is_multiple_of(2);
                let at = if each_step { vec![] } else { at.into_iter().collect() };
                Operation::Split { id: name(one), at, at_step: vec![], each_step }
            }
            13 => drop_results(if b.is_multiple_of(2) && !select.is_empty() { "" } else { &part }, select),
            14 => Operation::SummarizeResults { ids: ids(&part), select, result: None, text: Some(text) },
            15 => Operation::Delete {
                ids: if b.is_multiple_of(2) { vec![] } else { ids(&part) },
                select: Select { larger_than: Some(u64::from(c % 900)), ..select },
                force: false,
            },
            16 => [retitle(&name(one), &text), pin(&name(one)), Operation::Unpin { ids: ids(&name(one)) }]
                [c as usize % 3]
                .clone(),
            _ => [delete("system#2"), edit("system", &text), delete("tools/Bash"), delete("system#4")][c as usize % 4]
                .clone(),
        })
    })
}

/// All units in order; messages by key, because positions change.
fn order(bench: &Bench) -> Vec<(String, bool)> {
    let of = |laid: &ViewUnit| match laid.unit {
        Unit::Source { message, block } => format!("{} {block:?}", bench.talk.messages[message].key),
        Unit::Made(made) => format!("{made:?}"),
    };
    let frames = bench.picture().frames;
    frames.iter().flat_map(|frame| frame.units.iter().map(|laid| (of(laid), laid.covered.is_some()))).collect()
}

fn check(bench: &Bench) -> Result<(), TestCaseError> {
    prop_assert_eq!(bench.picture(), bench.picture());
    bench.view(|source, view| {
        let blocks: Vec<(usize, Option<usize>)> = source
            .messages
            .iter()
            .enumerate()
            .flat_map(|(at, message)| match message.blocks.len() {
                0 => vec![(at, None)],
                count => (0..count).map(|block| (at, Some(block))).collect(),
            })
            .collect();
        let restored: HashSet<EffectId> = view
            .effects()
            .filter_map(|(_, effect)| match effect {
                Effect::Restore { effects } => Some(effects.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        // The targets of all active effects, in the simplest definition.
        let mut named: HashSet<(usize, Option<usize>)> = HashSet::new();
        for (_, effect) in view.effects().filter(|(id, _)| !restored.contains(id)) {
            let Effect::Replace { covers, .. } = effect else { continue };
            for cover in covers {
                let Cover::Blocks(covered) = cover else { continue };
                let effect::CoveredBlocks { of, key, blocks } = &**covered;
                let at = match of {
                    MessageRef::Slot(slot) => source.slots.iter().position(|other| other == slot),
                    MessageRef::Reply { after, .. } => {
                        let place = |slot: &SlotId| source.slots.iter().position(|other| other == slot);
                        let is_said = |at: &usize| source.messages[*at].role != Role::System;
                        let is_same = |at: &usize| source.messages[*at].key == *key;
                        let has_call = |at: &usize| blocks.iter().any(|named| has_id(source.messages[*at], &named.id));
                        let mut all = 0..source.messages.len();
                        match place(after) {
                            Some(at) => all.skip(at + 1).find(is_said),
                            None => {
                                let mut known = source.replies.after(*after).iter().filter_map(place);
                                known.find(is_same).or_else(|| all.find(has_call))
                            }
                        }
                    }
                };
                let Some(facts) = at.and_then(|at| source.messages.get(at)) else { continue };
                let at = at.unwrap_or_default();
                if facts.key == *key {
                    named.extend(blocks.iter().map(|block| (at, Some(block.at as usize))));
                } else if matches!(of, MessageRef::Slot(_)) || blocks.iter().any(|named| has_id(facts, &named.id)) {
                    let found = effect::find(blocks, facts, false);
                    named.extend(found.into_iter().map(|block| (at, Some(block as usize))));
                }
                if blocks.is_empty()
                    && facts.blocks.is_empty()
                    && !matches!(of, MessageRef::Reply { key, .. } if *key != facts.key)
                {
                    named.insert((at, None));
                }
            }
        }
        let mut units: HashSet<Unit> = HashSet::new();
        let mut ids = HashSet::new();
        let mut keys = HashSet::new();
        for frame in &view.frames {
            prop_assert!(ids.insert(frame.id.to_string()), "two are called {}", frame.id);
            prop_assert_eq!(frame.id.to_string().parse(), Ok(frame.id.clone()));
            prop_assert!(keys.insert(frame.key), "two keys {:?}", frame.key);
            let laid = layout(view, frame, source.messages);
            prop_assert!(!laid.units.is_empty(), "{} is empty", frame.id);
            prop_assert_eq!(laid.groups.iter().map(|group| group.units.len()).sum::<usize>(), laid.units.len());
            frame.chips(view, &laid.units);
            for one in laid.units {
                prop_assert!(units.insert(one.unit), "{:?} lies in two places", one.unit);
                match one.unit {
                    Unit::Source { message, block } => {
                        prop_assert_eq!(one.covered.is_some(), named.contains(&(message, block)), "{:?}", one);
                    }
                    Unit::Made(made) => prop_assert!(view.made(made).is_some() && view.status(made.effect).awake),
                }
            }
        }
        for (message, block) in blocks {
            prop_assert!(units.contains(&Unit::Source { message, block }), "{}.{:?} lies nowhere", message, block);
        }
        // Synthetic content is present, unless the content it replaces is not.
        for (effect, what) in view.effects().filter(|(id, _)| view.status(*id).awake) {
            let around = match what {
                Effect::Replace { covers, .. } => {
                    covers.iter().all(|cover| matches!(cover, Cover::System { .. } | Cover::Tool { .. }))
                }
                _ => false,
            };
            for message in 0..what.made().len() as u32 {
                let there = units.contains(&Unit::Made(NewMessageId { effect, message }));
                prop_assert_eq!(there, !around, "{:?} {}", what, message);
            }
        }
        let as_it_came = order(bench).iter().all(|(_, covered)| !covered)
            && view
                .frames
                .iter()
                .flat_map(|frame| view.units(frame, source.messages))
                .map(|laid| laid.unit)
                .eq(blocks_of(source).into_iter().map(|(message, block)| Unit::Source { message, block }))
            && view
                .frames
                .iter()
                .flat_map(|frame| view.units(frame, source.messages))
                .all(|laid| laid.result.is_none())
            && view.system.iter().chain(&view.tools).all(|here| here.covered.is_none());
        prop_assert_eq!(view.is_untouched(), as_it_came);
        prop_assert_eq!(sent(source, view), sent(source, &deciding(source, view)));
        Ok(())
    })
}

fn has_id(facts: &Message, id: &Option<Box<str>>) -> bool {
    id.is_some() && facts.blocks.iter().any(|block| block.tool_use_id.as_deref() == id.as_deref())
}

fn blocks_of(source: &Source<'_>) -> Vec<(usize, Option<usize>)> {
    let blocks = |(at, message): (usize, &&Message)| -> Vec<_> {
        match message.blocks.len() {
            0 => vec![(at, None)],
            count => (0..count).map(|block| (at, Some(block))).collect(),
        }
    };
    source.messages.iter().enumerate().flat_map(blocks).collect()
}

/// Refusals that are legitimate for existing targets.
fn is_fair(refusal: &Refusal) -> bool {
    const FAIR: [ErrorCode; 16] = [
        ErrorCode::NothingToDo,
        ErrorCode::Gone,
        ErrorCode::CutsAPair,
        ErrorCode::BadCut,
        ErrorCode::NoCut,
        ErrorCode::NotFirst,
        ErrorCode::Nowhere,
        ErrorCode::Thinking,
        ErrorCode::NotText,
        ErrorCode::ManyResults,
        ErrorCode::Protected,
        ErrorCode::NoResults,
        ErrorCode::NoMatch,
        ErrorCode::NotOffloaded,
        ErrorCode::TooFew,
        ErrorCode::NotATurn,
    ];
    FAIR.contains(&refusal.code)
}

/// Plays events. Returns the numbers of granted and refused operations.
fn play(first: (u32, u32), events: Vec<Event>) -> Result<(usize, usize), TestCaseError> {
    let mut bench = Bench::new(grow(Talk::default(), first.0, first.1));
    let mut left: Vec<Talk> = Vec::new();
    let (mut granted, mut refused) = (0, 0);
    check(&bench)?;
    for event @ (kind, a, b, c) in events {
        let before = bench.picture();
        let commits: Vec<CommitId> =
            bench.history.active(bench.history.head()).iter().map(|commit| commit.id).collect();
        match kind % 32 {
            // The client sends more.
            18..=21 => {
                let earlier = order(&bench);
                bench.talk = grow(bench.talk.clone(), a, b % 5 + 1);
                check(&bench)?;
                let now = order(&bench);
                prop_assert!(now.starts_with(&earlier), "{:#?}\n became\n{:#?}", earlier, now);
                prop_assert!(now[earlier.len()..].iter().all(|(_, covered)| !covered));
            }
            // It rewinds and continues, or returns.
            22 => {
                left.push(bench.talk.clone());
                let to = a as usize % (bench.talk.messages.len() + 1);
                let next = bench.talk.next + 100;
                bench.talk = bench.talk.clone().rewind(to);
                check(&bench)?;
                bench.talk = left[left.len() - 1].clone();
                prop_assert_eq!(&bench.picture(), &before);
                bench.talk = Talk { next, ..bench.talk.rewind(to) };
            }
            23 => {
                if let Some(talk) = left.pop() {
                    let next = bench.talk.next.max(talk.next) + 100;
                    left.insert(0, std::mem::replace(&mut bench.talk, Talk { next, ..talk }));
                }
            }
            // It rewrites a message, or replaces the beginning with its own summary.
            30 if !bench.talk.messages.is_empty() => {
                let count = bench.talk.messages.len();
                bench.talk.next += 1;
                let next = bench.talk.next;
                let message = &mut bench.talk.messages[a as usize % count];
                message.key = key(&format!("version {next}"));
                match message.blocks.len() {
                    0 => message.blocks.push(block(Kind::Other, 5)),
                    _ if b.is_multiple_of(3) => {
                        message.blocks.insert(0, block(Kind::Reminder, 5));
                        message.speaks = message.speaks.map(|from| from + 1);
                    }
                    blocks if message.speaks.is_none() && b % 3 == 1 => {
                        message.blocks.remove(c as usize % blocks);
                    }
                    blocks => message.blocks[c as usize % blocks].chars += 1,
                }
            }
            31 if !bench.talk.messages.is_empty() => {
                left.push(bench.talk.clone());
                let kept = a as usize % bench.talk.messages.len();
                let old = bench.talk.clone();
                let mut talk = Talk { next: old.next + 100, ..Talk::default() }.human();
                talk.slots.extend(&old.slots[kept..]);
                talk.messages.extend(old.messages[kept..].iter().cloned());
                bench.talk = Talk { open: old.open, replies: old.replies, ..talk };
            }
            24..=26 if !commits.is_empty() => {
                let pick = commits[a as usize % commits.len()];
                bench.revert(pick);
                check(&bench)?;
                if b.is_multiple_of(2) {
                    bench.undo();
                    prop_assert_eq!(&bench.picture(), &before);
                }
            }
            27 if !commits.is_empty() => {
                let (one, two) = (commits[a as usize % commits.len()], commits[b as usize % commits.len()]);
                let both = |order: [CommitId; 2]| {
                    let mut bench = bench.clone();
                    for commit in order {
                        if let Ok(commits) = bench.history.revert(commit, true) {
                            bench.switch_off(commits, How::Revert);
                        }
                    }
                    bench.picture()
                };
                let is_edit = |id| {
                    bench
                        .history
                        .get(id)
                        .is_some_and(|commit| matches!(commit.change, crate::edit::history::Change::Edit { .. }))
                };
                if is_edit(one) && is_edit(two) {
                    prop_assert_eq!(both([one, two]), both([two, one]));
                }
            }
            28 if !commits.is_empty() => {
                let to = commits[a as usize % commits.len()];
                if let Ok(commits) = bench.history.rollback(Some(to)) {
                    bench.switch_off(commits, How::Rollback);
                }
            }
            29 => {
                let mut parts = vec![(b as u8, c, a, b), (a as u8, b, c, a)];
                match bench.batch(|so_far| parts.pop().and_then(|event| operation(so_far, event))) {
                    Ok(Some(_)) => {
                        check(&bench)?;
                        bench.undo();
                        prop_assert_eq!(&bench.picture(), &before);
                        let redo = bench.history.redo().expect("an undo");
                        bench.switch_off(vec![redo], How::Redo);
                    }
                    Ok(None) => {}
                    Err(refusal) => prop_assert!(is_fair(&refusal), "{}: {}", refusal.code, refusal),
                }
            }
            _ => {
                let Some(operation) = operation(&bench, event) else { continue };
                match bench.apply(&operation) {
                    Ok(_) => {
                        granted += 1;
                        check(&bench)?;
                        let mut undone = bench.clone();
                        undone.undo();
                        prop_assert_eq!(&undone.picture(), &before, "{:?}", operation);
                    }
                    Err(refusal) => {
                        refused += 1;
                        prop_assert!(is_fair(&refusal), "{:?}: {}: {}", operation, refusal.code, refusal);
                    }
                }
            }
        }
        check(&bench)?;
    }
    Ok((granted, refused))
}

proptest! {
    #[test]
    fn anything_composes(
        first in (any::<u32>(), 1..30u32),
        events in proptest::collection::vec((any::<u8>(), any::<u32>(), any::<u32>(), any::<u32>()), 1..40),
    ) {
        play(first, events)?;
    }
}

#[test]
fn most_operations_are_granted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let events = proptest::collection::vec((0..16u8, any::<u32>(), any::<u32>(), any::<u32>()), 12);
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..60 {
        let events = events.new_tree(&mut runner).expect("a value").current();
        let (yes, no) = play((seed * 977, 12 + seed % 20), events).expect("composes");
        granted += yes;
        refused += no;
    }
    assert!(granted > refused, "{granted} granted, {refused} refused");
}
