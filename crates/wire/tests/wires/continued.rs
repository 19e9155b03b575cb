//! A request that continues the previous one is composed to the same bytes, without a look at the beginning.

use crate::case::Case;
use crate::effects::{any, delete, replace_result};
use crate::{chat, gemini, long, responses};
use ctx_core::edit::effect::{Effect, FrameKey, MessageRef};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Message};
use ctx_core::tree::SlotId;
use ctx_wire::Wire;
use ctx_wire::compose::{ComposedRequest, Continuation, Memo};
use ctx_wire::{WireId, wire};
use serde_json::Value;
use testkit::{Random, is_long};

const WIRES: [WireId; 3] = [WireId::OpenaiChat, WireId::OpenaiResponses, WireId::Gemini];

fn list(wire: WireId) -> &'static str {
    match wire {
        WireId::Gemini => "contents",
        WireId::OpenaiResponses => "input",
        _ => "messages",
    }
}

/// A conversation while it grows.
struct Growing {
    whole: Value,
    wire: &'static dyn Wire,
    /// The number of elements of the whole one before its messages.
    lead: usize,
    effects: Vec<Effect>,
    memo: Memo,
    edited_from: usize,
}

impl Growing {
    fn new(case: &Case) -> Growing {
        Growing {
            whole: serde_json::from_slice(case.body.bytes()).expect("JSON"),
            wire: case.body.wire(),
            lead: case.body.spans().lead.len(),
            effects: Vec::new(),
            memo: Memo::default(),
            edited_from: usize::MAX,
        }
    }

    /// The request with this many messages.
    fn case(&self, messages: usize) -> Case {
        let mut body = self.whole.clone();
        let array = body[list(self.wire.id())].as_array_mut().expect("a list");
        array.truncate(self.lead + messages);
        Case { effects: self.effects.clone(), ..Case::of(body.to_string().as_bytes(), self.wire) }
    }

    /// Composes it as the engine does, and from nothing. Returns the result, and whether it continued.
    fn compose(&mut self, case: &Case) -> (ComposedRequest, bool) {
        let last = SlotId(case.facts.len() as u64 - 1);
        let waits = |effect: &Effect| !matches!(effect, Effect::Results { .. }) && effect.slots().contains(&last);
        let under = Continuation { number: 1, edited_from: self.edited_from };
        let under = (!case.effects.iter().any(waits)).then_some(under);
        let (composed, continued) =
            case.with_memo(&self.memo, under, |input, view| match self.wire.go_on(input, &|| view) {
                Some(composed) => (composed, true),
                None => (self.wire.compose(input, view), false),
            });
        if !continued && under.is_some() {
            self.edited_from = usize::MAX;
        }
        let whole = case.with(|input, view| self.wire.compose(input, view));
        assert_eq!(composed.bytes(case.body.bytes()), whole.bytes(case.body.bytes()));
        assert_eq!(composed, whole);
        (composed, continued)
    }

    /// Replaces the newest result.
    fn clear_newest(&mut self, case: &Case) {
        let is_result = |message: &Message| message.blocks.first().is_some_and(|block| block.kind == Kind::ToolResult);
        let Some(at) = case.facts.iter().rposition(is_result) else { return };
        self.effects.push(replace_result(case, at, "[cleared]"));
        self.edited_from = self.edited_from.min(at);
    }
}

/// The effect with the end of all that it moves, as the resolver makes it; none if there is no such effect. Only a frame
/// without messages of the client has no end: here, an inserted one that no combination has filled.
fn bounded(mut effect: Effect, case: &Case) -> Option<Effect> {
    let is_filled = |key: &FrameKey| {
        let fills = |effect: &Effect| matches!(effect, Effect::Combine { frames } if frames.iter().any(|frame| frame.key == *key));
        case.effects.iter().any(fills)
    };
    let Effect::Move { frames, .. } = &mut effect else { return Some(effect) };
    for frame in frames.iter_mut().filter(|frame| frame.until.is_none()) {
        match frame.key {
            FrameKey::Opened(slot) => frame.until = Some(end_of(case, slot)?),
            FrameKey::Made { effect, .. } => {
                let by = case.effects.get(effect.index as usize);
                let is_empty = matches!(by, Some(Effect::Insert { .. })) && !is_filled(&frame.key);
                is_empty.then_some(())?;
            }
        }
    }
    Some(effect)
}

