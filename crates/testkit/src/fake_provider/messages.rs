//! `POST /v1/messages`: from a body to a reply, without I/O, in the API's order: check, bind, plan, sign, count,
//! answer.

use super::Options;
use super::answer::{Plan, Script};
use super::binding::{self, Prefix};
use super::cache::{Account, PromptCache};
use super::editing;
use super::json::{Fields, compact, is_truthy, object, text, tokens};
use super::refusal::{Place, Refusal};
use super::request::{Request, is_thinking, kind_of};
use super::routes::Reply;
use super::stream;
use super::tool_search;
use super::validate;
use crate::http1::header;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The state that one request leaves for the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) script: Script,
    pub(crate) cache: PromptCache,
}

/// The reply to a body, and its record.
pub(crate) fn reply(
    options: &Options,
    memory: &mut Memory,
    headers: &[(String, String)],
    body: Option<&Value>,
) -> (Reply, Value) {
    answer(options, memory, headers, body).unwrap_or_else(|refusal| {
        let sentence = refusal.to_string();
        let answer = json!({"status": 400, "error": sentence});
        (Reply::error(400, &sentence), answer)
    })
}

fn answer(
    options: &Options,
    memory: &mut Memory,
    headers: &[(String, String)],
    body: Option<&Value>,
) -> Result<(Reply, Value), Refusal> {
    let body = body.and_then(Value::as_object).ok_or(Refusal::NotJson)?;
    if options.strict {
        validate::required(body)?;
    }
    // The edited prompt that the model reads; thinking is bound to the sent one.
    let edited = match &options.context_editing {
        Some(editing) => Some(editing::edit(options, editing, headers, body)?),
        None => None,
    };
    let bare = edited.as_ref().map(|_| editing::without_summaries(body));
    let request = Request::read(bare.as_ref().unwrap_or(body))?;
    if options.strict {
        validate::validate(&request)?;
    }
    if options.tool_search {
        tool_search::validate(&request)?;
    }
    let (mut prefix, unbound) = binding::unbound(&request, &options.volatile_system);
    let dropped = match options.bind_thinking {
        true => dropped_thinking(body, headers, &unbound)?,
        false => Vec::new(),
    };

    let mut plan = memory.script.plan(&request, tool_id);
    if options.tool_search {
        tool_search::hold_back(&request, &mut plan.blocks);
    }
    sign(&mut plan.blocks, &mut prefix);
    if let Some((status, message)) = plan.failure {
        let sentence = match message.as_str() {
            "" => super::routes::error_kind(status).unwrap_or("error"),
            message => message,
        };
        let reply = Reply::error(status, sentence).after(plan.delay);
        return Ok((reply, json!({"status": status})));
    }

    let read = edited.as_ref().map(|edited| Request::read(&edited.body)).transpose()?;
    let account = memory.cache.account(read.as_ref().unwrap_or(&request), &options.volatile_system);
    if let Some(summary) = edited.as_ref().and_then(|edited| edited.summary.clone()) {
        plan.blocks.insert(0, summary);
    }
    let mut message = message(body, &mut plan, account, dropped);
    if let Some(edited) = edited.filter(|_| editing::is_asked(body)) {
        message.insert("context_management".into(), editing::report(edited.applied));
    }
    let fault = plan.course.mid_error.clone();
    let fault = fault.or_else(|| plan.course.cut.then(|| "cut".to_owned()));
    let recorded = json!({"status": 200, "fault": fault, "message": message});
    let reply = match is_truthy(body.get("stream")) {
        true => Reply::stream(stream::moves(&message, &plan.course), plan.course.slow),
        false => Reply::json(200, message.into()),
    };
    Ok((reply.after(plan.delay), recorded))
}

/// The thinking that the API drops and reports if the request asks for that instead of a refusal.
fn dropped_thinking(
    body: &Fields,
    headers: &[(String, String)],
    unbound: &[(usize, usize)],
) -> Result<Vec<Value>, Refusal> {
    let block_binding = object(body, "thinking").and_then(|thinking| thinking.get("block_binding"));
    let has_beta = header(headers, "anthropic-beta").is_some_and(|betas| betas.contains(binding::BETA));
    if is_truthy(block_binding) && !has_beta {
        return Err(Refusal::BindingWithoutBeta);
    }
    let behaviour = block_binding.and_then(|block_binding| block_binding.get("prefix_mismatch_behavior"));
    let places = unbound.iter().map(|&(message, block)| Place { message, block });
    if behaviour.and_then(Value::as_str) == Some("drop_block") {
        let report = |place: Place| {
            json!({
                "type": "thinking_dropped", "path": place.to_string(),
                "reason": "prefix_binding_mismatch",
            })
        };
        return Ok(places.map(report).collect());
    }
    match places.into_iter().next() {
        Some(place) => Err(Refusal::Unbound(place)),
        None => Ok(Vec::new()),
    }
}

/// Signs the thinking of an answer: each block after the content before it.
fn sign(blocks: &mut [Fields], prefix: &mut Prefix) {
    for block in blocks {
        if is_thinking(block) {
            prefix.sign(block, &format!("{:08x}", unique() & 0xffff_ffff));
        }
        prefix.feed(Some("assistant"), block);
    }
}

/// The answer for a client that does not stream.
fn message(body: &Fields, plan: &mut Plan, account: Account, dropped: Vec<Value>) -> Fields {
    let hit = stop_sequence(body, &mut plan.blocks);
    let calls = plan.blocks.iter().any(|block| kind_of(block) == Some("tool_use"));
    let stop = match (&hit, plan.stop.as_deref()) {
        (Some(_), _) => "stop_sequence",
        (None, Some(reason)) if !reason.is_empty() => reason,
        _ if calls => "tool_use",
        _ => "end_turn",
    };
    let Account { mut fresh, read, written } = account;
    if let Some(scripted) = plan.usage {
        fresh = u64::try_from(scripted).unwrap_or(0);
        fresh = fresh.saturating_sub(read).saturating_sub(written);
    }
    let message = json!({
        "id": format!("msg_fake{:020}", unique()),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": plan.blocks,
        "stop_reason": stop,
        "stop_sequence": hit,
        "usage": {
            "input_tokens": fresh,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": tokens(&compact(&plan.blocks)),
            "service_tier": "standard",
        },
    });
    let Value::Object(mut message) = message else {
        return Fields::new();
    };
    if !dropped.is_empty() {
        message.insert("input_transformations".into(), dropped.into());
    }
    message
}

/// Ends texts before the stop sequences they contain; the last one found is reported.
fn stop_sequence(body: &Fields, blocks: &mut [Fields]) -> Option<String> {
    let sequences = body.get("stop_sequences").and_then(Value::as_array);
    let sequences: Vec<&str> =
        sequences.into_iter().flatten().filter_map(Value::as_str).filter(|sequence| !sequence.is_empty()).collect();
    let mut hit = None;
    for block in blocks {
        for sequence in &sequences {
            if kind_of(block) != Some("text") {
                continue;
            }
            let found = text(block, "text").and_then(|text| text.split_once(sequence));
            if let Some(before) = found.map(|(before, _)| before.to_owned()) {
                block.insert("text".into(), before.into());
                hit = Some((*sequence).to_owned());
            }
        }
    }
    hit
}

fn tool_id() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    let call = CALLS.fetch_add(1, Ordering::Relaxed) & 0xffff;
    format!("toolu_fake{:x}{call:04x}", unique())
}

/// Nanoseconds since 1970, unique: a conversation may continue with another provider, whose ids must not repeat.
pub(crate) fn unique() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1))).unwrap_or(0);
    now.max(last + 1)
}
