//! The frames of a conversation as they are sent, with their steps.

use super::titles;
use crate::Engine;
use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use ctx_api::frames::{FrameView, Frames, StepView};
use ctx_core::content::WireId;
use ctx_core::edit::effect::PENDING;
use ctx_core::edit::fold::{Around, Frame, Unit, View, ViewUnit};
use ctx_core::edit::history::Change;
use ctx_core::edit::layout::layout;
use ctx_core::edit::resolve::Desk;
use ctx_core::edit::{EffectId, Operation};
use ctx_core::fast_map::NameSet;
use ctx_core::message::{Kind, Message};
use ctx_core::tokens;
use ctx_wire::envelope::Piece;

/// The conversation that this one was linked to at its beginning, and its own format; `None` once edits were carried
/// over.
pub fn moved_from(conversation: &Conversation) -> Option<(String, WireId)> {
    let from = conversation.opened().forked_from.clone()?;
    let is_carried = |operation: &Operation| matches!(operation, Operation::Import { edits: true, .. });
    let mut commits = conversation.history.line(conversation.history.head());
    let has_come = commits.any(|commit| match &commit.change {
        Change::Edit { operations, .. } => operations.iter().any(is_carried),
        Change::Revert { .. } | Change::Inherit { .. } => false,
    });
    (!has_come).then(|| (from, conversation.wire().id()))
}

pub fn of(
    engine: &Engine,
    conversation: &Conversation,
    ground: &Ground<'_>,
    view: &View<'_>,
    with_steps: bool,
) -> Frames {
    let source = ground.source();
    let weights = Weights::of(conversation);
    let scale = |estimate: f64| conversation.tokens(estimate);
    let desk = conversation.desk(view, &source, &weights, &scale, 0);
    let superseded = if with_steps { desk.superseded() } else { NameSet::default() };
    let mut weighed = around(conversation, view);
    weighed.extend(view.frames.iter().map(|frame| {
        let waiting = match conversation.waits() {
            true => conversation.pending_in(ground, &view.units(frame, &ground.messages)),
            false => Vec::new(),
        };
        let (weight, frame) = one(engine, ground, &desk, frame, with_steps.then_some(&superseded));
        (weight, FrameView { waiting, ..frame })
    }));
    Frames {
        conversation: conversation.id().to_owned(),
        model: conversation.newest.envelope.model.as_deref().map(str::to_owned),
        calibrated: conversation.usage.calibration.is_calibrated(),
        // Rounded once, as for a commit: both tell the same total.
        tokens: conversation.tokens(weighed.iter().map(|(weight, _)| weight).sum()),
        window: None,
        head: conversation.history.head().map(|head| head.to_string()),
        cache: None,
        left_frames: conversation.left_frames().by_number.len(),
        frames: weighed.into_iter().map(|(_, frame)| frame).collect(),
        moved_from: None,
        elsewhere: conversation.elsewhere_in_words(),
        unread: 0,
        incomplete: false,
    }
}

/// A frame with its weight, which is not rounded.
fn one(
    engine: &Engine,
    ground: &Ground<'_>,
    desk: &Desk<'_>,
    frame: &Frame,
    superseded: Option<&NameSet<&str>>,
) -> (f64, FrameView) {
    let path = &ground.messages;
    let layout = layout(desk.view, frame, path);
    let weight = desk.weight(&layout.units);
    let messages: Vec<usize> = layout.groups.iter().map(|group| group.number).collect();
    let is_pending =
        |laid: &ViewUnit| matches!(laid.unit, Unit::Source { message, .. } if ground.slots[message] == PENDING);
    let shown = FrameView {
        id: frame.id.to_string(),
        kind: "turn".into(),
        title: titles::frame_title(desk.view, path, frame),
        summary: frame.summary.clone(),
        tokens: (desk.scale)(weight),
        source_tokens: (desk.scale)(source_weight(path, &layout.units)),
        messages: messages.iter().max().map_or(0, |last| last + 1),
        steps: layout.steps,
        state: chips(engine, desk, frame, &layout.units).map(str::to_owned).collect(),
        left: None,
        by: by(desk.view, frame.by.iter().copied().chain(layout.units.iter().flat_map(ViewUnit::by))),
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
                        state: step_chips(engine, desk, frame, &units),
                        by: by(desk.view, units.iter().flat_map(ViewUnit::by)),
                    }
                })
                .collect()
        }),
    };
    (weight, shown)
}

