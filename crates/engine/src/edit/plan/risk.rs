//! Describes the losses by an operation. It only reports them; the reader judges.

use super::{RepairView, State};
use crate::compose::compare::Overview;
use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use crate::edit::stays::WrittenBlocks;
use crate::edit::summary::tokens;
use ctx_api::plan::{Level, Risk};
use ctx_core::edit::Operation;
use ctx_core::edit::effect::Effect;
use ctx_core::edit::fold::{Unit, View};
use ctx_core::edit::layout::layout;
use ctx_core::message::{Block, Kind, Role};
use ctx_wire::rules;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// The number of names listed before the rest is counted.
const MOST: usize = 4;

pub struct Look<'a> {
    conversation: &'a Conversation,
    ground: &'a Ground<'a>,
}

/// A sent client block.
struct At<'v> {
    frame: String,
    step: usize,
    /// The new content of a tool result.
    result: Option<&'v str>,
}

type SentBlocks<'v> = BTreeMap<(usize, usize), At<'v>>;

/// Content that was sent before, and is no longer sent or was changed.
pub struct Loss<'a> {
    blocks: Vec<LostBlock<'a>>,
}

struct LostBlock<'a> {
    at: (usize, usize),
    frame: String,
    facts: &'a Block,
    role: Role,
    /// Only its content was replaced.
    replaced: bool,
    /// No operation covers it, but it cannot be sent behind the change.
    left_out: bool,
    /// It is a client note: instructions for the model.
    is_note: bool,
    /// It is a setting that content behind it depends on.
    is_setting: bool,
}

impl Loss<'_> {
    /// Thinking lost beside the content that the operation removes, as counted by the preview.
    pub fn thinking(&self) -> usize {
        self.blocks.iter().filter(|block| block.is_thinking()).count()
    }

    /// The frames of the selected losses, each once.
    fn frames(&self, keep: impl Fn(&LostBlock<'_>) -> bool) -> Vec<String> {
        let mut frames: Vec<String> = Vec::new();
        for block in self.blocks.iter().filter(|block| keep(block)) {
            if !frames.contains(&block.frame) {
                frames.push(block.frame.clone());
            }
        }
        frames
    }
}

impl LostBlock<'_> {
    fn is_thinking(&self) -> bool {
        self.facts.kind == Kind::Thinking && self.left_out
    }
}

