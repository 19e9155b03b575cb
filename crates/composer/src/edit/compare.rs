//! What differs between two sets of effects, frame by frame.

use super::Ground;
use super::apply::Preview;
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::view::show;
use crate::{Composer, Refusal};
use ctx_core::Key;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::{Laid, Unit, View};
use ctx_core::edit::resolve::made_weight;
use ctx_core::tokens;
use serde::{Deserialize, Serialize};

/// One thing that is sent, and what it weighs.
type Sent = (Key, f64);

pub struct FrameOverview {
    pub id: String,
    pub weight: f64,
    sent: Vec<Sent>,
    /// What people see of it beside its content.
    shown: Key,
}

pub struct Overview {
    pub weight: f64,
    pub frames: Vec<FrameOverview>,
}

pub fn overview(conversation: &Conversation, ground: &Ground<'_>, view: &View<'_>) -> Overview {
    let mut frames = around(conversation, view);
    for frame in &view.frames {
        let sent: Vec<Sent> = view
            .units(frame, &ground.messages)
            .iter()
            .filter(|laid| laid.covered.is_none())
            .map(|laid| one(ground, view, laid))
            .collect();
        let flags = [u8::from(frame.pinned), u8::from(frame.moved), u8::from(frame.combined)];
        let title = frame.title.as_deref().unwrap_or_default();
        let summary = frame.summary.as_deref().unwrap_or_default();
        frames.push(FrameOverview {
            id: frame.id.to_string(),
            weight: sent.iter().map(|(_, weight)| weight).sum(),
            sent,
            shown: Key::of([flags.as_slice(), title.as_bytes(), summary.as_bytes()]),
        });
    }
    Overview { weight: frames.iter().map(|frame| frame.weight).sum(), frames }
}

/// The system prompt and the tools.
fn around(conversation: &Conversation, view: &View<'_>) -> Vec<FrameOverview> {
    let envelope = &conversation.envelope;
    let tools = envelope.tools.as_deref().unwrap_or_default();
    let pieces = [("tools", tools, &view.tools), ("system", envelope.system.as_slice(), &view.system)];
    pieces
        .into_iter()
        .filter(|(_, pieces, _)| !pieces.is_empty())
        .map(|(id, pieces, laid)| {
            let mut sent: Vec<Sent> = Vec::new();
            for (piece, around) in pieces.iter().zip(laid) {
                if around.covered.is_none() {
                    let weight = if piece.deferred { 0.0 } else { tokens::estimate(piece.chars, 0) };
                    sent.push((piece.key, weight));
                }
                for made in around.by.iter().filter_map(|made| view.made(*made)) {
                    sent.push((Key::of(made.blocks.iter().map(|block| block.as_bytes())), made_weight(made)));
                }
            }
            let weight = sent.iter().map(|(_, weight)| weight).sum();
            FrameOverview { id: id.to_owned(), weight, sent, shown: Key::default() }
        })
        .collect()
}

fn one(ground: &Ground<'_>, view: &View<'_>, laid: &Laid) -> Sent {
    match laid.unit {
        Unit::Made(made) => {
            let made = view.made(made);
            let blocks = made.map(|made| made.blocks.as_slice()).unwrap_or_default();
            (Key::of(blocks.iter().map(|block| block.as_bytes())), made.map_or(0.0, made_weight))
        }
        Unit::Source { message, block } => {
            let place =
                [(message as u64).to_le_bytes(), (block.map_or(u64::MAX, |at| at as u64)).to_le_bytes()].concat();
            match view.new_result(laid) {
                Some(text) => {
                    (Key::of([place.as_slice(), text.as_bytes()]), tokens::estimate(text.chars().count() as u32, 0))
                }
                None => {
                    let facts = block.and_then(|at| ground.messages[message].blocks.get(at));
                    (Key::of([place.as_slice()]), facts.map_or(0.0, tokens::of_block))
                }
            }
        }
    }
}

impl Overview {
    /// The ids of the frames that differ, in the order of the new ones.
    pub fn changed(old: &Overview, new: &Overview) -> Vec<String> {
        let find = |frames: &[FrameOverview], id: &str| frames.iter().position(|frame| frame.id == id);
        let differs = |frame: &&FrameOverview| {
            find(&old.frames, &frame.id).is_none_or(|at| {
                let other = &old.frames[at];
                let same = other.sent.iter().map(|(key, _)| key).eq(frame.sent.iter().map(|(key, _)| key));
                !same || other.shown != frame.shown
            })
        };
        let mut ids: Vec<String> = new.frames.iter().filter(differs).map(|frame| frame.id.clone()).collect();
        let gone = old.frames.iter().filter(|frame| find(&new.frames, &frame.id).is_none());
        ids.extend(gone.map(|frame| frame.id.clone()));
        ids
    }

