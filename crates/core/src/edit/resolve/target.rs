//! Targets: the content that ids and filters select.

use super::{Desk, gone};
use crate::ErrorCode;
use crate::edit::address::{self, Address, AddressRange};
use crate::edit::effect::{BlockRef, Cover, MessageRef, PENDING};
use crate::edit::fold::{Around, Unit, ViewUnit};
use crate::edit::frame_id::FrameId;
use crate::edit::layout::{Layout, layout};
use crate::edit::operation::Select;
use crate::edit::refusal::{Refusal, nearest, suggest};
use crate::hint;
use crate::hint::{Argument, Command};
use crate::message::{Kind, Role};
use std::collections::HashSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Frame,
    Steps,
    Message,
    Block,
    System,
    Tool,
}

/// One selected target.
#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub scope: Scope,
    /// The index of its frame in the view.
    pub frame: Option<usize>,
    pub units: Vec<ViewUnit>,
    pub covers: Vec<Cover>,
    /// The estimated tokens of its sent content.
    pub weight: f64,
}

impl Target {
    /// Its sent client blocks: message and block.
    pub fn sent_blocks(&self) -> impl Iterator<Item = (usize, usize)> {
        self.units.iter().filter(|laid| laid.covered.is_none()).filter_map(|laid| match laid.unit {
            Unit::Source { message, block: Some(block) } => Some((message, block)),
            _ => None,
        })
    }
}

