//! Invariants after every request and every operation.

use crate::words::{self, Counts, Kind};
use crate::world::{Outcome, World, text};
use ctx_api::edit::RepairView;
use ctx_api::requests::CompositionView;
use ctx_api::show::ContentView;
use ctx_core::WireId;
use serde_json::Value;
use std::collections::BTreeSet;

fn refusal(what: &str) -> impl Fn(ctx_engine::Refusal) -> String {
    move |refusal| format!("{what} fails: {} ({})", refusal.message, refusal.code)
}

pub fn name(world: &World, at: usize) -> String {
    world.talks[at].conversation.clone().unwrap_or_default()
}

pub fn compose(world: &World, at: usize) -> Result<Vec<u8>, String> {
    world.service().compose(&name(world, at), None).map_err(refusal("compose"))
}

pub fn explain(world: &World, at: usize) -> Result<CompositionView, String> {
    world.service().explain(&name(world, at), None).map_err(refusal("explain"))
}

/// A body without cache marks, every content a list.
pub fn bare(body: &[u8]) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
    strip(&mut body);
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if message["content"].is_string() {
            message["content"] = serde_json::json!([{"type": "text", "text": message["content"].take()}]);
        }
    }
    body.to_string()
}

/// A body without what was thought.
fn thoughtless(body: &[u8]) -> Value {
    let mut body: Value = serde_json::from_str(&bare(body)).unwrap_or_default();
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| block["type"] != "thinking");
        }
    }
    body
}

/// What of a conversation a person could see change.
pub fn state(world: &World, at: usize) -> Result<String, String> {
    let name = name(world, at);
    let service = world.service();
    let history = service.history(&name, usize::MAX).map_err(refusal("history"))?;
    Ok(format!("{}\n{:?}\n{:?}", bare(&compose(world, at)?), history.head, history.branch))
}

/// All of a conversation.
pub fn whole(world: &World, at: usize) -> Result<String, String> {
    with(world, at, &compose(world, at)?)
}

/// All of a conversation, of which is known what would be sent.
pub fn with(world: &World, at: usize, composed: &[u8]) -> Result<String, String> {
    let name = name(world, at);
    let service = world.service();
    let frames = service.frames(&name, true, None).map_err(refusal("list"))?;
    let history = service.history(&name, usize::MAX).map_err(refusal("history"))?;
    Ok(format!("{}\n{frames:?}\n{history:?}", text(composed)))
}

pub fn all(world: &World) -> Result<String, String> {
    let mut out = String::new();
    for at in 0..world.talks.len() {
        if world.talks[at].conversation.is_some() {
            out.push_str(&whole(world, at)?);
            out.push('\n');
        }
    }
    Ok(out)
}

/// What should be sent of a conversation and what should not, by what `show` tells.
#[derive(Debug, Default)]
pub struct Expected {
    pub sent: Counts,
    pub covered: BTreeSet<u64>,
    /// What the provider's rules take out. In a request that goes on behind them they may not.
    pub repaired: BTreeSet<u64>,
    /// A reply has not come back yet: what stands beside it is not sent either.
    pub pending: bool,
}

impl Expected {
    pub fn take(&mut self, shown: &ContentView, pending: bool) {
        for message in shown.messages.iter().filter(|message| pending || !message.pending) {
            for block in &message.blocks {
                let raw = block.raw.as_ref().map_or("", |raw| raw.get());
                let replaced = block.kind == "tool_result" && block.replaced.is_some();
                match (block.is_sent(), replaced) {
                    (false, _) if block.repaired.is_some() => self.repaired.extend(words::count(raw).keys()),
                    (false, _) => self.covered.extend(words::count(raw).keys()),
                    (true, true) => {
                        self.covered.extend(words::count(raw).keys());
                        words::add(&mut self.sent, &block.text);
                    }
                    (true, false) => words::add(&mut self.sent, raw),
                }
            }
        }
        let sent = &self.sent;
        self.covered.retain(|word| !sent.contains_key(word));
        self.repaired.retain(|word| !sent.contains_key(word));
    }
}

pub fn expected(world: &World, at: usize, pending: bool) -> Result<Expected, String> {
    let name = name(world, at);
    let frames = world.service().frames(&name, true, None).map_err(refusal("list"))?;
    let pending_reply = frames.frames.iter().any(|frame| frame.pending);
    let mut expected = Expected { pending: pending_reply, ..Expected::default() };
    let turns: Vec<&str> =
        frames.frames.iter().filter(|frame| frame.kind == "turn").map(|frame| frame.id.as_str()).collect();
    // All at once: the frames stand in the order of their list.
    let all = turns.first().zip(turns.last()).map(|(first, last)| format!("{first}..{last}"));
    let around = frames.frames.iter().filter(|frame| frame.kind != "turn").map(|frame| frame.id.clone());
    for id in around.chain(all) {
        let shown = world.service().show(&name, &id, None).map_err(refusal(&format!("show {id}")))?;
        expected.take(&shown, pending);
    }
    Ok(expected)
}

