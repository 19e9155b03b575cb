//! The difference between two sets of effects, frame by frame.

use crate::compose::Ground;
use crate::conversation::Conversation;
use ctx_api::edit::Preview;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::edit::frame_id::FrameId;
use ctx_core::edit::layout::layout;
use ctx_core::message::Kind;
use ctx_core::{Key, tokens};
use std::collections::{HashMap, HashSet};

/// One unit that is sent, or would be if the rules did not omit it, and its weight.
#[derive(Clone, Copy)]
struct SentUnit {
    key: Key,
    weight: f64,
    left_out: bool,
    /// Its step in its frame, counted from 1; 0 before the first one.
    step: usize,
}

pub struct FrameOverview {
    pub id: String,
    pub weight: f64,
    sent: Vec<SentUnit>,
    /// The key of everything shown of it beside its content.
    shown: Key,
}

pub struct Overview {
    pub weight: f64,
    pub frames: Vec<FrameOverview>,
}

pub fn overview(conversation: &Conversation, ground: &Ground<'_>, view: &View<'_>) -> Overview {
    let mut frames = around(conversation, view);
    for frame in &view.frames {
        let layout = layout(view, frame, &ground.messages);
        let steps = layout.groups.iter().flat_map(|group| group.units.clone().map(|_| group.step));
        let sent: Vec<SentUnit> = layout
            .units
            .iter()
            .zip(steps)
            .filter(|(laid, _)| laid.covered.is_none())
            .map(|(laid, step)| SentUnit { step, ..one(ground, view, laid) })
            .collect();
        let flags = [u8::from(frame.pinned), u8::from(frame.moved), u8::from(frame.combined)];
        let title = frame.title.as_deref().unwrap_or_default();
        let summary = frame.summary.as_deref().unwrap_or_default();
        frames.push(FrameOverview {
            id: frame.id.to_string(),
            weight: sent.iter().map(|sent| sent.weight).sum(),
            sent,
            shown: Key::of([flags.as_slice(), title.as_bytes(), summary.as_bytes()]),
        });
    }
    Overview { weight: frames.iter().map(|frame| frame.weight).sum(), frames }
}

/// The system prompt and the tools.
fn around(conversation: &Conversation, view: &View<'_>) -> Vec<FrameOverview> {
    let envelope = &conversation.newest.envelope;
    let tools = envelope.tools.as_deref().unwrap_or_default();
    let pieces = [("tools", tools, &view.tools), ("system", envelope.system.as_slice(), &view.system)];
    pieces
        .into_iter()
        .filter(|(_, pieces, _)| !pieces.is_empty())
        .map(|(id, pieces, laid)| {
            let mut sent: Vec<SentUnit> = Vec::new();
            for (piece, around) in pieces.iter().zip(laid) {
                if around.covered.is_none() {
                    let weight = if piece.deferred { 0.0 } else { tokens::estimate(piece.chars, 0) };
                    sent.push(SentUnit { key: piece.key, weight, left_out: false, step: 0 });
                }
                for &id in &around.by {
                    let key = view.made(id).map(NewMessage::key).unwrap_or_default();
                    let weight = view.weigh_made(id);
                    sent.push(SentUnit { key, weight, left_out: weight == 0.0, step: 0 });
                }
            }
            let weight = sent.iter().map(|sent| sent.weight).sum();
            FrameOverview { id: id.to_owned(), weight, sent, shown: Key::default() }
        })
        .collect()
}

/// The estimated tokens of the thinking that the rules omit.
pub fn thinking_left_out(ground: &Ground<'_>, view: &View<'_>) -> f64 {
    let units = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
    let thinking = units.filter(|laid| view.is_left_out(laid)).filter_map(|laid| match laid.unit {
        Unit::Source { message, block: Some(block) } => ground.messages.get(message)?.blocks.get(block),
        _ => None,
    });
    thinking.filter(|block| block.kind == Kind::Thinking).map(tokens::of_block).sum()
}

/// Which tools and system blocks are sent identically in two views, in the provider's reading order.
pub fn around_alike(conversation: &Conversation, old: &View<'_>, new: &View<'_>) -> Vec<(String, f64, bool)> {
    let keys = |frame: &FrameOverview| -> Vec<Key> { frame.sent.iter().map(|sent| sent.key).collect() };
    let pairs = around(conversation, old).into_iter().zip(around(conversation, new));
    pairs.map(|(old, new)| (new.id.clone(), new.weight, keys(&old) == keys(&new))).collect()
}

fn one(ground: &Ground<'_>, view: &View<'_>, laid: &ViewUnit) -> SentUnit {
    let key = match laid.unit {
        Unit::Made(made) => view.made(made).map(NewMessage::key).unwrap_or_default(),
        Unit::Source { message, block } => {
            let mut place = Key::default();
            let (first, second) = place.0.split_at_mut(8);
            first.copy_from_slice(&(message as u64 + 1).to_le_bytes());
            second.copy_from_slice(&block.map_or(u64::MAX, |at| at as u64).to_le_bytes());
            // Its place distinguishes a unit as it came.
            view.new_result(laid).map_or(place, |text| Key::of([place.0.as_slice(), text.as_bytes()]))
        }
    };
    SentUnit { key, weight: view.weigh(laid, &ground.messages), left_out: view.is_left_out(laid), step: 0 }
}

