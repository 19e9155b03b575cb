//! Effects at random, sensible or not.

use crate::judge::Case;
use ctx_core::edit::effect::{
    BlockRef, Cover, CutPoint, Effect, EffectId, FrameKey, FrameRef, MessageRef, NewMessage, NewMessageId, NewResult,
    Place, Why,
};
use ctx_core::edit::history::CommitId;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};
use ctx_core::tree::SlotId;
use ctx_wire::anthropic::content::restored;
use testkit::Random;

pub fn id(index: usize) -> EffectId {
    EffectId { commit: CommitId(7), index: index as u32 }
}

pub fn any(random: &mut Random, case: &Case) -> Effect {
    match random.below(16) {
        0..=3 => Effect::Replace { why: Why::Deleted, covers: covers(random, case), by: vec![] },
        4..=7 => Effect::Replace { why: Why::Edited, covers: covers(random, case), by: made(random, case) },
        8 | 9 => Effect::Results { results: results(random, case), summarized: false },
        10 => Effect::Insert { number: 1, messages: made(random, case), to: place(random, case), title: None },
        11 | 12 => Effect::Move { frames: frames(random, case), to: place(random, case) },
        13 => Effect::Combine { frames: frames(random, case) },
        14 => Effect::Split { frame: frame(random, case).key, before: vec![cut(random, case), cut(random, case)] },
        _ => Effect::Replace { why: Why::Edited, covers: vec![around(random)], by: around_by(random) },
    }
}

/// One that leaves frames where they are.
pub fn in_place(random: &mut Random, case: &Case) -> Effect {
    loop {
        let effect = any(random, case);
        if matches!(effect, Effect::Replace { .. } | Effect::Results { .. }) {
            return effect;
        }
    }
}

fn of(message: usize) -> MessageRef {
    MessageRef::Slot(SlotId(message as u64))
}

fn cover(case: &Case, message: usize, blocks: impl Iterator<Item = usize>) -> Cover {
    let facts = &case.facts[message];
    let named = blocks.filter_map(|block| Some(BlockRef::of(block as u32, facts.blocks.get(block)?)));
    Cover::blocks(of(message), facts.key, named.collect())
}

fn covers(random: &mut Random, case: &Case) -> Vec<Cover> {
    let count = case.facts.len();
    match random.below(6) {
        // Blocks here and there.
        0 | 1 => (0..random.between(1, 4))
            .map(|_| {
                let message = random.below(count);
                let block = random.below(case.facts[message].blocks.len());
                cover(case, message, block..block + 1)
            })
            .collect(),
        // A range of messages: a step, a frame, most of it.
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
            NewMessage { role, content: (0..random.between(1, 4)).map(|_| restored(&block(random, case))).collect() }
        })
        .collect()
}

fn block(random: &mut Random, case: &Case) -> String {
    let id = match random.below(3) {
        0 => "toolu_new".to_owned(),
        1 => "toolu_other".to_owned(),
        _ => {
            let blocks: Vec<_> = case.facts.iter().flat_map(|message| &message.blocks).collect();
            random.pick(&blocks).and_then(|block| block.tool_use_id.as_deref()).unwrap_or("toolu_none").to_owned()
        }
    };
    match random.below(14) {
        0 => format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#),
        1 => format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"made"}}"#),
        2 => format!(r#"{{"type":"server_tool_use","id":"{id}","name":"web_search","input":{{}}}}"#),
        3 => format!(r#"{{"type":"web_search_tool_result","tool_use_id":"{id}","content":[]}}"#),
        4 => r#"{"type":"text","text":"  "}"#.to_owned(),
        5 => r#"{"type":"thinking","thinking":"","signature":"x"}"#.to_owned(),
        6 => ["7", "{", "{}", "", r#"{"type":7}"#, r#"{"type":"tool_use","input":3}"#][random.below(6)].to_owned(),
        7 => r#" {"type":"text","text":"marked","cache_control":{"type":"ephemeral","ttl":"1h"} } "#.to_owned(),
        _ => r#"{"type":"text","text":"made"}"#.to_owned(),
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

fn around(random: &mut Random) -> Cover {
    match random.below(7) {
        at @ 0..=2 => Cover::System { at: at as u32, key: Key([0; 16]) },
        at => Cover::Tool { name: ["Bash", "Read", "Later", "web_search"][at - 3].into() },
    }
}

fn around_by(random: &mut Random) -> Vec<NewMessage> {
    let blocks = match random.below(5) {
        2 => vec![format!(r#"{{"name":"{}","defer_loading":true}}"#, ["Bash", "Read"][random.below(2)])],
        0 => vec![r#"{"type":"text","text":"made"}"#.to_owned(), r#"{"type":"text","text":""}"#.to_owned()],
        1 => vec![r#"{"name":"Read","input_schema":{"made":1}}"#.to_owned(), "7".to_owned()],
        _ => return Vec::new(),
    };
    vec![NewMessage { role: None, content: blocks.iter().map(|block| restored(block)).collect() }]
}

pub fn delete(case: &Case, blocks: &[(usize, usize)]) -> Effect {
    let covers = blocks.iter().map(|&(message, block)| cover(case, message, block..block + 1)).collect();
    Effect::Replace { why: Why::Deleted, covers, by: vec![] }
}

pub fn replace_results(case: &Case, blocks: &[(usize, usize)]) -> Effect {
    let result = |&(message, at): &(usize, usize)| {
        let block = BlockRef::of(at as u32, &case.facts[message].blocks[at]);
        NewResult { of: of(message), block, text: "[dropped]".into() }
    };
    Effect::Results { results: blocks.iter().map(result).collect(), summarized: false }
}