impl Desk<'_> {
    /// The targets of `ids`, narrowed by `select`; at least one.
    pub fn targets(&self, ids: &[String], select: &Select) -> Result<Vec<Target>, Refusal> {
        let named = address::read(ids).map_err(|text| self.unreadable(&text))?;
        if named.is_empty() && select.is_empty() {
            return Err(nothing_named());
        }
        let everything = named.is_empty();
        let mut targets = Vec::new();
        for one in &named {
            // A range, or the name of a split frame, skips removed content.
            let all = self.all(std::slice::from_ref(one))?;
            let name = || all.iter().map(|target| target.name.clone()).collect::<Vec<_>>().join(", ");
            let left: Vec<Target> = all.iter().filter(|target| !self.is_gone(target)).cloned().collect();
            if left.is_empty() && !all.is_empty() && select.is_empty() {
                return Err(gone(&name()));
            }
            targets.extend(left);
        }
        if everything {
            targets = self.frames_of(select, false).map(|at| self.whole(at)).collect();
        } else {
            self.once(&mut targets);
            targets.retain(|target| target.frame.map_or(select.older_than.is_none(), |at| self.is_old(at, select)));
        }
        if let Some(tool) = &select.tool {
            targets.iter_mut().for_each(|target| self.keep_calls(target, &|_, name| name == Some(tool)));
        }
        if !select.calls.is_empty() {
            let calls: HashSet<&str> = select.calls.iter().map(String::as_str).collect();
            let keep = |id: Option<&str>, _: Option<&str>| id.is_some_and(|id| calls.contains(id));
            targets.iter_mut().for_each(|target| self.keep_calls(target, &keep));
        }
        if select.superseded {
            let superseded = self.superseded();
            let keep = |id: Option<&str>, _: Option<&str>| id.is_some_and(|id| superseded.contains(id));
            targets.iter_mut().for_each(|target| self.keep_calls(target, &keep));
        }
        let large = |target: &Target| select.larger_than.is_none_or(|most| (self.scale)(target.weight) > most);
        targets.retain(|target| large(target) && !target.covers.is_empty());
        if everything || !select.is_empty() {
            targets.retain(|target| !self.is_gone(target));
        }
        if targets.is_empty() {
            return Err(Refusal::new(
                ErrorCode::NoMatch,
                "Nothing in the conversation matches.",
                hint![Command::Steps, " shows the content with its tokens."],
            ));
        }
        Ok(targets)
    }

    /// The targets of `ids`, including removed content.
    pub fn named(&self, ids: &[String]) -> Result<Vec<Target>, Refusal> {
        self.all(&address::read(ids).map_err(|text| self.unreadable(&text))?)
    }

    fn all(&self, named: &[AddressRange]) -> Result<Vec<Target>, Refusal> {
        let mut targets = Vec::new();
        for one in named {
            match one {
                AddressRange::One(address) => self.one(address, &mut targets)?,
                AddressRange::Range(from, to) => self.range(from, to, &mut targets)?,
            }
        }
        Ok(targets)
    }

    /// The frames that are old enough; pinned ones only if `pinned`.
    pub(super) fn frames_of(&self, select: &Select, pinned: bool) -> impl Iterator<Item = usize> {
        let frames = self.view.frames.iter().enumerate().filter(move |(_, frame)| pinned || !frame.pinned);
        frames.map(|(at, _)| at).filter(|at| self.is_old(*at, select))
    }

    fn is_old(&self, frame: usize, select: &Select) -> bool {
        select.older_than.is_none_or(|frames| frame + frames < self.view.frames.len())
    }

    /// Keeps only some calls and their results, selected by id and tool.
    fn keep_calls(&self, target: &mut Target, keep: &dyn Fn(Option<&str>, Option<&str>) -> bool) {
        target.units.retain(|laid| match laid.unit {
            Unit::Source { message, block: Some(block) } => {
                let Some(block) = self.source.messages[message].blocks.get(block) else { return false };
                let id = block.tool_use_id.as_deref();
                match block.kind {
                    Kind::ToolUse => keep(id, block.tool.as_deref()),
                    Kind::ToolResult => keep(id, self.tool_of(id)),
                    _ => false,
                }
            }
            _ => false,
        });
        target.scope = Scope::Block;
        target.covers = self.cover(&target.units);
        target.weight = self.weight(&target.units);
    }

    fn one(&self, address: &Address, targets: &mut Vec<Target>) -> Result<(), Refusal> {
        let unknown = || self.unknown(&address.to_string());
        let name = address.to_string();
        match address {
            Address::System => {
                let covers: Vec<Cover> = (0..self.source.system.len()).map(|at| self.system(at)).collect();
                let weight = self.around(&self.view.system, self.system_weights);
                targets.push(Target { name, scope: Scope::System, frame: None, units: vec![], covers, weight });
            }
            Address::SystemBlock(at) => {
                let here = self.view.system.get(*at).ok_or_else(unknown)?;
                let weight = self.system_weights.get(*at).copied().unwrap_or(0.0);
                let weight = self.around(std::slice::from_ref(here), &[weight]);
                let covers = vec![self.system(*at)];
                targets.push(Target { name, scope: Scope::System, frame: None, units: vec![], covers, weight });
            }
            Address::Tools => {
                let covers = self.source.tools.iter().map(|name| Cover::Tool { name: (*name).to_owned() }).collect();
                let weight = self.around(&self.view.tools, self.tool_weights);
                targets.push(Target { name, scope: Scope::Tool, frame: None, units: vec![], covers, weight });
            }
            Address::Tool(tool) => {
                let at = self.source.tools.iter().position(|name| name == tool).ok_or_else(unknown)?;
                let covers = vec![Cover::Tool { name: tool.clone() }];
                let weight = self.tool_weights.get(at).copied().unwrap_or(0.0);
                let here = self.view.tools.get(at).ok_or_else(unknown)?;
                let weight = self.around(std::slice::from_ref(here), &[weight]);
                targets.push(Target { name, scope: Scope::Tool, frame: None, units: vec![], covers, weight });
            }
            Address::Frame(id) => self.frame(id, targets)?,
            Address::Steps { frame, from, to } => {
                let (at, layout) = self.single(frame)?;
                if *to > layout.steps {
                    return Err(Refusal::new(
                        ErrorCode::UnknownId,
                        format!("`{frame}` has no step {to}."),
                        hint![format!("It has {}; ", count(layout.steps, "step")), Command::Steps, " shows them."],
                    ));
                }
                let units = layout.of(|group| (*from..=*to).contains(&group.step));
                targets.push(self.target(name, Scope::Steps, at, units));
            }
            Address::Message { frame, message } => {
                let (at, layout) = self.single(frame)?;
                let units = layout.of(|group| group.number == *message);
                if units.is_empty() {
                    let messages = layout.groups.iter().map(|group| group.number + 1).max().unwrap_or(0);
                    return Err(Refusal::new(
                        ErrorCode::UnknownId,
                        format!("`{frame}` has no message {message}."),
                        format!("It has {}, counted from 0.", count(messages, "message")),
                    ));
                }
                targets.push(self.target(name, Scope::Message, at, units));
            }
            Address::Block { frame, message, block } => {
                let (at, layout) = self.single(frame)?;
                // Includes the replacement, which directly precedes it.
                let all = layout.of(|group| group.number == *message);
                let named = |laid: &ViewUnit| matches!(laid.unit, Unit::Source { block: Some(at), .. } if at == *block);
                let is_made = |laid: &ViewUnit| matches!(laid.unit, Unit::Made(_));
                let units = all.iter().position(named).map(|end| {
                    let made = all[..end].iter().rev().take_while(|laid| is_made(laid)).count();
                    all[end - made..=end].to_vec()
                });
                let Some(units) = units else {
                    return Err(Refusal::new(
                        ErrorCode::UnknownId,
                        format!("`{frame}#{message}` has no block {block} from the client."),
                        hint![Command::Show.with(format!("{frame}#{message}")), " shows its blocks."],
                    ));
                };
                targets.push(self.target(name, Scope::Block, at, units));
            }
        }
        Ok(())
    }

    /// A frame, or all its parts.
    fn frame(&self, id: &FrameId, targets: &mut Vec<Target>) -> Result<(), Refusal> {
        let found = self.view.find(id);
        if found.is_empty() {
            return Err(self.unknown(&id.to_string()));
        }
        targets.extend(found.into_iter().map(|at| self.whole(at)));
        Ok(())
    }

    fn whole(&self, at: usize) -> Target {
        let frame = &self.view.frames[at];
        self.target(frame.id.to_string(), Scope::Frame, at, self.view.units(frame, self.source.messages))
    }

    /// The estimated tokens sent of some system blocks or tools.
    fn around(&self, here: &[Around], weights: &[f64]) -> f64 {
        let weigh = |(around, weight): (&Around, &f64)| {
            let made = around.by.iter().map(|made| self.view.weigh_made(*made)).sum::<f64>();
            if around.covered.is_none() { made + weight } else { made }
        };
        here.iter().zip(weights).map(weigh).sum()
    }

    /// Whether none of it is sent any more.
    fn is_gone(&self, target: &Target) -> bool {
        match target.scope {
            Scope::System | Scope::Tool => target.covers.iter().all(|cover| self.is_out(cover)),
            _ => target.units.iter().all(|laid| laid.covered.is_some()),
        }
    }

    /// Whether a system block or a tool is removed without a replacement.
    pub(super) fn is_out(&self, cover: &Cover) -> bool {
        let here = match cover {
            Cover::System { at, .. } => self.view.system.get(*at as usize),
            Cover::Tool { name } => {
                self.source.tools.iter().position(|other| other == name).and_then(|at| self.view.tools.get(at))
            }
            Cover::Blocks(_) | Cover::Made(_) => None,
        };
        here.is_some_and(|here| here.covered.is_some() && here.by.is_empty())
    }

    fn range(&self, from: &FrameId, to: &FrameId, targets: &mut Vec<Target>) -> Result<(), Refusal> {
        let first = *self.view.find(from).first().ok_or_else(|| self.unknown(&from.to_string()))?;
        let last = *self.view.find(to).last().ok_or_else(|| self.unknown(&to.to_string()))?;
        if first > last {
            return Err(Refusal::new(
                ErrorCode::BadRange,
                format!("The range `{from}..{to}` is reversed."),
                format!("`{to}` comes before `{from}`; swap them."),
            ));
        }
        targets.extend((first..=last).map(|at| self.whole(at)));
        Ok(())
    }

    /// The only frame of that name.
    pub(super) fn single(&self, id: &FrameId) -> Result<(usize, Layout), Refusal> {
        match self.view.find(id).as_slice() {
            [] => Err(self.unknown(&id.to_string())),
            [at] => Ok((*at, layout(self.view, &self.view.frames[*at], self.source.messages))),
            many => {
                let parts: Vec<String> = many.iter().map(|&at| self.view.frames[at].id.to_string()).collect();
                Err(Refusal::new(
                    ErrorCode::AmbiguousId,
                    match self.view.became(id).filter(|(became, _)| became.into.is_none()) {
                        Some((cut, _)) => {
                            format!("`{id}` is now {}: commit {} split it.", parts.join(", "), cut.by.commit)
                        }
                        None => format!("`{id}` is split into {}.", parts.join(", ")),
                    },
                    format!("Name one of them, such as `{}`.", parts[0]),
                ))
            }
        }
    }

    fn target(&self, name: String, scope: Scope, frame: usize, units: Vec<ViewUnit>) -> Target {
        let covers = self.cover(&units);
        Target { name, scope, frame: Some(frame), covers, weight: self.weight(&units), units }
    }

    /// Covers all units, including covered ones, so that they stay covered when another effect is deactivated.
    pub fn cover(&self, units: &[ViewUnit]) -> Vec<Cover> {
        let mut covers: Vec<Cover> = Vec::new();
        for laid in units {
            match laid.unit {
                Unit::Source { message, block } => {
                    let facts = self.source.messages[message];
                    let of = self.message_ref(message);
                    let named = block.and_then(|at| BlockRef::within(facts, at as u32));
                    // Also if synthetic content is in the middle of the message.
                    match covers.iter_mut().rfind(|cover| matches!(cover, Cover::Blocks(_))) {
                        Some(Cover::Blocks(last)) if last.of == of => last.blocks.extend(named),
                        _ => covers.push(Cover::blocks(of, facts.key, named.into_iter().collect())),
                    }
                }
                Unit::Made(made) => covers.push(Cover::Made(made)),
            }
        }
        covers
    }

    /// The permanent name of a message on the path. A reply is named after what it answers: a system message in between
    /// may move to the end of the next request.
    pub fn message_ref(&self, message: usize) -> MessageRef {
        let slots = &self.source.slots[..=message];
        match slots.iter().rposition(|slot| *slot != PENDING) {
            Some(before) if before < message => {
                let is_said = |at: &usize| self.source.messages[*at].role != Role::System;
                MessageRef::Reply {
                    after: slots[(0..=before).rev().find(is_said).unwrap_or(before)],
                    nth: (message - before - 1) as u32,
                    key: self.source.messages[message].key,
                }
            }
            _ => MessageRef::Slot(slots[message]),
        }
    }

    fn system(&self, at: usize) -> Cover {
        Cover::System { at: at as u32, key: self.source.system[at] }
    }

    /// The estimated tokens sent of these units.
    pub fn weight(&self, units: &[ViewUnit]) -> f64 {
        units.iter().map(|laid| self.weigh(laid)).sum()
    }

    pub(super) fn weigh(&self, laid: &ViewUnit) -> f64 {
        self.view.weigh(laid, self.source.messages)
    }

    /// Refuses a text that is no address.
    fn unreadable(&self, text: &str) -> Refusal {
        let steps = text.split_once('/').and_then(|(frame, steps)| Some((frame, steps.split_once("..")?)));
        if let Some((frame, (from, to))) = steps
            && let (Ok(_), Ok(first), Ok(last)) = (frame.parse::<FrameId>(), from.parse::<u64>(), to.parse::<u64>())
            && first > last
        {
            return Refusal::new(
                ErrorCode::BadRange,
                format!("The range `{text}` is reversed."),
                format!("Use `{frame}/{to}..{from}`."),
            );
        }
        if text.contains(',') {
            return Refusal::new(
                ErrorCode::UnknownId,
                format!("`{text}` has a comma without an id next to it."),
                "Write `t3,t7`.",
            );
        }
        // Half a range: the other end is missing.
        if let Some((from, to)) = text.split_once("..")
            && (from.is_empty() || to.is_empty())
        {
            return self.half(text, from, to);
        }
        if text.contains(['*', '?']) || matches!(text, "all" | "everything" | "-") {
            return Refusal::new(
                ErrorCode::UnknownId,
                format!("No `{text}` in this conversation; ids do not support wildcards."),
                match self.ends() {
                    Some((first, last)) => {
                        hint![format!("For all frames, use `{first}..{last}`; "), Command::List, " shows the ids."]
                    }
                    None => hint![Command::List, " shows the ids."],
                },
            );
        }
        self.unknown(text)
    }

    /// The first and the last frame.
    fn ends(&self) -> Option<(&FrameId, &FrameId)> {
        Some((&self.view.frames.first()?.id, &self.view.frames.last()?.id))
    }

    /// Refuses a range with only one end.
    fn half(&self, text: &str, from: &str, to: &str) -> Refusal {
        let hint = match (from.split_once('/'), self.ends()) {
            (Some((frame, first)), _) => {
                let steps = frame.parse().ok().and_then(|id| self.single(&id).ok()).map(|(_, layout)| layout.steps);
                steps.map(|last| format!("Did you mean `{frame}/{first}..{last}`?"))
            }
            (None, Some((_, last))) if !from.is_empty() => Some(format!("Did you mean `{from}..{last}`?")),
            (None, Some((first, _))) if !to.is_empty() => Some(format!("Did you mean `{first}..{to}`?")),
            _ => None,
        };
        let hint = hint.unwrap_or_else(|| "Give both ends, as in `t2..t5`.".to_owned());
        Refusal::new(
            ErrorCode::UnknownId,
            format!("The range `{text}` is incomplete."),
            hint![format!("{hint} "), Command::List, " shows the ids."],
        )
    }

    pub(super) fn unknown(&self, name: &str) -> Refusal {
        let frame = name.parse::<FrameId>().ok();
        if let Some(refusal) = frame.as_ref().and_then(|id| self.taken_in(id).or_else(|| self.beyond(id))) {
            return refusal;
        }
        let mut known: Vec<String> = self.view.frames.iter().map(|frame| frame.id.to_string()).collect();
        known.extend(["system".to_owned(), "tools".to_owned()]);
        known.extend(self.source.tools.iter().map(|name| format!("tools/{name}")));
        let near = nearest(name, known.iter().map(String::as_str));
        Refusal::new(
            ErrorCode::UnknownId,
            format!("No `{name}` in this conversation."),
            suggest(&near, hint![Command::List, " shows the ids."]),
        )
    }

    /// Refuses a frame that has become part of another.
    fn taken_in(&self, id: &FrameId) -> Option<Refusal> {
        let (became, now) = self.view.became(id)?;
        let now: Vec<String> = now.into_iter().map(|at| format!("`{}`", self.view.frames[at].id)).collect();
        Some(Refusal::new(
            ErrorCode::Combined,
            format!("`{id}` is now part of {}: commit {} combined them.", now.join(", "), became.by.commit),
            hint![
                format!("Name {}, or one of its steps or messages; ", now.join(" or ")),
                Command::Steps,
                " shows them."
            ],
        ))
    }

    /// Refuses a frame beyond the last one. Suggests the last frames, not those with similar names.
    fn beyond(&self, id: &FrameId) -> Option<Refusal> {
        let same = self.view.frames.iter().map(|frame| &frame.id).filter(|other| other.added == id.added);
        let mut numbers: Vec<u32> = same.map(|other| other.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let last: Vec<String> = numbers
            .iter()
            .rev()
            .take(2)
            .rev()
            .map(|&number| match id.added {
                true => FrameId::added(number).to_string(),
                false => FrameId::turn(number).to_string(),
            })
            .collect();
        numbers.last().filter(|highest| id.number > **highest)?;
        let are = if last.len() == 1 { "frame is" } else { "frames are" };
        Some(Refusal::new(
            ErrorCode::UnknownId,
            format!("No `{id}` in this conversation."),
            hint![format!("The last {are} {}; ", last.join(", ")), Command::List, " shows the ids."],
        ))
    }

    /// The role of the first sent unit.
    pub(super) fn first_role(&self, units: &[ViewUnit]) -> Option<Role> {
        let first = units.iter().position(|laid| laid.covered.is_none())?;
        // Content without a role belongs to the following message.
        let role = units[first..].iter().find_map(|laid| match laid.unit {
            Unit::Source { message, .. } => Some(self.source.messages[message].role),
            Unit::Made(made) => self.view.made(made).and_then(|made| made.role),
        });
        Some(role.unwrap_or(Role::User))
    }

    /// Drops targets named twice, alone and as part of a larger one. A named client note stays: the larger target alone
    /// would not remove it.
    fn once(&self, targets: &mut Vec<Target>) {
        let sets: Vec<HashSet<Unit>> =
            targets.iter().map(|target| target.units.iter().map(|laid| laid.unit).collect()).collect();
        let same = |a: usize, b: usize| targets[a].name == targets[b].name;
        let inside = |a: usize, b: usize| {
            let smaller = sets[a].len() < sets[b].len() || (sets[a].len() == sets[b].len() && b < a);
            targets[a].frame == targets[b].frame
                && !sets[a].is_empty()
                && smaller
                && sets[a].is_subset(&sets[b])
                && !self.is_named(&targets[a])
        };
        let doubled: Vec<bool> = (0..targets.len())
            .map(|a| (0..targets.len()).any(|b| a != b && ((same(a, b) && b < a) || inside(a, b))))
            .collect();
        let mut doubled = doubled.into_iter();
        targets.retain(|_| !doubled.next().unwrap_or(false));
    }
}

pub(super) fn nothing_named() -> Refusal {
    Refusal::new(
        ErrorCode::NothingNamed,
        "No target was given.",
        hint![
            "Name a frame (`t3`) or a step (`t3/5`), or filter with ",
            Argument::new("tool"),
            ", ",
            Argument::new("larger-than"),
            ", ",
            Argument::new("older-than"),
            ", ",
            Argument::new("superseded"),
            "."
        ],
    )
}

pub(super) fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