impl Overview {
    /// The ids of the frames that operations changed, in the order of the new ones.
    pub fn changed(old: &Overview, new: &Overview) -> Vec<String> {
        Overview::differing(old, new, |_| true)
    }

    /// The ids of all changed frames, including those that only a rule changed.
    pub fn sent_otherwise(old: &Overview, new: &Overview) -> Vec<String> {
        Overview::differing(old, new, |sent| !sent.left_out)
    }

    fn differing(old: &Overview, new: &Overview, counts: fn(&&SentUnit) -> bool) -> Vec<String> {
        let ids = |overview: &'_ Overview| -> HashMap<String, usize> {
            overview.frames.iter().enumerate().map(|(at, frame)| (frame.id.clone(), at)).collect()
        };
        let (old_ids, new_ids) = (ids(old), ids(new));
        let differs = |frame: &&FrameOverview| {
            old_ids.get(&frame.id).is_none_or(|&at| {
                let other = &old.frames[at];
                let keys = |frame: &FrameOverview| -> Vec<Key> {
                    frame.sent.iter().filter(counts).map(|sent| sent.key).collect()
                };
                let same = keys(other) == keys(frame);
                !same || other.shown != frame.shown
            })
        };
        let mut ids: Vec<String> = new.frames.iter().filter(differs).map(|frame| frame.id.clone()).collect();
        let gone = old.frames.iter().filter(|frame| !new_ids.contains_key(&frame.id));
        ids.extend(gone.map(|frame| frame.id.clone()));
        ids
    }

    /// Whether nothing sent or shown differs, including the order.
    pub fn is_same(old: &Overview, new: &Overview) -> bool {
        let ids =
            |overview: &Overview| -> Vec<String> { overview.frames.iter().map(|frame| frame.id.clone()).collect() };
        ids(old) == ids(new) && Overview::changed(old, new).is_empty()
    }

    /// The position of the first difference, and the size of the rest behind it.
    pub fn preview(conversation: &Conversation, old: &Overview, new: &Overview) -> Preview {
        let flat = |overview: &Overview| -> Vec<(String, SentUnit)> {
            let of = |frame: &FrameOverview| {
                let sent = frame.sent.iter().filter(|sent| !sent.left_out);
                sent.map(|sent| (frame.id.clone(), *sent)).collect::<Vec<_>>()
            };
            overview.frames.iter().flat_map(of).collect()
        };
        let (old, new) = (flat(old), flat(new));
        let same = old.iter().zip(&new).take_while(|((_, one), (_, other))| one.key == other.key).count();
        if same == old.len() && same == new.len() {
            return Preview::default();
        }
        let first = new.get(same).or(old.get(same));
        let weigh = |sent: &[(String, SentUnit)]| sent.iter().map(|(_, sent)| sent.weight).sum::<f64>();
        let (ahead, behind) = new.split_at(same);
        Preview {
            first_change: first.map(|(id, _)| id.clone()),
            first_step: first.filter(|(_, sent)| sent.step > 0).map(|(id, sent)| format!("{id}/{}", sent.step)),
            tokens_ahead: conversation.tokens(weigh(ahead)),
            tokens_reread: conversation.tokens(weigh(behind)),
            ..Preview::default()
        }
    }
}

/// Frames of which the other side has only parts, with the same content, and those parts.
#[derive(Default)]
pub struct OnlyCut<'a> {
    pub wholes: HashSet<&'a str>,
    pub parts: HashSet<&'a str>,
}

pub fn only_cut<'a>(whole: &'a Overview, cut: &'a Overview) -> OnlyCut<'a> {
    let known: HashSet<&str> = cut.frames.iter().map(|frame| frame.id.as_str()).collect();
    let keys = |frames: &[&FrameOverview]| -> Vec<Key> {
        frames.iter().flat_map(|frame| &frame.sent).filter(|sent| !sent.left_out).map(|sent| sent.key).collect()
    };
    let mut found = OnlyCut::default();
    for frame in whole.frames.iter().filter(|frame| !known.contains(frame.id.as_str())) {
        let Ok(id) = frame.id.parse::<FrameId>() else { continue };
        let is_part = |other: &&FrameOverview| other.id.parse::<FrameId>().is_ok_and(|other| other.is_in(&id));
        let parts: Vec<&FrameOverview> = cut.frames.iter().filter(is_part).collect();
        if !parts.is_empty() && keys(&[frame]) == keys(&parts) {
            found.wholes.insert(&frame.id);
            found.parts.extend(parts.iter().map(|part| part.id.as_str()));
        }
    }
    found
}

pub fn by_id(overview: &Overview) -> HashMap<&str, f64> {
    overview.frames.iter().map(|frame| (frame.id.as_str(), frame.weight)).collect()
}
