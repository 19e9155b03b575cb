//! The links between the items of a model's step. The provider looks up reasoning and its followers by id; items
//! without ids are not looked up (R20–R22).

use super::item::Item;
use crate::compose::dialect::Plan;
use crate::compose::{Input, Out, Repair};
use ctx_core::message::{Kind, Message, Role};
use std::collections::{HashMap, HashSet};

/// In every group that an operation changed, removes reasoning without its follower and cuts the ids of all other items
/// (R27).
pub(super) fn loosen(plan: &mut Plan<'_>) {
    drop_reasoning(plan);
    let cut = ids_to_cut(plan);
    if !cut.is_empty() {
        let what = format!("{} items beside a change lose their ids", cut.len());
        plan.repairs.push(Repair::new("R27", what));
        plan.restyled.extend(cut);
    }
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

/// The groups of the client's items: from a run of reasoning to the next run or border.
fn groups(input: &Input<'_>) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    let mut before: Option<&Message> = None;
    for (at, message) in input.messages.iter().enumerate() {
        let begins_run = is_reasoning(message) && !before.is_some_and(is_reasoning);
        let begins = begins_run || is_border(message) || before.is_none_or(is_border);
        match groups.last_mut().filter(|_| !begins) {
            Some(group) => group.end = at + 1,
            None => groups.push(at..at + 1),
        }
        before = Some(message);
    }
    groups
}

/// The index at which each unchanged client item is sent.
fn places(outs: &[Out]) -> HashMap<usize, usize> {
    let whole = outs.iter().enumerate().filter(|(_, out)| out.is_whole());
    whole.filter_map(|(at, out)| Some((out.source? as usize, at))).collect()
}

fn is_untouched(group: &std::ops::Range<usize>, places: &HashMap<usize, usize>) -> bool {
    let first = places.get(&group.start);
    first.is_some_and(|first| group.clone().zip(*first..).all(|(item, at)| places.get(&item) == Some(&at)))
}

/// Items of changed groups that are sent whole and have an id.
fn ids_to_cut(plan: &Plan<'_>) -> HashSet<u32> {
    let places = places(&plan.outs);
    let touched = groups(plan.input).into_iter().filter(|group| !is_untouched(group, &places));
    let sent = touched.flatten().filter(|item| places.contains_key(item));
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
    let mut stays: HashSet<usize> = HashSet::new();
    for group in groups(plan.input).into_iter().filter(|group| is_untouched(group, &places)) {
        stays.extend(group);
    }
    let mut gone: HashSet<usize> = HashSet::new();
    // From the end: an item of a run stays if the next sent item is of the same run and stays, or is the follower.
    for at in (0..plan.outs.len()).rev() {
        let Some(source) = plan.outs[at].source.map(|source| source as usize) else { continue };
        if !is_thought(source) || !plan.outs[at].is_whole() || stays.contains(&source) {
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