impl<'a> Look<'a> {
    pub fn new(conversation: &'a Conversation, ground: &'a Ground<'a>) -> Look<'a> {
        Look { conversation, ground }
    }

    fn block(&self, (message, block): (usize, usize)) -> Option<(&'a Block, Role)> {
        let message = self.ground.messages.get(message)?;
        Some((message.blocks.get(block)?, message.role))
    }

    fn sent<'v>(&self, view: &View<'v>) -> SentBlocks<'v> {
        self.sent_and_left_out(view).0
    }

    /// The sent blocks, and the uncovered blocks that are not sent.
    fn sent_and_left_out<'v>(&self, view: &View<'v>) -> (SentBlocks<'v>, BTreeSet<(usize, usize)>) {
        let (mut sent, mut left_out) = (SentBlocks::new(), BTreeSet::new());
        for frame in &view.frames {
            let layout = layout(view, frame, &self.ground.messages);
            for group in &layout.groups {
                for laid in layout.units.get(group.units.clone()).unwrap_or_default() {
                    let Unit::Source { message, block: Some(block) } = laid.unit else { continue };
                    if view.is_left_out(laid) {
                        left_out.insert((message, block));
                    } else if laid.covered.is_none() {
                        let at = At { frame: frame.id.to_string(), step: group.step, result: view.new_result(laid) };
                        sent.insert((message, block), at);
                    }
                }
            }
        }
        (sent, left_out)
    }

    pub fn lost(&self, was: &View<'_>, is: &View<'_>) -> Loss<'a> {
        let written = LazyCell::new(|| WrittenBlocks::of(is, self.ground));
        let (was, (is, left_out)) = (self.sent(was), self.sent_and_left_out(is));
        let blocks = was.into_iter().filter_map(|(at, before)| {
            let after = is.get(&at);
            let (facts, role) = self.block(at)?;
            let same = after.is_some_and(|after| after.result == before.result);
            let message = self.ground.messages.get(at.0);
            let stays =
                !same && message.is_some_and(|message| message.stays(at.1)) && !written.has(self.conversation, at);
            let is_setting = stays && message.is_some_and(|message| message.is_setting(at.1));
            let is_note = stays && !is_setting;
            let (replaced, left_out) = (after.is_some(), left_out.contains(&at));
            (!same).then_some(LostBlock {
                at,
                frame: before.frame,
                facts,
                role,
                replaced,
                left_out,
                is_note,
                is_setting,
            })
        });
        Loss { blocks: blocks.collect() }
    }

    pub fn risks(
        &self,
        operation: &Operation,
        effects: &[Effect],
        (was, is): (&State<'_>, &State<'_>),
        lost: &Loss<'_>,
        repairs: &[RepairView],
    ) -> Vec<Risk> {
        let mut risks = Vec::new();
        if effects.iter().any(Effect::is_sent) {
            self.pinned(was, is, &mut risks);
            self.around(&was.view, &is.view, &mut risks);
            client_notes(lost, &mut risks);
            settings(lost, &mut risks);
            self.newest(&was.view, lost, &mut risks);
            self.thinking(&was.view, lost, &mut risks);
            self.referred(operation, &is.view, lost, &mut risks);
            asked(operation, lost, &mut risks);
            self.larger(operation, was, is, &mut risks);
        }
        // Omitted thinking is already reported.
        for repair in repairs.iter().filter(|repair| repair.rule != "A65") {
            risks.push(Risk::new(
                Level::Low,
                format!("rule {} also changes: {}", rules::named(&repair.rule), repair.what),
            ));
        }
        risks.sort_by_key(|risk| std::cmp::Reverse(risk.level));
        risks
    }

    fn pinned(&self, was: &State<'_>, is: &State<'_>, risks: &mut Vec<Risk>) {
        let changed = Overview::changed(&was.overview, &is.overview);
        let pinned = was.view.frames.iter().filter(|frame| frame.pinned).map(|frame| frame.id.to_string());
        let names: Vec<String> = pinned.filter(|id| changed.contains(id)).collect();
        if !names.is_empty() {
            let are = if names.len() == 1 { "is" } else { "are" };
            risks.push(Risk::new(Level::High, format!("{} {are} pinned", listed(&names))));
        }
    }

    /// The system prompt and the tools.
    fn around(&self, was: &View<'_>, is: &View<'_>, risks: &mut Vec<Risk>) {
        let weights = Weights::of(self.conversation);
        let mut plain = false;
        for (at, (was, is)) in was.system.iter().zip(&is.system).enumerate() {
            if was == is {
                continue;
            }
            match weights.protected.get(at).copied().flatten() {
                Some(why) => risks.push(Risk::new(Level::High, format!("system#{at} is protected: {why}"))),
                None => plain = true,
            }
        }
        if plain {
            risks.push(Risk::new(Level::Medium, "changes the system prompt"));
        }
        let names = self.conversation.newest.envelope.tools.iter().flatten().map(|tool| &*tool.name);
        let changed = names.zip(was.tools.iter().zip(&is.tools)).filter(|(_, (was, is))| was != is);
        let names: Vec<String> = changed.map(|(name, _)| name.to_owned()).collect();
        if !names.is_empty() {
            risks.push(Risk::new(Level::Medium, format!("changes the tools: {}", listed(&names))));
        }
    }

    /// The frame at the end of the conversation.
    fn newest_frame(&self, was: &View<'_>) -> Option<String> {
        let last = self.ground.messages.len().checked_sub(1)?;
        let holds = |frame: &&ctx_core::edit::fold::Frame| {
            let units = was.units(frame, &self.ground.messages);
            units.iter().any(|laid| matches!(laid.unit, Unit::Source { message, .. } if message == last))
        };
        was.frames.iter().rev().find(holds).map(|frame| frame.id.to_string())
    }

    /// Whether the model has called tools and not yet given its final answer.
    fn is_open(&self) -> bool {
        let Some(last) = self.ground.messages.last() else { return false };
        let calls = last.blocks.iter().any(|block| block.kind == Kind::ToolUse);
        last.has_results() || (last.role == Role::Assistant && calls)
    }

    pub fn newest(&self, was: &View<'_>, lost: &Loss<'_>, risks: &mut Vec<Risk>) {
        let Some(newest) = self.newest_frame(was) else { return };
        if lost.frames(|block| block.facts.kind != Kind::Thinking).contains(&newest) {
            risks.push(match self.is_open() {
                true => Risk::new(
                    Level::High,
                    format!(
                        "the agent is working in {newest}: its tool loop is in \
                    progress"
                    ),
                ),
                false => Risk::new(Level::Medium, format!("{newest} is the newest frame")),
            });
        }
    }

    fn thinking(&self, was: &View<'_>, lost: &Loss<'_>, risks: &mut Vec<Risk>) {
        let count = lost.thinking();
        if count == 0 {
            return;
        }
        let frames = lost.frames(|block| block.is_thinking());
        let in_newest = self.newest_frame(was).is_some_and(|newest| frames.contains(&newest));
        let level = if in_newest { Level::Medium } else { Level::Low };
        let blocks = if count == 1 { "1 thinking block is".to_owned() } else { format!("{count} thinking blocks are") };
        risks.push(Risk::new(level, format!("{blocks} no longer sent, in {}", listed(&frames))));
    }

    /// Results that later steps refer to, and that were not fetched again.
    fn referred(&self, operation: &Operation, is: &View<'_>, lost: &Loss<'_>, risks: &mut Vec<Risk>) {
        let sent = self.sent(is);
        let calls: Vec<((usize, usize), &Block, &At<'_>)> = sent
            .iter()
            .filter_map(|(at, place)| Some((*at, self.block(*at)?.0, place)))
            .filter(|(_, block, _)| block.kind == Kind::ToolUse)
            .collect();
        let mut told: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for result in lost.blocks.iter().filter(|block| block.facts.kind == Kind::ToolResult) {
            let Some(call) = self.call_of(result.facts) else { continue };
            let Some(matter) = call.label.as_deref() else { continue };
            let later = || {
                let behind = calls.iter().filter(|(at, ..)| *at > result.at);
                behind.filter(|(_, other, _)| other.label.as_deref() == Some(matter))
            };
            if later().any(|(_, other, _)| other.tool == call.tool) {
                continue;
            }
            for (_, _, place) in later() {
                let steps = told.entry(matter).or_default();
                let step = format!("{}/{}", place.frame, place.step);
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
        }
        // Summarized or offloaded content can still be found.
        let is_kept = matches!(operation, Operation::Offload { .. } | Operation::SummarizeResults { .. });
        let level = if is_kept { Level::Low } else { Level::Medium };
        for (matter, steps) in told.iter().take(MOST) {
            let work = if steps.len() == 1 { "uses" } else { "use" };
            risks.push(Risk::new(level, format!("{} {work} `{matter}`, whose result is removed", listed(steps))));
        }
        if told.len() > MOST {
            risks.push(Risk::new(level, format!("later steps use {} more results", told.len() - MOST)));
        }
    }

    /// An operation meant to save tokens that does not.
    fn larger(&self, operation: &Operation, was: &State<'_>, is: &State<'_>, risks: &mut Vec<Risk>) {
        use Operation::{Compact, Delete, DropResults, Offload, SummarizeResults};
        let saves = matches!(
            operation,
            Delete { .. } | Compact { .. } | Offload { .. } | DropResults { .. } | SummarizeResults { .. }
        );
        let scale = |state: &State<'_>| self.conversation.tokens(state.overview.weight);
        let (before, after) = (scale(was), scale(is));
        if saves && after > before {
            risks.push(Risk::new(Level::Low, format!("saves nothing: {} more", tokens(after - before))));
        }
    }

    fn call_of(&self, result: &Block) -> Option<&'a Block> {
        let id = result.tool_use_id.as_deref()?;
        let blocks = self.ground.messages.iter().flat_map(|message| &message.blocks);
        let mut calls = blocks.filter(|block| block.kind == Kind::ToolUse);
        calls.find(|block| block.tool_use_id.as_deref() == Some(id))
    }
}