/// The last block of the frame that a message opens.
fn end_of(case: &Case, opening: SlotId) -> Option<(MessageRef, u32)> {
    let path: Vec<&Message> = case.facts.iter().collect();
    let frames = ctx_core::frames::frames(&path);
    let end = frames.iter().find(|frame| frame.opening as u64 == opening.0)?.end;
    let (message, block) = match end.block.checked_sub(1) {
        Some(block) => (end.message, block),
        None => (end.message.checked_sub(1)?, path.get(end.message - 1)?.blocks.len().checked_sub(1)?),
    };
    Some((MessageRef::Slot(SlotId(message as u64)), block as u32))
}

/// Composes a conversation of random length under random operations, each time a few messages longer.
fn grow(seed: u64, wire: WireId) -> usize {
    let mut random = Random::new(seed);
    let case = match wire {
        WireId::Gemini => gemini::anything(&mut random),
        WireId::OpenaiResponses => responses::anything(&mut random),
        _ if seed.is_multiple_of(4) => chat::with_restarted_ids(&chat::anything(&mut random), seed.is_multiple_of(8)),
        _ => chat::anything(&mut random),
    };
    let count = case.facts.len();
    let mut growing = Growing::new(&case);
    let mut now = random.between(1, count + 1);
    let mut first = growing.case(now);
    for _ in 0..random.between(1, 4) {
        let effect = bounded(any(&mut random, &first), &first);
        first.effects.extend(effect);
    }
    growing.effects = first.effects;
    if std::env::var("CTX_SEED").is_ok() {
        println!("{now} of {count}: {:#?}", growing.effects);
    }
    let mut continued = 0;
    while now <= count {
        let case = growing.case(now);
        if random.chance(20) {
            growing.clear_newest(&case);
        }
        continued += usize::from(growing.compose(&growing.case(now)).1);
        growing.memo.keep(now);
        now += random.between(1, 5);
    }
    continued
}

#[test]
fn whatever_is_done_continuing_changes_nothing() {
    for wire in WIRES {
        let count = if is_long() { 20_000 } else { 150 };
        let first = testkit::first_seed();
        let seeds = match std::env::var("CTX_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()) {
            Some(seed) => seed..seed + 1,
            None => first..first + count,
        };
        let continued: usize = seeds
            .map(|seed| {
                println!("{wire:?}, CTX_SEED={seed}");
                grow(seed, wire)
            })
            .sum();
        println!("{wire:?}: {continued} requests continued");
        assert!(continued > 50 || std::env::var("CTX_SEED").is_ok(), "{wire:?}: only {continued}");
    }
}

/// The same request with nothing in its first messages; the bytes around them stay where they are.
fn hollow(case: &Case, messages: usize) -> Case {
    let mut bytes = case.body.bytes().to_vec();
    for span in &case.body.spans().messages[..messages] {
        bytes[span.start + 1..span.end - 1].fill(b' ');
    }
    let mut hollow = Case::of(&bytes, case.body.wire());
    assert_eq!(hollow.body.spans().messages, case.body.spans().messages);
    hollow.facts = case.facts.clone();
    for facts in &mut hollow.facts[..messages] {
        *facts = Message { key: Key::default(), blocks: Vec::new(), ..facts.clone() };
    }
    hollow.effects = case.effects.clone();
    hollow
}

#[test]
fn a_request_that_continues_does_not_look_at_the_beginning() {
    for id in WIRES {
        let steps = 30;
        let mut growing = Growing::new(&Case::of(long::body(id, steps).as_bytes(), wire(id)));
        let first = growing.case(2 * steps - 5);
        growing.effects = vec![delete(&first, &[(3, 0), (4, 0)]), replace_result(&first, 6, "short")];
        assert!(!growing.compose(&growing.case(2 * steps - 5)).1, "{id:?}: the first request is composed whole");
        let case = growing.case(2 * steps + 1);
        let (composed, continued) = growing.compose(&case);
        assert!(continued, "{id:?}");
        let under = Some(Continuation::unchanged(1));
        let unseen = hollow(&case, 2 * steps - 20);
        let again = unseen.with_memo(&growing.memo, under, |input, _| {
            growing.wire.go_on(input, &|| panic!("{id:?}: the operations are laid out")).expect("it continues")
        });
        assert_eq!(again.segments, composed.segments, "{id:?}");
    }
}