/// What is covered is gone, what is not is there once.
fn each_once(world: &World, at: usize, sent: &[u8], expected: &Expected, repairs: &[RepairView]) -> Outcome {
    let there = words::count(&text(sent));
    let tell = |what: &str, word: u64| {
        Err(format!(
            "conversation {at}: ~{word}~ {what} ({:?}, {:?})\n{expected:?}\nrepairs: {repairs:#?}\nsent: {}",
            world.words.kind(word),
            world.words.tool(word),
            text(sent)
        ))
    };
    // While a paused answer is continued, its tools are those of before: what `show` tells of them comes true after it.
    let tools_wait = repairs.iter().any(|repair| repair.rule == "A44");
    let waits_for_tools = |word: u64| tools_wait && matches!(world.words.kind(word), Kind::Around | Kind::Made);
    for word in expected.covered.union(&expected.repaired).filter(|word| !waits_for_tools(**word)) {
        if there.contains_key(word) {
            return tell("is not to be sent, and sent", *word);
        }
    }
    for (&word, &times) in &expected.sent {
        let found = there.get(&word).copied().unwrap_or(0);
        let waits = waits_for_tools(word) || expected.pending && world.talks[at].made.contains(&word);
        if found < times && !waits {
            return tell(&format!("is sent {found} times, not {times}"), word);
        }
        if found > times {
            return tell(&format!("is sent {found} times, not {times}"), word);
        }
    }
    for &word in there.keys() {
        if !expected.sent.contains_key(&word) && !expected.covered.contains(&word) && !waits_for_tools(word) {
            return tell("comes from elsewhere", word);
        }
    }
    Ok(())
}

/// What the human has just typed is in the request: no edit can have named it.
pub fn newest_is_sent(world: &World, at: usize, sent: &[u8]) -> Outcome {
    let talk = &world.talks[at];
    let newest = talk.client.messages.iter().rfind(|message| message.role != "system");
    let blocks = newest.filter(|newest| newest.role == "user").into_iter().flat_map(|newest| &newest.blocks);
    let typed = blocks.filter_map(|block| block["text"].as_str()).flat_map(|text| words::count(text).into_keys());
    let there = words::count(&text(sent));
    match typed.into_iter().find(|word| !talk.said.contains(word) && !there.contains_key(word)) {
        Some(word) => Err(format!("~{word}~ was just typed, and is not sent\n{}", text(sent))),
        None => Ok(()),
    }
}

/// After the newest turn of a conversation has left.
pub fn sent(world: &mut World, at: usize) -> Outcome {
    let Some((sent, body)) = world.talks[at].sent.clone() else { return Ok(()) };
    let composed = compose(world, at)?;
    if composed != sent {
        return Err(format!(
            "what would be sent is not what was:\n{}\n{}\nclient: {}",
            text(&composed),
            text(&sent),
            text(&body)
        ));
    }
    let explained = explain(world, at)?;
    for repair in &explained.repairs {
        *world.tally.repairs.entry(repair.rule.clone()).or_default() += 1;
    }
    let is_paused = explained.repairs.iter().any(|repair| repair.rule == "A44");
    if explained.commits.is_empty() && sent != body && !is_paused {
        // Only Anthropic binds what is thought to what was sent before it.
        let is_bound = world.talks[at].client.manner.wire == WireId::Anthropic;
        if !is_bound || !world.talks[at].thought_under_edits {
            return Err(format!("nothing is active, and it was changed:\n{}\n{}", text(&sent), text(&body)));
        }
        if thoughtless(&sent) != thoughtless(&body) {
            return Err(format!(
                "nothing is active, and more than thinking was changed:\n{}\n{}",
                text(&sent),
                text(&body)
            ));
        }
    }
    let expected = expected(world, at, false)?;
    each_once(world, at, &sent, &expected, &explained.repairs)?;
    let mine = words::count(&text(&body));
    for word in expected.sent.keys().chain(&expected.covered).chain(&expected.repaired) {
        if !mine.contains_key(word) && !world.talks[at].made.contains(word) {
            return Err(format!("conversation {at}: ~{word}~ belongs to another conversation\n{}", text(&sent)));
        }
    }
    // Not each time: it takes long.
    if world.tally.requests.is_multiple_of(4) { reading(world, at) } else { Ok(()) }
}