/// Lost project instructions, environment and reminders.
fn client_notes(lost: &Loss<'_>, risks: &mut Vec<Risk>) {
    let frames = lost.frames(|block| block.is_note);
    if !frames.is_empty() {
        let what = "removes the client's own notes (project instructions, environment, reminders) in";
        risks.push(Risk::new(Level::High, format!("{what} {}", listed(&frames))));
    }
}

/// Lost compactions and tools that later content depends on.
fn settings(lost: &Loss<'_>, risks: &mut Vec<Risk>) {
    let frames = lost.frames(|block| block.is_setting);
    if !frames.is_empty() {
        let what = "removes a setting (memory of earlier content, or tools) in";
        risks.push(Risk::new(Level::High, format!("{what} {}", listed(&frames))));
    }
}

/// The user's own words.
fn asked(operation: &Operation, lost: &Loss<'_>, risks: &mut Vec<Risk>) {
    if !matches!(operation, Operation::Delete { .. }) {
        return;
    }
    let said = |block: &LostBlock<'_>| block.role == Role::User && block.facts.kind == Kind::Text && !block.replaced;
    let frames = lost.frames(said);
    if !frames.is_empty() {
        risks.push(Risk::new(Level::Low, format!("removes the request in {}", listed(&frames))));
    }
}

fn listed(names: &[String]) -> String {
    match names.get(..MOST) {
        Some(some) if names.len() > MOST => format!("{} and {} more", some.join(", "), names.len() - MOST),
        _ => names.join(", "),
    }
}
