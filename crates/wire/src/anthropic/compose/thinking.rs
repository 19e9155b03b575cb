//! Thinking is sent if and only if the prefix before it is the one it was produced after.

use super::plan::{Out, Piece, Plan, Tag, facts, opened, pieces, tag};
use super::spell;
use crate::anthropic::request::Body;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};

#[derive(Default)]
pub(super) struct Thought {
    pub dropped: usize,
    /// A message has nothing left.
    pub emptied: bool,
    /// The prefix digest after each message.
    pub after: Vec<Key>,
}

/// Goes through the messages with the digest of what stands before them.
pub(super) fn sift(plan: &mut Plan<'_>, around: Key) -> Thought {
    let keeps_all = is_manual(plan.input.body);
    let mut thought = Thought { after: Vec::with_capacity(plan.outs.len()), ..Thought::default() };
    let mut prefix = around;
    let mut outs = std::mem::take(&mut plan.outs);
    let mut bytes = Vec::new();
    for out in &mut outs {
        if out.role == Role::Assistant && !keeps_all {
            let bad = unbound(plan, out, &prefix);
            if !bad.is_empty() {
                let left = opened(plan.input, out);
                for &at in bad.iter().rev() {
                    left.remove(at);
                }
                thought.dropped += bad.len();
                thought.emptied |= left.iter().all(|piece| tag(plan.input, &plan.made, *piece) == Tag::Thinking);
            }
        }
        prefix = step(plan, out, prefix, &mut bytes);
        thought.after.push(prefix);
    }
    plan.outs = outs;
    thought
}

/// In manual mode nothing is bound, and an open tool loop needs its thinking.
fn is_manual(body: &Body) -> bool {
    let thinking = body.request().member(body.bytes(), "thinking");
    thinking
        .is_some_and(|(span, _)| spell::text(body.bytes(), span.start, "type").is_some_and(|kind| kind == "enabled"))
}

/// The places of the thinking that has to go. What was said before a thinking block, in the same message too, must
/// be unchanged.
///
/// One that is left out takes along all that were produced after it: it is missing in the prefix from there on.
/// What was produced without it stays.
fn unbound(plan: &Plan<'_>, out: &Out, prefix: &Key) -> Vec<usize> {
    let input = plan.input;
    let mut bad = Vec::new();
    let mut same = out.first && out.source.is_some();
    for (at, piece) in pieces(input, out).enumerate() {
        same &= piece == Piece::Client { message: out.source.unwrap_or(0), block: at as u32, text: 0 };
        let Piece::Client { message, block, .. } = piece else { continue };
        let Some(block) = facts(input, message, block).filter(|block| block.kind == Kind::Thinking) else { continue };
        if !same || block.signature.and_then(|signature| (input.bound)(&signature)) != Some(*prefix) {
            same = false;
            bad.push(at);
        }
    }
    bad
}

/// The digest after a message. One that is as the client sent it counts by its own digest, so that the prefix is
/// that of the untouched request; another by what was made of it.
fn step(plan: &Plan<'_>, out: &Out, prefix: Key, bytes: &mut Vec<u8>) -> Key {
    let digest = |message: u32| plan.input.digests.get(message as usize).copied().unwrap_or(Key([0; 16]));
    if let (Some(source), true) = (out.source, out.is_whole()) {
        return prefix.then(digest(source));
    }
    bytes.clear();
    bytes.extend_from_slice(&prefix.0);
    bytes.extend_from_slice(out.role.name().as_bytes());
    let object = out.source.filter(|_| out.first);
    if let Some(source) = object {
        bytes.extend_from_slice(&digest(source).0);
    }
    for piece in pieces(plan.input, out) {
        match piece {
            Piece::Client { message, block, text } => {
                bytes.push(b'c');
                if Some(message) != object {
                    bytes.extend_from_slice(&digest(message).0);
                }
                bytes.extend_from_slice(&block.to_le_bytes());
                if let Some(text) = text.checked_sub(1).and_then(|text| plan.texts.get(text as usize)) {
                    bytes.push(b't');
                    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
            Piece::Made(at) => {
                let json = plan.made.get(at as usize).map_or("", |made| &made.json);
                bytes.push(b'm');
                bytes.extend_from_slice(&(json.len() as u64).to_le_bytes());
                bytes.extend_from_slice(json.as_bytes());
            }
        }
    }
    Key::of([bytes.as_slice()])
}
