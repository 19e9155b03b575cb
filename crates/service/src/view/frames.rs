//! The frames of a conversation as they are sent, with their steps if wanted.

use super::{Refusal, titles};
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::edit::{Ground, Weights, at_point, lacks_its_file};
use crate::left;
use crate::{Service, now};
use ctx_api::frames::{FrameView, Frames, MovedFrom, StepView};
use ctx_core::content::WireId;
use ctx_core::edit::effect::PENDING;
use ctx_core::edit::fold::{Around, Frame, Laid, Unit, View};
use ctx_core::edit::history::Change;
use ctx_core::edit::layout::layout;
use ctx_core::edit::resolve::Desk;
use ctx_core::edit::{EffectId, Operation};
use ctx_core::message::{Kind, Message};
use ctx_core::tokens;
use ctx_wire::envelope::Piece;
use std::collections::HashSet;

impl Service {
    pub fn frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let (view, repaired) = self.engine.lay_at(&conversation, &ground, at.unwrap_or("HEAD"))?;
        let cache = self.engine.cached(&conversation, &ground, (&view, &repaired), now());
        let window = conversation.envelope.model.as_deref().and_then(|model| self.engine.window(model));
        let incomplete = lock(&self.directory).is_incomplete(&conversation.id);
        let list = Frames { cache, window, incomplete, ..of(&conversation, &ground, &view, with_steps) };
        let from = moved_from(&conversation);
        drop((view, ground));
        drop(conversation);
        Ok(Frames { moved_from: from.and_then(|(from, wire)| self.edits_elsewhere(from, wire)), ..list })
    }

    /// The edits of a conversation that another one continues in the format `wire`.
    fn edits_elsewhere(&self, from: String, wire: WireId) -> Option<MovedFrom> {
        let shared = self.get(&from).ok().flatten()?;
        let other = lock(&shared);
        let effects = other.effects(other.history.head());
        let commits: HashSet<_> = effects.iter().map(|(id, _)| id.commit).collect();
        let moved = MovedFrom { conversation: from, format: other.wire.id().name().to_owned(), edits: commits.len() };
        (other.wire.id() != wire && moved.edits > 0).then_some(moved)
    }

    /// The same, with the frames that the client has left behind before those on the path.
    pub fn all_frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        let mut list = self.frames(name, with_steps, at)?;
        let shared = self.conversation(&list.conversation)?;
        let conversation = lock(&shared);
        let left = conversation.left_frames();
        let ground = Ground::with_left(&conversation, &left);
        let effects = at_point(&conversation, at.unwrap_or("HEAD"))?;
        let current = Ground::of(&conversation, true).lay(effects.clone());
        let names = left::names(&current);
        let all = of(&conversation, &ground, &ground.lay(effects), with_steps).frames;
        let earlier = all.into_iter().filter_map(|frame| {
            let left = left.of(&frame.id.parse().ok()?, &names)?;
            let state = frame.state.into_iter().chain([left.state().to_owned()]).collect();
            Some(FrameView { left: Some(left), state, ..frame })
        });
        let turns = list.frames.iter().position(|frame| frame.kind == "turn").unwrap_or(list.frames.len());
        list.frames.splice(turns..turns, earlier.collect::<Vec<_>>());
        Ok(list)
    }

    /// What all of a conversation weighs as it is sent now.
    pub(super) fn weigh(&self, conversation: &Conversation) -> Result<u64, Refusal> {
        let ground = Ground::of(conversation, true);
        let (view, _) = self.engine.lay_at(conversation, &ground, "HEAD")?;
        Ok(of(conversation, &ground, &view, false).tokens)
    }
}

/// The conversation that this one was linked to when it began, and its own format; nothing once edits were carried over.
fn moved_from(conversation: &Conversation) -> Option<(String, WireId)> {
    let from = conversation.opened.forked_from.clone()?;
    let is_carried = |operation: &Operation| matches!(operation, Operation::Import { edits: true, .. });
    let mut commits = conversation.history.line(conversation.history.head());
    let has_come = commits.any(|commit| match &commit.change {
        Change::Edit { operations, .. } => operations.iter().any(is_carried),
        Change::Revert { .. } | Change::Inherit { .. } => false,
    });
    (!has_come).then(|| (from, conversation.wire.id()))
}

