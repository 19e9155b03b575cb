//! Effects at random, sensible or not, in neutral content.

use crate::case::{Case, id};
use ctx_core::content::{CallInput, Content, Origin, WireId};
use ctx_core::edit::effect::{
    BlockRef, Cover, CutPoint, Effect, FrameKey, FrameRef, MessageRef, NewMessage, NewMessageId, NewResult, Place, Why,
};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};
use ctx_core::tree::SlotId;
use testkit::Random;

pub fn any(random: &mut Random, case: &Case) -> Effect {
    match random.below(16) {
        0..=3 => Effect::Replace { why: Why::Deleted, covers: covers(random, case), by: vec![] },
        4..=7 => Effect::Replace { why: Why::Edited, covers: covers(random, case), by: made(random, case) },
        8 | 9 => Effect::Results { results: results(random, case), summarized: false },
        10 => Effect::Insert { number: 1, messages: made(random, case), to: place(random, case), title: None },
        11 | 12 => Effect::Move { frames: frames(random, case), to: place(random, case) },
        13 => Effect::Combine { frames: frames(random, case) },
        14 => Effect::Split { frame: frame(random, case).key, before: vec![cut(random, case), cut(random, case)] },
        _ => Effect::Replace { why: Why::Edited, covers: vec![head(random, case)], by: head_by(random) },
    }
}

fn of(message: usize) -> MessageRef {
    MessageRef::Slot(SlotId(message as u64))
}

pub fn cover(case: &Case, message: usize, blocks: impl Iterator<Item = usize>) -> Cover {
    let facts = &case.facts[message];
    let named = blocks.filter_map(|block| Some(BlockRef::of(block as u32, facts.blocks.get(block)?)));
    Cover::blocks(of(message), facts.key, named.collect())
}

pub fn delete(case: &Case, blocks: &[(usize, usize)]) -> Effect {
    let covers = blocks.iter().map(|&(message, block)| cover(case, message, block..block + 1)).collect();
    Effect::Replace { why: Why::Deleted, covers, by: vec![] }
}

pub fn replace(case: &Case, blocks: &[(usize, usize)], role: Option<Role>, content: Vec<Content>) -> Effect {
    let covers = blocks.iter().map(|&(message, block)| cover(case, message, block..block + 1)).collect();
    Effect::Replace { why: Why::Edited, covers, by: vec![NewMessage { role, content }] }
}

pub fn replace_result(case: &Case, message: usize, text: &str) -> Effect {
    let block = BlockRef::of(0, &case.facts[message].blocks[0]);
    let results = vec![NewResult { of: of(message), block, text: text.into() }];
    Effect::Results { results, summarized: false }
}

fn covers(random: &mut Random, case: &Case) -> Vec<Cover> {
    let count = case.facts.len();
    match random.below(6) {
        0 | 1 => (0..random.between(1, 4))
            .map(|_| {
                let message = random.below(count);
                let block = random.below(case.facts[message].blocks.len());
                cover(case, message, block..block + 1)
            })
            .collect(),
        2..=4 => {
            let from = random.below(count);
            let to = (from + random.between(1, 8)).min(count);
            (from..to).map(|message| cover(case, message, 0..case.facts[message].blocks.len())).collect()
        }
        _ => match random.below(case.effects.len() + 1).checked_sub(1) {
            Some(effect) => vec![Cover::Made(NewMessageId { effect: id(effect), message: random.below(2) as u32 })],
            None => (0..count).map(|message| cover(case, message, 0..case.facts[message].blocks.len())).collect(),
        },
    }
}

fn made(random: &mut Random, case: &Case) -> Vec<NewMessage> {
    (0..random.below(3) + 1)
        .map(|_| {
            let roles = [None, None, Some(Role::User), Some(Role::Assistant), Some(Role::System), Some(Role::Other)];
            let role = random.pick(&roles).copied().flatten();
            NewMessage { role, content: (0..random.between(1, 4)).map(|_| content(random, case)).collect() }
        })
        .collect()
}

fn content(random: &mut Random, case: &Case) -> Content {
    let id = match random.below(3) {
        0 => "callnew01".to_owned(),
        1 => "callother".to_owned(),
        _ => {
            let blocks: Vec<_> = case.facts.iter().flat_map(|message| &message.blocks).collect();
            random.pick(&blocks).and_then(|block| block.tool_use_id.as_deref()).unwrap_or("callnone1").to_owned()
        }
    };
    match random.below(12) {
        0 | 1 => Content::Call { id: Some(id), name: "read".into(), input: CallInput::Json("{}".into()) },
        2 | 3 => Content::Result { id: Some(id), parts: vec![Content::text("made")], error: random.chance(30) },
        4 => Content::text("  "),
        5 => Content::Image { from: Origin::Base64 { media: "image/png".into(), data: "iVBO".into() } },
        6 => Content::Raw { wire: WireId::Anthropic, json: "{}".into(), calls: None, answers: None },
        7 => Content::Call { id: None, name: "read".into(), input: CallInput::Json("{}".into()) },
        _ => Content::text("made"),
    }
}

fn results(random: &mut Random, case: &Case) -> Vec<NewResult> {
    let mut results = Vec::new();
    for (message, facts) in case.facts.iter().enumerate().filter(|(_, facts)| facts.role == Role::User) {
        for (at, block) in facts.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::ToolResult) {
            if random.chance(40) {
                let text = ["", "[dropped]", "a \"summary\"\n"][random.below(3)].to_owned();
                results.push(NewResult { of: of(message), block: BlockRef::of(at as u32, block), text });
            }
        }
    }
    results
}

fn border(random: &mut Random, case: &Case) -> (MessageRef, u32) {
    let message = random.below(case.facts.len());
    (of(message), random.below(case.facts[message].blocks.len()) as u32)
}

fn cut(random: &mut Random, case: &Case) -> CutPoint {
    let (message, block) = border(random, case);
    CutPoint::Block(message, block)
}

fn frame(random: &mut Random, case: &Case) -> FrameRef {
    let key = match random.below(case.effects.len() * 2 + 4).checked_sub(4) {
        Some(at) => FrameKey::Made { effect: id(at / 2), part: (at % 2) as u32 },
        None => FrameKey::Opened(SlotId(random.below(case.facts.len()) as u64)),
    };
    FrameRef { key, until: random.chance(30).then(|| border(random, case)) }
}

fn frames(random: &mut Random, case: &Case) -> Vec<FrameRef> {
    (0..random.between(1, 4)).map(|_| frame(random, case)).collect()
}

fn place(random: &mut Random, case: &Case) -> Place {
    if random.chance(30) { Place::Start } else { Place::After(frame(random, case)) }
}

fn head(random: &mut Random, case: &Case) -> Cover {
    let envelope = case.body.envelope(ctx_clients::lexicon());
    let tools: Vec<String> = envelope.tools.iter().flatten().map(|tool| tool.name.to_string()).collect();
    match (random.pick(&tools), random.chance(50)) {
        (Some(name), true) => Cover::Tool { name: name.clone() },
        _ => Cover::System { at: random.below(2) as u32, key: Key([0; 16]) },
    }
}

fn head_by(random: &mut Random) -> Vec<NewMessage> {
    match random.below(3) {
        0 => vec![NewMessage { role: None, content: vec![Content::text("made"), Content::text("")] }],
        1 => vec![NewMessage { role: None, content: vec![Content::text("made")] }],
        _ => Vec::new(),
    }
}