/// The block's index in its message, if it is a result of one of these calls.
fn outdated(path: &[&Message], laid: &ViewUnit, calls: &NameSet<&str>) -> Option<usize> {
    let Unit::Source { message, block: Some(at) } = laid.unit else { return None };
    let block = path.get(message)?.blocks.get(at)?;
    let is_one = block.kind == Kind::ToolResult && laid.covered.is_none() && laid.result.is_none();
    (is_one && calls.contains(block.tool_use_id.as_deref()?)).then_some(at)
}

/// The commits of effects, newest first.
pub fn by(view: &View<'_>, effects: impl Iterator<Item = EffectId>) -> Vec<String> {
    view.commits(effects).iter().map(ToString::to_string).collect()
}

/// The labels of a frame: its edits, and the repairs by rules.
pub fn chips(
    engine: &Engine,
    desk: &Desk<'_>,
    frame: &Frame,
    units: &[ViewUnit],
) -> impl Iterator<Item = &'static str> {
    let is_thinking = |laid: &ViewUnit| match laid.unit {
        Unit::Source { message, block: Some(block) } => {
            desk.source.messages[message].blocks.get(block).is_some_and(|block| block.kind == Kind::Thinking)
        }
        _ => false,
    };
    let is_torn = |laid: &ViewUnit| match laid.unit {
        Unit::Made(made) => laid.covered.is_none() && !desk.view.left_out_of(made).is_empty(),
        Unit::Source { .. } => desk.view.is_left_out(laid),
    };
    let (thoughts, others): (Vec<&ViewUnit>, Vec<&ViewUnit>) =
        units.iter().filter(|laid| is_torn(laid)).partition(|laid| is_thinking(laid));
    let repaired = (!others.is_empty()).then_some("repaired");
    let dropped = (!thoughts.is_empty()).then_some("thinking-dropped");
    let lacks = units.iter().any(|laid| engine.lacks_its_file(desk.view, laid)).then_some("file-missing");
    frame.chips(desk.view, units).into_iter().chain(lacks).chain(repaired).chain(dropped)
}

/// The labels of a step, without those of the whole frame.
pub fn step_chips(engine: &Engine, desk: &Desk<'_>, frame: &Frame, units: &[ViewUnit]) -> Vec<String> {
    let of_frame = ["moved", "combined", "split", "added"];
    let chips = chips(engine, desk, frame, units).filter(|chip| !of_frame.contains(chip));
    chips.map(str::to_owned).collect()
}

/// The estimate of the client's content, covered or not.
fn source_weight(path: &[&Message], units: &[ViewUnit]) -> f64 {
    units
        .iter()
        .filter_map(|laid| match laid.unit {
            Unit::Source { message, block: Some(block) } => path[message].blocks.get(block).map(tokens::of_block),
            _ => None,
        })
        .sum()
}

/// The system prompt and the tools, as frames.
fn around(conversation: &Conversation, view: &View<'_>) -> Vec<(f64, FrameView)> {
    let envelope = &conversation.newest.envelope;
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
        // A part of it has to stay.
        state.extend(view.keeps(id).then_some("repaired"));
        let weight = kept.sum::<f64>() + made.sum::<f64>();
        let frame = FrameView {
            id: id.into(),
            kind: id.into(),
            title,
            summary: None,
            tokens: conversation.tokens(weight),
            source_tokens: conversation.tokens(pieces.iter().map(weigh).sum()),
            messages: pieces.len(),
            steps: 0,
            state: state.into_iter().map(str::to_owned).collect(),
            left: None,
            by: by(view, laid.iter().flat_map(Around::by)),
            pinned: false,
            pending: false,
            waiting: Vec::new(),
            step_list: None,
        };
        (weight, frame)
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