fn of(conversation: &Conversation, ground: &Ground<'_>, view: &View<'_>, with_steps: bool) -> Frames {
    let source = ground.source();
    let weights = Weights::of(conversation);
    let scale = |estimate: f64| conversation.calibration.tokens(estimate);
    let desk = conversation.desk(view, &source, &weights, &scale, 0);
    let superseded = if with_steps { desk.superseded() } else { HashSet::new() };
    let mut views = around(conversation, view);
    views.extend(view.frames.iter().map(|frame| {
        let waiting = match conversation.waits() {
            true => conversation.pending_in(ground, &view.units(frame, &ground.messages)),
            false => Vec::new(),
        };
        FrameView { waiting, ..one(ground, &desk, frame, with_steps.then_some(&superseded)) }
    }));
    Frames {
        conversation: conversation.id.clone(),
        model: conversation.envelope.model.as_deref().map(str::to_owned),
        calibrated: conversation.calibration.is_calibrated(),
        tokens: views.iter().map(|view| view.tokens).sum(),
        window: None,
        head: conversation.history.head().map(|head| head.to_string()),
        cache: None,
        left_frames: conversation.left_frames().by_number.len(),
        frames: views,
        moved_from: None,
        elsewhere: conversation.elsewhere_in_words(),
        unread: 0,
        incomplete: false,
    }
}

fn one(ground: &Ground<'_>, desk: &Desk<'_>, frame: &Frame, superseded: Option<&HashSet<&str>>) -> FrameView {
    let path = &ground.messages;
    let layout = layout(desk.view, frame, path);
    let messages: Vec<usize> = layout.groups.iter().map(|group| group.number).collect();
    let is_pending =
        |laid: &Laid| matches!(laid.unit, Unit::Source { message, .. } if ground.slots[message] == PENDING);
    FrameView {
        id: frame.id.to_string(),
        kind: "turn".into(),
        title: titles::frame_title(desk.view, path, frame),
        summary: frame.summary.clone(),
        tokens: (desk.scale)(desk.weight(&layout.units)),
        source_tokens: (desk.scale)(source_weight(path, &layout.units)),
        messages: messages.iter().max().map_or(0, |last| last + 1),
        steps: layout.steps,
        state: chips(desk, frame, &layout.units).map(str::to_owned).collect(),
        left: None,
        by: by(desk.view, frame.by.iter().copied().chain(layout.units.iter().flat_map(Laid::by))),
        pinned: frame.pinned,
        pending: layout.units.iter().any(is_pending),
        waiting: Vec::new(),
        step_list: superseded.map(|superseded| {
            (1..=layout.steps)
                .map(|step| {
                    let groups: Vec<_> = layout.groups.iter().filter(|group| group.step == step).collect();
                    let units = layout.of(|group| group.step == step);
                    let sources: Vec<usize> = groups.iter().filter_map(|group| group.source).collect();
                    let outdated: Vec<(String, f64)> = groups
                        .iter()
                        .flat_map(|group| {
                            let units = layout.units.get(group.units.clone()).unwrap_or_default();
                            units.iter().filter_map(|laid| {
                                let at = outdated(path, laid, superseded)?;
                                Some((format!("{}#{}.{at}", frame.id, group.number), desk.view.weigh(laid, path)))
                            })
                        })
                        .collect();
                    let tools = sources.iter().flat_map(|&message| &path[message].blocks);
                    let tools =
                        tools.filter(|block| block.kind == Kind::ToolUse).filter_map(|block| block.tool.as_deref());
                    let mut numbers: Vec<usize> = groups.iter().map(|group| group.number).collect();
                    numbers.dedup();
                    StepView {
                        id: format!("{}/{step}", frame.id),
                        title: titles::step_title(desk.view, path, &sources, &units),
                        tokens: (desk.scale)(desk.weight(&units)),
                        source_tokens: (desk.scale)(source_weight(path, &units)),
                        messages: numbers.len(),
                        tools: tools.map(str::to_owned).collect(),
                        superseded: !outdated.is_empty(),
                        superseded_tokens: (desk.scale)(outdated.iter().map(|(_, weight)| weight).sum()),
                        superseded_results: outdated.into_iter().map(|(id, _)| id).collect(),
                        state: step_chips(desk, frame, &units),
                        by: by(desk.view, units.iter().flat_map(Laid::by)),
                    }
                })
                .collect()
        }),
    }
}

/// The block's place in its message, if it is a result of one of these calls.
fn outdated(path: &[&Message], laid: &Laid, calls: &HashSet<&str>) -> Option<usize> {
    let Unit::Source { message, block: Some(at) } = laid.unit else { return None };
    let block = path.get(message)?.blocks.get(at)?;
    let is_one = block.kind == Kind::ToolResult && laid.covered.is_none() && laid.result.is_none();
    (is_one && calls.contains(block.tool_use_id.as_deref()?)).then_some(at)
}

