//! The composition of the context by kind, and the cost of each turn.

use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use crate::log::{self, AnswerRecord, ArrivalRecord};
use ctx_api::map::{KindView, ShareView, TurnView};
use ctx_core::SlotId;
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::message::{Kind, Role};
use ctx_models::Models;
use ctx_store::Record;
use std::collections::{BTreeMap, HashMap};

type Name = (&'static str, Option<String>);

#[derive(Default)]
struct KindTotal {
    count: usize,
    frames: Vec<(String, f64)>,
}

pub fn kinds(conversation: &Conversation, ground: &Ground<'_>, view: &View<'_>) -> Vec<KindView> {
    let weights = Weights::of(conversation);
    let mut found: BTreeMap<Name, KindTotal> = BTreeMap::new();
    let mut add = |name: Name, frame: &str, weight: f64| {
        let found = found.entry(name).or_default();
        found.count += 1;
        match found.frames.last_mut().filter(|(last, _)| last == frame) {
            Some((_, sum)) => *sum += weight,
            None => found.frames.push((frame.to_owned(), weight)),
        }
    };
    let tools = conversation.newest.envelope.tools.iter().flatten().map(|tool| Some(tool.name.to_string()));
    let named = tools.zip(&view.tools).zip(&weights.tools).map(|((tool, laid), weight)| ("tools", tool, laid, weight));
    let system = view.system.iter().zip(&weights.system).map(|(laid, weight)| ("system", None, laid, weight));
    for (id, tool, laid, weight) in system.chain(named) {
        if laid.covered.is_none() {
            add((id, tool), id, *weight);
        }
        laid.by.iter().for_each(|made| add(("edits", None), id, view.weigh_made(*made)));
    }
    let tool_of: HashMap<&str, &str> = ground
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| block.kind == Kind::ToolUse)
        .filter_map(|block| Some((block.tool_use_id.as_deref()?, block.tool.as_deref()?)))
        .collect();
    for frame in &view.frames {
        let id = frame.id.to_string();
        for laid in view.units(frame, &ground.messages) {
            if laid.covered.is_none() && !view.is_left_out(&laid) {
                add(name(ground, &tool_of, &laid), &id, view.weigh(&laid, &ground.messages));
            }
        }
    }
    let scale = |weight: f64| conversation.tokens(weight);
    let view = |((kind, tool), found): (Name, KindTotal)| {
        let share = |(id, weight): (String, f64)| ShareView { id, tokens: scale(weight) };
        let frames: Vec<ShareView> = found.frames.into_iter().map(share).collect();
        let tokens = frames.iter().map(|share| share.tokens).sum();
        KindView { kind: kind.to_owned(), tool, tokens, count: found.count, frames }
    };
    let mut kinds: Vec<KindView> = found.into_iter().map(view).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.tokens));
    kinds
}

fn name(ground: &Ground<'_>, tool_of: &HashMap<&str, &str>, laid: &ViewUnit) -> Name {
    let Unit::Source { message, block } = laid.unit else { return ("edits", None) };
    let Some(facts) = ground.messages.get(message) else { return ("other", None) };
    let Some(block) = block.and_then(|at| facts.blocks.get(at)) else { return ("other", None) };
    let answered = || block.tool_use_id.as_deref().and_then(|id| tool_of.get(id)).map(|tool| (*tool).to_owned());
    match (block.kind, facts.role) {
        (Kind::Text, Role::Assistant) => ("assistant", None),
        (Kind::Text, Role::User) => ("user", None),
        (Kind::Text | Kind::Reminder, _) => ("reminders", None),
        (Kind::Thinking, _) => ("thinking", None),
        (Kind::ToolUse, _) => ("calls", block.tool.as_deref().map(str::to_owned)),
        (Kind::ToolResult, _) => ("results", answered()),
        (Kind::Image, _) => ("images", None),
        (Kind::Document | Kind::Other, _) => ("other", None),
    }
}

pub fn turns(
    models: &Models,
    conversation: &Conversation,
    ground: &Ground<'_>,
    view: &View<'_>,
    records: &[Record],
) -> Vec<TurnView> {
    let mut frame_of: HashMap<SlotId, String> = HashMap::new();
    for frame in &view.frames {
        let id = frame.id.to_string();
        for laid in view.units(frame, &ground.messages) {
            if let Unit::Source { message, .. } = laid.unit
                && let Some(slot) = ground.slots.get(message)
            {
                frame_of.insert(*slot, id.clone());
            }
        }
    }
    let mut asked: HashMap<u32, (u64, Option<String>, Option<String>)> = HashMap::new();
    let mut turns = Vec::new();
    for record in records.iter().filter(|record| log::is_readable(record.version)) {
        match record.kind.as_str() {
            log::ARRIVED => {
                let Ok(arrived) = serde_json::from_slice::<ArrivalRecord>(&record.body) else { continue };
                let Some(turn) = &arrived.turn else { continue };
                if turn.restart {
                    // The ends of earlier turns are no longer known.
                    asked.values_mut().for_each(|(_, _, frame)| *frame = None);
                    turns.iter_mut().for_each(|turn: &mut TurnView| turn.frame = None);
                }
                let base = || turn.base.filter(|base| *base < conversation.messages.tree.node_count());
                let last = turn.slots.last().map(|slot| SlotId(*slot));
                let last = last.or_else(|| base().map(|base| conversation.messages.tree.slot_at(base).id));
                let frame = last.and_then(|slot| frame_of.get(&slot).cloned());
                asked.insert(arrived.request, (record.at, arrived.model, frame));
            }
            log::ANSWERED => {
                let Ok(answered) = serde_json::from_slice::<AnswerRecord>(&record.body) else { continue };
                let Some(usage) = answered.usage else { continue };
                let Some((at, model, frame)) = asked.remove(&answered.request) else { continue };
                let model = answered.model.clone().or(model);
                let cost = money(models, model.as_deref(), &answered);
                turns.push(TurnView {
                    request: answered.request,
                    at,
                    frame,
                    input: usage.input,
                    cache_read: usage.cache_read,
                    cache_write: usage.cache_write,
                    output: usage.output,
                    context: usage.prompt(),
                    money: cost.as_ref().map(|(money, _)| *money),
                    priced_as: cost.and_then(|(_, stand_in)| stand_in),
                    model,
                });
            }
            _ => {}
        }
    }
    turns
}

/// The cost of an answer in dollars, and the model whose prices substitute for its own, if any.
pub fn money(models: &Models, model: Option<&str>, answered: &AnswerRecord) -> Option<(f64, Option<String>)> {
    let usage = answered.counted()?;
    let (price, stand_in) = models.price(model?, usage.input)?;
    Some((price.dollars(&usage), stand_in.map(str::to_owned)))
}
