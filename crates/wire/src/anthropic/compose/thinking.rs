//! Sends thinking if and only if its prefix is the original one, and all thinking of the answer is there.

use super::Repair;
use super::around::{Around, references};
use super::memo::{Chain, known};
use super::open_loop::{has_all, is_manual};
use super::plan::{Out, Piece, Plan, Tag, facts, opened, pieces, tag};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};

#[derive(Default)]
pub(super) struct Thought {
    pub dropped: usize,
    /// A message became empty.
    pub emptied: bool,
    /// The prefix digest after each message.
    pub after: Vec<Key>,
    /// Synthetic tools that count because a message refers to them.
    pub loaded: Vec<String>,
}

/// Walks through the open messages with the digest of their prefix; `settled`: the digests after the settled messages.
pub(super) fn sift(plan: &mut Plan<'_>, around: &Around, settled: &[Key]) -> Thought {
    let manual = is_manual(plan.input.body);
    let mut thought = Thought { after: Vec::with_capacity(plan.count()), ..Thought::default() };
    thought.after.extend_from_slice(settled);
    let mut prefix = settled.last().copied().unwrap_or(around.digest);
    let mut unread = around.deferred.clone();
    let mut outs = std::mem::take(&mut plan.outs);
    let mut bytes = Vec::new();
    let mut chain = known(plan.input).chain();
    // The messages determine where a tool counts, so its bytes are enough to distinguish two chains.
    chain.begin(around.deferred.iter().fold(around.digest, |key, (_, tool)| key.then(*tool)));
    chain.skip(settled);
    for out in &mut outs {
        if !unread.is_empty() {
            prefix = load(plan, out, prefix, &mut unread, &mut thought.loaded);
        }
        if out.role == Role::Assistant {
            let bad = unfit(plan, out, (!manual).then_some(&prefix));
            if !bad.is_empty() {
                let left = opened(plan.input, out);
                for &at in bad.iter().rev() {
                    left.remove(at);
                }
                thought.dropped += bad.len();
                let is_left =
                    |piece: &Piece| !matches!(tag(plan.input, &plan.made, *piece), Tag::Thinking | Tag::Fallback);
                thought.emptied |= !left.iter().any(is_left);
            }
        }
        prefix = step(plan, out, prefix, &mut chain, &mut bytes);
        thought.after.push(prefix);
    }
    plan.outs = outs;
    thought
}

/// Reports thinking that was left out, and the tools that it counts.
pub(super) fn report_dropped(plan: &mut Plan<'_>, dropped: usize, loaded: &[String]) {
    if dropped == 0 {
        return;
    }
    for name in loaded {
        let what = format!("thinking counts the edited tool {name}: the conversation refers to it");
        plan.repairs.push(Repair::new("A61", what));
    }
    let blocks = if dropped == 1 { "1 thinking block is".to_owned() } else { format!("{dropped} thinking blocks are") };
    let what = format!("{blocks} left out: the content before them has changed");
    plan.repairs.push(Repair::new("A65", what));
}

/// Counts a tool that is not loaded from the message that refers to it, thinking in that message included (A61). The
/// client's own tools count with its messages.
fn load(plan: &Plan<'_>, out: &Out, mut prefix: Key, unread: &mut Vec<(String, Key)>, loaded: &mut Vec<String>) -> Key {
    let names = references(plan, out);
    unread.retain(|(name, tool)| {
        let is_named = names.contains(name);
        if is_named {
            prefix = prefix.then(*tool);
            loaded.push(name.clone());
        }
        !is_named
    });
    prefix
}

/// The indices of the thinking blocks to remove. Everything before a thinking block, in the same message too, must be
/// unchanged; without a prefix it need not be.
///
/// A removed block takes along all that were produced after it, because it is missing in their prefix. Blocks produced
/// without it stay. The provider accepts either all thinking of an answer or none; the latest answer changes from
/// request to request, so the rule applies to each.
fn unfit(plan: &Plan<'_>, out: &Out, prefix: Option<&Key>) -> Vec<usize> {
    if prefix.is_none() && out.is_whole() {
        return Vec::new();
    }
    let input = plan.input;
    let mut all = Vec::new();
    let mut bound = true;
    let mut same = out.first && out.source.is_some();
    for (at, piece) in pieces(input, out).enumerate() {
        same &= piece == Piece::Client { message: out.source.unwrap_or(0), block: at as u32, text: 0 };
        let Piece::Client { message, block, .. } = piece else { continue };
        let Some(block) = facts(input, message, block).filter(|block| block.kind == Kind::Thinking) else { continue };
        all.push(at);
        if let Some(prefix) = prefix {
            bound &= same && block.signature.and_then(|signature| (input.bound)(&signature)) == Some(*prefix);
        }
    }
    if bound && (out.is_whole() || has_all(input, out, all.len())) { Vec::new() } else { all }
}

/// The digest after a message. An untouched message counts by its own digest, so that the prefix equals that of the
/// untouched request; any other counts by its new bytes.
fn step(plan: &Plan<'_>, out: &Out, prefix: Key, chain: &mut Chain, bytes: &mut Vec<u8>) -> Key {
    let digest = |message: u32| plan.input.digests.get(message as usize).copied().unwrap_or(Key([0; 16]));
    if let (Some(source), true) = (out.source, out.is_whole()) {
        let digest = digest(source);
        return chain.then(&digest.0, || prefix.then(digest));
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
    chain.then(bytes, || Key::of([bytes.as_slice()]))
}
