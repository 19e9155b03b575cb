//! The messages and steps of a frame, as people count them.
//!
//! A client message keeps its number after every edit; its replacement has the same number.

use super::effect::{Effect, NewMessageId};
use super::fold::{Frame, Unit, View, ViewUnit};
use crate::message::{Message, Role};
use std::ops::Range;

/// Units that belong to one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its number in the frame, counted from 0.
    pub number: usize,
    /// The step it belongs to, counted from 1; 0 for the human's words before the first step.
    pub step: usize,
    pub role: Role,
    /// The message of the path, if it is from the client.
    pub source: Option<usize>,
    pub made: Option<NewMessageId>,
    pub units: Range<usize>,
}

pub struct Layout {
    pub units: Vec<ViewUnit>,
    pub groups: Vec<Group>,
    pub steps: usize,
}

pub fn layout(view: &View<'_>, frame: &Frame, messages: &[&Message]) -> Layout {
    let units = view.units(frame, messages);
    let (places, steps) = places(view, &units, messages);
    let mut groups: Vec<Group> = Vec::new();
    for (at, (laid, place)) in units.iter().zip(places).enumerate() {
        let (source, made) = match laid.unit {
            Unit::Source { message, .. } => (Some(message), None),
            Unit::Made(made) => (None, Some(made)),
        };
        match groups.last_mut() {
            Some(group) if source.is_some() && group.source == source && group.step == place.step => {
                group.units.end = at + 1;
            }
            _ => {
                let role = made.and_then(|made| view.made(made)?.role).unwrap_or(place.role);
                let Place { number, step, .. } = place;
                groups.push(Group { number, step, role, source, made, units: at..at + 1 });
            }
        }
    }
    Layout { units, groups, steps }
}

/// The number and step of a unit.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    step: usize,
    role: Role,
}

/// The place of each unit, and the number of steps. Only client messages and those of inserted frames count. A
/// replacement directly precedes its original and has its number.
fn places(view: &View<'_>, units: &[ViewUnit], messages: &[&Message]) -> (Vec<Place>, usize) {
    let mut places: Vec<Place> = Vec::with_capacity(units.len());
    let mut last: Option<(Option<usize>, Place)> = None;
    let mut steps = 0;
    for (at, laid) in units.iter().enumerate() {
        let (source, role, human) = match laid.unit {
            Unit::Source { message, block } => {
                let facts = messages[message];
                let speaks = facts.speaks.is_some_and(|from| from as usize <= block.unwrap_or(0));
                (Some(message), facts.role, facts.role == Role::User && speaks)
            }
            Unit::Made(made) if matches!(view.effect(made.effect), Some(Effect::Insert { .. })) => {
                let role = view.made(made).and_then(|made| made.role).unwrap_or(Role::User);
                let answers = view.made(made).is_some_and(|made| made.answers().next().is_some());
                (None, role, role == Role::User && !answers)
            }
            Unit::Made(_) => continue,
        };
        let mut place = match last {
            Some((same, place)) if source.is_some() && same == source => place,
            _ => {
                let spoke = last.is_some_and(|(_, before)| before.role == Role::Assistant);
                steps += usize::from(role == Role::Assistant && !spoke);
                let step = match last {
                    Some((_, before)) if role != Role::Assistant => before.step,
                    _ => steps,
                };
                Place { number: last.map_or(0, |(_, before)| before.number + 1), step, role }
            }
        };
        // In combined frames a human speaks again, which ends a step.
        if human {
            place.step = 0;
        }
        last = Some((source, place));
        places.resize(at + 1, place);
    }
    let end = Place { number: last.map_or(0, |(_, before)| before.number + 1), step: steps, role: Role::User };
    places.resize(units.len(), end);
    (places, steps)
}

impl Layout {
    /// Whether nothing of it is sent.
    pub fn is_gone(&self) -> bool {
        self.units.iter().all(|laid| laid.covered.is_some())
    }

    /// The units of the groups that `keep` selects.
    pub fn of<'a>(&'a self, keep: impl Fn(&Group) -> bool + 'a) -> Vec<ViewUnit> {
        self.groups
            .iter()
            .filter(|group| keep(group))
            .flat_map(|group| self.units[group.units.clone()].to_vec())
            .collect()
    }
}
