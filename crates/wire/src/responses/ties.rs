//! The links between the items of a model's step. The provider looks up reasoning and its followers by id; items
//! without ids are not looked up (R20–R22).

use super::ids;
use super::item::Item;
use crate::compose::dialect::Plan;
use crate::compose::{Input, Out, Repair};
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::message::{Kind, Message, Role};

/// In every group that an operation changed, removes reasoning without its follower and cuts the ids of all other items
/// (R27).
pub(super) fn loosen(plan: &mut Plan<'_>) {
    drop_reasoning(plan);
    let cut = ids_to_cut(plan);
    plan.loosened += cut.len();
    plan.restyled.extend(cut);
}

/// Whether the step that ends before this message, or continues there, is changed. `None` if that depends on the
/// messages from this one on: the client may still send others.
pub(super) fn is_step_changed_before(plan: &Plan<'_>, message: usize) -> Option<bool> {
    let places = places(&plan.outs);
    let group = groups(plan).into_iter().find(|group| group.start < message && message <= group.end)?;
    let is_changed = !is_untouched(plan, &(group.start..message), &places);
    (is_changed || is_untouched(plan, &group, &places)).then_some(is_changed)
}

fn is_reasoning(message: &Message) -> bool {
    message.blocks.iter().any(|block| block.kind == Kind::Thinking)
}

/// Whether a message ends the previous step: the user, the client or another agent speaks.
fn is_border(message: &Message) -> bool {
    match message.role {
        Role::User => !message.has_results(),
        Role::System => message.blocks.iter().all(|block| block.kind != Kind::Other),
        Role::Assistant | Role::Other => false,
    }
}

/// Whether an item begins a group: a run of reasoning, or a message at a border.
fn begins_group(input: &Input<'_>, at: usize) -> bool {
    let Some(message) = input.messages.get(at) else { return true };
    let before = at.checked_sub(1).map(|before| input.messages[before]);
    let begins_run = is_reasoning(message) && !before.is_some_and(is_reasoning);
    begins_run || is_border(message) || before.is_none_or(is_border)
}

/// The groups of the client's items: from a run of reasoning to the next run or border. The first one may continue a
/// settled group.
fn groups(plan: &Plan<'_>) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for at in plan.from..plan.input.messages.len() {
        match groups.last_mut().filter(|_| !begins_group(plan.input, at)) {
            Some(group) => group.end = at + 1,
            None => groups.push(at..at + 1),
        }
    }
    groups
}

/// The groups that operations changed.
fn changed_groups(plan: &Plan<'_>, places: &FastMap<usize, usize>) -> Vec<std::ops::Range<usize>> {
    let continues = |group: &std::ops::Range<usize>| group.start == plan.from && !begins_group(plan.input, plan.from);
    let is_changed = |group: &std::ops::Range<usize>| {
        !is_untouched(plan, group, places) || (plan.from > 0 && plan.carried && continues(group))
    };
    groups(plan).into_iter().filter(is_changed).collect()
}

/// The index at which each unchanged client item is sent.
fn places(outs: &[Out]) -> FastMap<usize, usize> {
    let whole = outs.iter().enumerate().filter(|(_, out)| out.is_whole());
    whole.filter_map(|(at, out)| Some((out.source? as usize, at))).collect()
}

fn is_untouched(plan: &Plan<'_>, group: &std::ops::Range<usize>, places: &FastMap<usize, usize>) -> bool {
    if group.clone().any(|item| plan.input.messages.get(item).is_some_and(|message| ids::is_long(message))) {
        return false;
    }
    let first = places.get(&group.start);
    first.is_some_and(|first| group.clone().zip(*first..).all(|(item, at)| places.get(&item) == Some(&at)))
}

/// Items of changed groups that are sent whole and have an id.
fn ids_to_cut(plan: &Plan<'_>) -> FastSet<u32> {
    let places = places(&plan.outs);
    let sent = changed_groups(plan, &places).into_iter().flatten().filter(|item| places.contains_key(item));
    let has_id = |item: &usize| {
        let element = plan.input.body.message(*item);
        memchr::memmem::find(element, b"\"id\"").is_some() && Item::read(element).id_cut().is_some()
    };
    sent.filter(has_id).map(|item| item as u32).collect()
}

/// Removes reasoning whose follower is not sent directly behind it. Reasoning that the client itself sent without a
/// follower stays if nothing in its group changed.
fn drop_reasoning(plan: &mut Plan<'_>) {
    let messages = plan.input.messages;
    let is_thought = |at: usize| messages.get(at).is_some_and(|message| is_reasoning(message));
    let places = places(&plan.outs);
    let changed: FastSet<usize> = changed_groups(plan, &places).into_iter().flatten().collect();
    let continues = plan.from > 0 && !begins_group(plan.input, plan.from);
    // The settled part of the step has its ids.
    plan.reaches_back |= continues && !plan.carried && changed.contains(&plan.from);
    let mut gone: FastSet<usize> = FastSet::default();
    // From the end: an item of a run stays if the next sent item is of the same run and stays, or is the follower.
    for at in (0..plan.outs.len()).rev() {
        let Some(source) = plan.outs[at].source.map(|source| source as usize) else { continue };
        if !is_thought(source) || !plan.outs[at].is_whole() || !changed.contains(&source) {
            continue;
        }
        let follower = (source + 1..).find(|next| !is_thought(*next)).unwrap_or(source);
        let next = plan.outs.get(at + 1).and_then(|out| out.source).map(|next| next as usize);
        let is_followed = next.is_some_and(|next| {
            let is_follower = next == follower && messages.get(next).is_some_and(|message| !is_border(message));
            is_follower || (next > source && next < follower && !gone.contains(&(at + 1)))
        });
        if !is_followed {
            gone.insert(at);
        }
    }
    if gone.is_empty() {
        return;
    }
    let what = format!("{} items of reasoning go: what the model produced next is gone", gone.len());
    plan.repairs.push(Repair::new("R20", what));
    plan.reasoning_dropped += gone.len();
    let mut at = 0..;
    plan.outs.retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
}