    /// Where what is sent first differs, and how much comes behind it.
    pub fn preview(conversation: &Conversation, old: &Overview, new: &Overview) -> Preview {
        let flat = |overview: &Overview| -> Vec<(String, Key, f64)> {
            let frames = overview.frames.iter();
            frames.flat_map(|frame| frame.sent.iter().map(|(key, weight)| (frame.id.clone(), *key, *weight))).collect()
        };
        let (old, new) = (flat(old), flat(new));
        let same = old.iter().zip(&new).take_while(|(one, other)| one.1 == other.1).count();
        if same == old.len() && same == new.len() {
            return Preview::default();
        }
        let first = new.get(same).or(old.get(same)).map(|(id, _, _)| id.clone());
        let behind: f64 = new[same..].iter().map(|(_, _, weight)| weight).sum();
        Preview { first_change: first, tokens_reread: conversation.calibration.tokens(behind), ..Preview::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    pub conversation: String,
    pub from: String,
    pub to: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub frames: Vec<FrameDiff>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameDiff {
    pub id: String,
    pub title: String,
    /// `same`, `changed`, `added`, `removed` or `moved`.
    pub change: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub before: String,
    pub after: String,
}

impl Composer {
    /// Compares what would be sent at two points of the history; `source` is what the agent believes.
    pub fn diff(&self, name: &str, from: &str, to: &str) -> Result<Diff, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let views =
            [from, to].map(|point| -> Result<View<'_>, Refusal> { Ok(ground.lay(at_point(&conversation, point)?)) });
        let [old, new] = views;
        let (old, new) = (old?, new?);
        let texts = self.texts(&conversation, 0..ground.messages.len())?;
        let scale = |weight: f64| conversation.calibration.tokens(weight);
        let (before, after) = (overview(&conversation, &ground, &old), overview(&conversation, &ground, &new));
        let changed = Overview::changed(&before, &after);
        let mut frames = Vec::new();
        let mut ids: Vec<&str> = after.frames.iter().map(|frame| frame.id.as_str()).collect();
        ids.extend(
            before.frames.iter().map(|frame| frame.id.as_str()).filter(|id| !ids.contains(id)).collect::<Vec<_>>(),
        );
        for id in ids {
            let find =
                |overview: &Overview| overview.frames.iter().find(|frame| frame.id == id).map(|frame| frame.weight);
            let (was, is) = (find(&before), find(&after));
            let text = |view: &View<'_>| show::plain(&conversation, &ground, view, id, &texts);
            let (before, after) = (text(&old), text(&new));
            let moved = |view: &View<'_>| view.frames.iter().any(|frame| frame.id.to_string() == id && frame.moved);
            let change = match (was, is) {
                (None, _) => "added",
                (_, None) => "removed",
                (Some(was), Some(is)) if was > 0.0 && is == 0.0 => "removed",
                (Some(was), Some(is)) if was == 0.0 && is > 0.0 => "added",
                _ if moved(&old) != moved(&new) => "moved",
                _ if changed.iter().any(|other| other == id) => "changed",
                _ => "same",
            };
            frames.push(FrameDiff {
                id: id.to_owned(),
                title: show::title(&conversation, &ground, &new, id)
                    .or_else(|| show::title(&conversation, &ground, &old, id))
                    .unwrap_or_default(),
                change: change.to_owned(),
                tokens_before: scale(was.unwrap_or(0.0)),
                tokens_after: scale(is.unwrap_or(0.0)),
                before: if change == "same" { String::new() } else { before },
                after: if change == "same" { String::new() } else { after },
            });
        }
        Ok(Diff {
            conversation: conversation.id.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
            tokens_before: scale(before.weight),
            tokens_after: scale(after.weight),
            frames,
        })
    }
}

/// The effects at a point of the history.
pub fn at_point<'a>(conversation: &'a Conversation, point: &str) -> Result<Vec<(EffectId, &'a Effect)>, Refusal> {
    if point == "source" {
        return Ok(Vec::new());
    }
    let head = match point {
        "HEAD" | "head" => conversation.history.head(),
        other => Some(super::past::find(conversation, other)?),
    };
    Ok(conversation.effects(head))
}