/// What is only read never fails.
fn reading(world: &World, at: usize) -> Outcome {
    if compose(world, at)? != compose(world, at)? {
        return Err("not the same twice".into());
    }
    let (name, service) = (name(world, at), world.service());
    service.diff(&name, "source", "HEAD").map_err(refusal("diff"))?;
    service.timeline(&name, 5).map_err(refusal("timeline"))?;
    let frames = service.frames(&name, true, Some("source")).map_err(refusal("list --at"))?;
    if let Some(frame) = frames.frames.last() {
        service.show(&name, &frame.id, Some("source")).map_err(refusal("show --at"))?;
    }
    Ok(())
}

/// After a side request has left: it had the history with the same edits.
pub fn side(world: &World, at: usize, sent: &[u8]) -> Outcome {
    let expected = expected(world, at, true)?;
    let there = words::count(&text(sent));
    for word in &expected.covered {
        if there.contains_key(word) && world.words.kind(*word) != Kind::Around {
            return Err(format!("~{word}~ is covered, and sent aside\n{}", text(sent)));
        }
    }
    let mine = words::count(&world.talks[at].client.body().to_string());
    let made = &world.talks[at].made;
    for (word, times) in &there {
        // What was copied here may come from an answer that only the client has heard: then it has it once more.
        let heard = usize::from(made.contains(word) && mine.contains_key(word));
        if *times > expected.sent.get(word).copied().unwrap_or(1) + heard {
            return Err(format!("~{word}~ is sent aside {times} times\n{}", text(sent)));
        }
    }
    // What stays only while a paused answer is continued goes with the next question.
    let repairs = explain(world, at)?.repairs;
    if repairs.iter().any(|repair| repair.rule == "A44") {
        return Ok(());
    }
    // So does the newest message, where it stays only because the model has to answer it.
    let is_asked = repairs.iter().any(|repair| repair.rule == "X2");
    let asked = if is_asked { world.newest(at) } else { Counts::new() };
    // Not what was cut off: the client has not taken it into its history.
    let own = |word: &u64| mine.contains_key(word) && !made.contains(word) && !asked.contains_key(word);
    for &word in expected.sent.keys().filter(|word| own(word)) {
        let plain = world.words.kind(word) == Kind::Said && world.words.tool(word).is_none();
        if plain && !there.contains_key(&word) {
            return Err(format!("~{word}~ is not sent aside\n{}", text(sent)));
        }
    }
    Ok(())
}

/// After a request with the history as one text has left: what was taken out is not in it, all else is.
pub fn verdict(world: &World, at: usize, sent: &[u8], body: &[u8]) -> Outcome {
    let there = words::count(&text(sent));
    let Expected { covered, repaired, .. } = expected(world, at, true)?;
    if let Some(word) = covered.iter().find(|word| there.contains_key(word)) {
        return Err(format!("~{word}~ is covered, and sent in a transcript\n{}", text(sent)));
    }
    let made = &world.talks[at].made;
    // What a rule takes out may have been replaced before.
    let may_go = |word: &u64| covered.contains(word) || repaired.contains(word) || made.contains(word);
    let is_lost = |word: &u64| !may_go(word) && !there.contains_key(word);
    match words::count(&text(body)).into_keys().find(is_lost) {
        Some(word) => Err(format!("~{word}~ was cut out of a transcript\n{}", text(sent))),
        None => serde_json::from_slice::<Value>(sent).map(drop).map_err(|error| error.to_string()),
    }
}

/// After an operation: what would be sent now is acceptable, and holds what it should.
pub fn composed(world: &mut World, at: usize) -> Result<(Vec<u8>, Vec<RepairView>), String> {
    let composed = compose(world, at)?;
    let body = world.talks[at].sent.as_ref().map(|(_, body)| text(body)).unwrap_or_default();
    let manner = world.talks[at].client.manner;
    let taken = match manner.wire {
        WireId::Anthropic => world.provider.count(&composed, "thinking-binding-controls-2026-08-01").map(drop),
        _ => manner.judge(&text(&composed), &body),
    };
    taken.map_err(|refused| {
        format!("the provider would refuse: {refused}\nclient: {body}\nsent: {}", text(&composed))
    })?;
    let explained = explain(world, at)?;
    each_once(world, at, &composed, &expected(world, at, false)?, &explained.repairs)?;
    Ok((composed, explained.repairs))
}
