//! The messages and steps of a frame, as people count them.
//!
//! A message of the client's keeps its number whatever is done to it; what stands in its place has the same.

use super::effect::{Effect, MadeId};
use super::fold::{Frame, Laid, Unit, View};
use crate::message::{Message, Role};
use std::ops::Range;

/// Units that belong to one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its number in the frame, counted from 0.
    pub number: usize,
    /// The step it belongs to, counted from 1; 0 before the model's first move.
    pub step: usize,
    pub role: Role,
    /// The message of the path, if it is the client's.
    pub source: Option<usize>,
    pub made: Option<MadeId>,
    pub units: Range<usize>,
}

pub struct Layout {
    pub units: Vec<Laid>,
    pub groups: Vec<Group>,
    pub steps: usize,
}

pub fn layout(view: &View<'_>, frame: &Frame, messages: &[&Message]) -> Layout {
    let units = view.units(frame, messages);
    let mut groups: Vec<Group> = Vec::new();
    let mut next = 0;
    let mut steps = 0;
    let mut spoke = false;
    for (at, laid) in units.iter().enumerate() {
        match laid.unit {
            Unit::Source { message, .. } => {
                if let Some(group) = groups.last_mut().filter(|group| group.source == Some(message)) {
                    group.units.end = at + 1;
                    continue;
                }
                let before = groups.iter().rev().find(|group| group.source.is_some());
                let role = messages[message].role;
                // A message torn apart by what stands in the place of one of its blocks is still one.
                let torn = before.is_some_and(|group| group.source == Some(message));
                if !torn {
                    steps += usize::from(role == Role::Assistant && !spoke);
                    spoke = role == Role::Assistant;
                }
                let number = if torn { before.map_or(0, |group| group.number) } else { next };
                next = number + 1;
                groups.push(Group { number, step: steps, role, source: Some(message), made: None, units: at..at + 1 });
            }
            Unit::Made(made) => {
                let inserted = matches!(view.effect(made.effect), Some(Effect::Insert { .. }));
                let follows = units[at + 1..].iter().find_map(|laid| match laid.unit {
                    Unit::Source { message, .. } => Some(message),
                    Unit::Made(_) => None,
                });
                let before = groups.iter().rev().find(|group| group.source.is_some());
                let within = before.filter(|group| follows.is_some() && group.source == follows);
                let role = view.made(made).and_then(|made| made.role);
                let role = role.or(follows.map(|message| messages[message].role)).unwrap_or(Role::User);
                if inserted {
                    steps += usize::from(role == Role::Assistant && !spoke);
                    spoke = role == Role::Assistant;
                }
                let speaks_next = follows.is_some_and(|message| messages[message].role == Role::Assistant) && !spoke;
                let step = match within {
                    Some(group) => group.step,
                    None if inserted => steps,
                    None => steps + usize::from(speaks_next),
                };
                let number = within.map_or(next, |group| group.number);
                next += usize::from(inserted);
                groups.push(Group { number, step, role, source: None, made: Some(made), units: at..at + 1 });
            }
        }
    }
    Layout { units, groups, steps }
}

impl Layout {
    /// Whether anything of it is sent.
    pub fn is_gone(&self) -> bool {
        self.units.iter().all(|laid| laid.covered.is_some())
    }

    /// The units of the groups that `keep` chooses.
    pub fn of<'a>(&'a self, keep: impl Fn(&Group) -> bool + 'a) -> Vec<Laid> {
        self.groups
            .iter()
            .filter(|group| keep(group))
            .flat_map(|group| self.units[group.units.clone()].to_vec())
            .collect()
    }
}
