//! Default titles of frames, steps and parts.

use crate::compose::Ground;
use ctx_core::edit::effect::{Effect, NewMessageId, Why};
use ctx_core::edit::fold::{Frame, Unit, View, ViewUnit};
use ctx_core::edit::resolve::{Desk, Scope, Target};
use ctx_core::message::{Kind, Message, Role};
use ctx_core::{Content, frames};

pub fn target_title(desk: &Desk<'_>, target: &Target) -> String {
    let Some(frame) = target.frame.and_then(|at| desk.view.frames.get(at)) else { return target.name.clone() };
    let frame_title = frame_title(desk.view, desk.source.messages, frame);
    match target.scope {
        Scope::Frame => frame_title,
        _ => {
            let call = target.sent_blocks().find_map(|(message, block)| {
                let facts = desk.source.messages[message].blocks.get(block)?;
                let tool = facts.tool.as_deref()?;
                Some(facts.label.as_deref().map_or_else(|| tool.to_owned(), |label| format!("{tool} {label}")))
            });
            call.unwrap_or_else(|| format!("{} of {frame_title}", target.name))
        }
    }
}

/// The title of a frame: a given one, or its opening words.
pub fn frame_title(view: &View<'_>, path: &[&Message], frame: &Frame) -> String {
    if let Some(title) = &frame.title {
        return title.clone();
    }
    let units = view.units(frame, path);
    let mut first_words = None;
    for laid in &units {
        match laid.unit {
            Unit::Source { message, block: Some(_) } => {
                if is_rewritten(view, path, &units, message) {
                    continue;
                }
                if let Some(title) = path[message].title.as_deref().filter(|_| path[message].speaks.is_some()) {
                    return title.to_owned();
                }
                first_words = first_words.or(path[message].title.as_deref().map(str::to_owned));
            }
            Unit::Made(made) if first_words.is_none() && laid.covered.is_none() => {
                first_words = made_title(view, made);
            }
            _ => {}
        }
    }
    // Without user text, the model's actions are more informative.
    let doing = || {
        let speakers = units.iter().filter_map(|laid| match laid.unit {
            Unit::Source { message, .. } => Some(message).filter(|at| path[*at].role == Role::Assistant),
            Unit::Made(_) => None,
        });
        // In some formats, each call of a step is a message.
        let mut steps: Vec<usize> = speakers.collect();
        steps.dedup();
        let title = |step: &[usize]| Some(step_title(view, path, step, &[])).filter(|title| title != NO_TEXT);
        steps.chunk_by(|one, next| one + 1 == *next).find_map(title)
    };
    first_words.or_else(doing).unwrap_or_else(|| "(no words)".to_owned())
}

/// Whether an edit rewrote all text of a message; the title then comes from the edit.
fn is_rewritten(view: &View<'_>, path: &[&Message], units: &[ViewUnit], message: usize) -> bool {
    let is_text = |laid: &&ViewUnit| match laid.unit {
        Unit::Source { message: of, block: Some(at) } if of == message => {
            path[message].blocks.get(at).is_some_and(|block| block.kind == Kind::Text)
        }
        _ => false,
    };
    let is_edited = |laid: &ViewUnit| {
        let effect = laid.covered.and_then(|id| view.effect(id));
        matches!(effect, Some(Effect::Replace { why: Why::Edited, by, .. }) if !by.is_empty())
    };
    let mut texts = units.iter().filter(is_text).peekable();
    texts.peek().is_some() && texts.all(is_edited)
}

/// The title of a step without text or calls.
const NO_TEXT: &str = "(no text)";

/// The title of a new message: its text or its call.
fn made_title(view: &View<'_>, id: NewMessageId) -> Option<String> {
    view.made(id)?.content.iter().find_map(|content| match content {
        Content::Text { text } => Some(ctx_core::title::line(text)),
        Content::Call { name, .. } => Some(name.clone()),
        Content::Raw { wire, json, .. } => Some(ctx_core::title::line(&ctx_wire::wire(*wire).title(json)?)),
        Content::Result { .. } | Content::Image { .. } | Content::Document { .. } | Content::Reasoning { .. } => None,
    })
}

/// The title of a frame by its id, and its index in the view.
pub fn title(ground: &Ground<'_>, view: &View<'_>, id: &str, at: Option<usize>) -> Option<String> {
    match id {
        "system" => Some("System prompt".to_owned()),
        "tools" => Some("Tools".to_owned()),
        _ => Some(frame_title(view, &ground.messages, view.frames.get(at?)?)),
    }
}

/// The title of a step: the model's actions as sent, or the beginning of its text. An unsent step keeps its original
/// title.
pub fn step_title(view: &View<'_>, path: &[&Message], messages: &[usize], units: &[ViewUnit]) -> String {
    let of_client = || {
        let (first, last) = messages.first().zip(messages.last())?;
        let step = frames::Step {
            start: frames::Border { message: *first, block: 0 },
            end: frames::Border { message: last + 1, block: 0 },
        };
        Some(frames::step_title(path, &step)).filter(|title| title != NO_TEXT)
    };
    let sent: Vec<&ViewUnit> = units.iter().filter(|laid| laid.covered.is_none()).collect();
    let blocks = sent.iter().filter_map(|laid| match laid.unit {
        Unit::Source { message, block: Some(at) } if path[message].role == Role::Assistant => {
            path[message].blocks.get(at)
        }
        _ => None,
    });
    let calls = || frames::calls_title(blocks.clone());
    let words = || {
        sent.iter().find_map(|laid| match laid.unit {
            Unit::Made(made) => made_title(view, made),
            Unit::Source { message, block: Some(at) } if path[message].role == Role::Assistant => {
                let block = path[message].blocks.get(at).filter(|block| block.kind == Kind::Text)?;
                block.label.as_deref().map(str::to_owned)
            }
            Unit::Source { .. } => None,
        })
    };
    calls().or_else(words).or_else(of_client).unwrap_or_else(|| NO_TEXT.to_owned())
}