/// The commits of effects, the newest first.
pub(super) fn by(view: &View<'_>, effects: impl Iterator<Item = EffectId>) -> Vec<String> {
    view.commits(effects).iter().map(ToString::to_string).collect()
}

/// What was done to it, and what the rules do to it.
pub(super) fn chips(desk: &Desk<'_>, frame: &Frame, units: &[Laid]) -> impl Iterator<Item = &'static str> {
    let is_thinking = |laid: &Laid| match laid.unit {
        Unit::Source { message, block: Some(block) } => {
            desk.source.messages[message].blocks.get(block).is_some_and(|block| block.kind == Kind::Thinking)
        }
        _ => false,
    };
    let is_torn = |laid: &Laid| match laid.unit {
        Unit::Made(made) => laid.covered.is_none() && !desk.view.left_out_of(made).is_empty(),
        Unit::Source { .. } => desk.view.is_left_out(laid),
    };
    let (thoughts, others): (Vec<&Laid>, Vec<&Laid>) =
        units.iter().filter(|laid| is_torn(laid)).partition(|laid| is_thinking(laid));
    let repaired = (!others.is_empty()).then_some("repaired");
    let dropped = (!thoughts.is_empty()).then_some("thinking-dropped");
    let lacks = units.iter().any(|laid| lacks_its_file(desk.view, laid)).then_some("file-missing");
    frame.chips(desk.view, units).into_iter().chain(lacks).chain(repaired).chain(dropped)
}

/// Without what is told of the whole frame.
pub(super) fn step_chips(desk: &Desk<'_>, frame: &Frame, units: &[Laid]) -> Vec<String> {
    let of_frame = ["moved", "combined", "split", "added"];
    let chips = chips(desk, frame, units).filter(|chip| !of_frame.contains(chip));
    chips.map(str::to_owned).collect()
}

/// What the client sent, covered or not.
fn source_weight(path: &[&Message], units: &[Laid]) -> f64 {
    units
        .iter()
        .filter_map(|laid| match laid.unit {
            Unit::Source { message, block: Some(block) } => path[message].blocks.get(block).map(tokens::of_block),
            _ => None,
        })
        .sum()
}

/// The system prompt and the tools: frames like any other.
fn around(conversation: &Conversation, view: &View<'_>) -> Vec<FrameView> {
    let envelope = &conversation.envelope;
    let weigh = |piece: &Piece| if piece.deferred { 0.0 } else { tokens::estimate(piece.chars, 0) };
    let frame = |id: &str, title: String, pieces: &[Piece], laid: &[Around]| {
        let kept =
            pieces.iter().zip(laid).filter(|(_, around)| around.covered.is_none()).map(|(piece, _)| weigh(piece));
        let made = laid.iter().flat_map(|around| &around.by).map(|made| view.weigh_made(*made));
        let covered = laid.iter().filter(|around| around.covered.is_some()).count();
        let replaced = laid.iter().any(|around| !around.by.is_empty());
        let mut state = match (covered, replaced) {
            (0, _) => vec![],
            (_, true) => vec!["edited"],
            (all, false) if all == pieces.len() => vec!["deleted"],
            _ => vec!["trimmed"],
        };
        // Something of it has to stay.
        state.extend(view.keeps(id).then_some("repaired"));
        FrameView {
            id: id.into(),
            kind: id.into(),
            title,
            summary: None,
            tokens: conversation.calibration.tokens(kept.sum::<f64>() + made.sum::<f64>()),
            source_tokens: conversation.calibration.tokens(pieces.iter().map(weigh).sum()),
            messages: pieces.len(),
            steps: 0,
            state: state.into_iter().map(str::to_owned).collect(),
            left: None,
            by: by(view, laid.iter().flat_map(Around::by)),
            pinned: false,
            pending: false,
            waiting: Vec::new(),
            step_list: None,
        }
    };
    let mut views = Vec::new();
    if !envelope.system.is_empty() {
        let title = format!("System prompt, {}", plural(envelope.system.len(), "block"));
        views.push(frame("system", title, &envelope.system, &view.system));
    }
    if let Some(tools) = envelope.tools.as_ref().filter(|tools| !tools.is_empty()) {
        let mut names: Vec<&str> = tools.iter().map(|tool| &*tool.name).take(4).collect();
        if tools.len() > names.len() {
            names.push("…");
        }
        let title = format!("{}: {}", plural(tools.len(), "tool"), names.join(", "));
        views.push(frame("tools", title, tools, &view.tools));
    }
    views
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
