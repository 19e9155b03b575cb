//! The strict provider as a function, for tests with many thousand requests: no sockets, no events, no clock.
//!
//! It checks everything that the fake provider checks, and rules that only an editor can break: pairs of the provider's
//! own tools, tools that are used but not loaded, system messages on models without them, and more.

mod rules;

use crate::fake_provider::binding::{self, Prefix};
use crate::fake_provider::cache::PromptCache;
use crate::fake_provider::json::{Fields, compact, object, text, tokens};
use crate::fake_provider::request::{Request, is_thinking, kind_of};
use crate::fake_provider::{VOLATILE_SYSTEM, validate};
use serde_json::Value;

/// The cost in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub fresh: u64,
    pub read: u64,
    pub written: u64,
    pub output: u64,
}

impl Usage {
    pub fn input(&self) -> u64 {
        self.fresh + self.read + self.written
    }

    /// The cost of the input in uncached tokens: a read costs a tenth, a write a quarter more.
    pub fn cost(&self) -> f64 {
        self.fresh as f64 + self.read as f64 * 0.1 + self.written as f64 * 1.25
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The blocks of the answer, with signed thinking.
    pub blocks: Vec<Value>,
    pub usage: Usage,
}

/// One account with the provider: its prompt cache.
#[derive(Debug, Default)]
pub struct Provider {
    cache: PromptCache,
    thoughts: u64,
    memory: rules::Memory,
}

impl Provider {
    pub fn new() -> Provider {
        Provider { cache: PromptCache::heeding_manner(), ..Provider::default() }
    }

    /// Caches nothing below this many tokens.
    pub fn caching_from(tokens: u64) -> Provider {
        Provider { cache: PromptCache::from_tokens(tokens), ..Provider::default() }
    }

    /// Checks a body, accounts for it, and answers with the blocks of `script`. Its thinking blocks need no signature:
    /// each is signed for exactly the content before it. The error is the provider's message.
    pub fn answer(&mut self, body: &[u8], betas: &str, script: Vec<Value>) -> Result<Reply, String> {
        let value = read(body)?;
        let fields = value.as_object().ok_or("the body is no object")?;
        let (request, mut prefix) = checked(fields, betas, &self.memory)?;
        self.memory.asked(&request);
        let account = self.cache.account(&request, VOLATILE_SYSTEM);
        let mut blocks = script;
        for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
            if is_thinking(block) {
                self.thoughts += 1;
                prefix.sign(block, &format!("{:08x}", self.thoughts));
            }
            prefix.feed(Some("assistant"), block);
        }
        self.memory.answered(&blocks);
        let output = tokens(&compact(&blocks));
        let usage = Usage { fresh: account.fresh, read: account.read, written: account.written, output };
        Ok(Reply { blocks, usage })
    }

    /// `count_tokens`: the same checks, without accounting.
    pub fn count(&self, body: &[u8], betas: &str) -> Result<u64, String> {
        let mut value = read(body)?;
        let fields = value.as_object_mut().ok_or("the body is no object")?;
        fields.entry("max_tokens").or_insert(100_000.into());
        let (request, _) = checked(fields, betas, &self.memory)?;
        Ok(PromptCache::default().account(&request, VOLATILE_SYSTEM).fresh)
    }
}

fn read(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))
}

fn checked<'a>(body: &'a Fields, betas: &str, memory: &rules::Memory) -> Result<(Request<'a>, Prefix), String> {
    let refuse = |refusal: crate::fake_provider::refusal::Refusal| refusal.to_string();
    validate::required(body).map_err(refuse)?;
    let request = Request::read(body).map_err(refuse)?;
    validate::validate(&request).map_err(refuse)?;
    rules::check(&request, memory)?;
    tools(&request)?;
    let model = text(body, "model").unwrap_or_default();
    if model.contains("-4-5") && request.messages.iter().any(|message| message.is_system()) {
        return Err("role 'system' is not supported on this model".into());
    }
    let thinking = object(body, "thinking");
    let block_binding = thinking.and_then(|thinking| thinking.get("block_binding"));
    if block_binding.is_some() && !betas.contains(binding::BETA) {
        return Err("thinking.block_binding: Extra inputs are not permitted".into());
    }
    let drops = block_binding.and_then(|block_binding| block_binding["prefix_mismatch_behavior"].as_str())
        == Some("drop_block");
    // Models with a thinking budget do not bind their thinking.
    let binds = !model.contains("-4-5") && thinking.and_then(|thinking| text(thinking, "type")) != Some("enabled");
    let (prefix, unbound) = binding::unbound(&request, VOLATILE_SYSTEM);
    match unbound.first() {
        Some((message, block)) if binds && !drops => {
            Err(format!("messages.{message}.content.{block}: thinking is bound to another prefix"))
        }
        _ => Ok((request, prefix)),
    }
}

/// A tool must be loaded where tools are given, and given where they are used (A9, A45).
fn tools(request: &Request<'_>) -> Result<(), String> {
    if !request.tools.is_empty() && request.loaded_tools().next().is_none() {
        return Err("tools: at least one tool must be loaded".into());
    }
    let used = |block: &Fields| kind_of(block).is_some_and(|kind| kind.contains("tool_use") || kind == "tool_result");
    let mut blocks = request.messages.iter().flat_map(|message| &message.blocks);
    if request.tools.is_empty() && request.body.contains_key("tools") && blocks.any(|block| used(block)) {
        // The stock client's side requests do send an empty list.
        let choice = request.body.get("tool_choice");
        if choice.is_some() {
            return Err("tool_choice: no tools are defined".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(messages: Value) -> Vec<u8> {
        json!({"model": "m", "max_tokens": 9, "thinking": {"type": "adaptive"}, "messages": messages,
            "tools": [{"name": "Read", "input_schema": {}}]})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn thinking_is_signed_for_what_was_sent_and_nothing_else() {
        let mut provider = Provider::new();
        let thought = || vec![json!({"type": "thinking", "thinking": ""}), json!({"type": "text", "text": "yes"})];
        let reply = provider.answer(&body(json!([{"role": "user", "content": "hi"}])), "", thought());
        let blocks = reply.expect("accepted").blocks;
        let with = |first: &str| json!([{"role": "user", "content": first}, {"role": "assistant", "content": blocks}, {"role": "user", "content": "on"}]);
        assert!(provider.answer(&body(with("hi")), "", thought()).is_ok());
        let refused = provider.answer(&body(with("ho")), "", thought());
        assert!(refused.is_err_and(|sentence| sentence.contains("bound")));
    }

    #[test]
    fn the_providers_own_tools_come_in_pairs() {
        let mut provider = Provider::new();
        let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
        let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
        let mut ask = |blocks: Value| {
            let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": blocks}, {"role": "user", "content": "on"}]);
            provider.answer(&body(messages), "", vec![])
        };
        assert!(ask(json!([call, result])).is_ok());
        assert!(ask(json!([call])).is_err());
        assert!(ask(json!([result])).is_err());
    }

    #[test]
    fn tools_that_wait_let_only_results_through() {
        let mut provider = Provider::new();
        let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
        let read = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "x"});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
        let hm = json!({"type": "text", "text": "hm"});
        let mut ask = |said: Value, next: Option<Value>| {
            let mut messages = vec![
                json!({"role": "user", "content": "hi"}),
                json!({"role": "assistant", "content": [read, search]}),
                json!({"role": "user", "content": said}),
            ];
            messages.extend(next.map(|blocks| json!({"role": "assistant", "content": blocks})));
            if messages.len() == 4 {
                messages.push(json!({"role": "user", "content": "on"}));
            }
            provider.answer(&body(messages.into()), "", vec![])
        };
        assert!(ask(json!([result]), None).is_ok());
        assert!(ask(json!([result]), Some(json!([found, hm]))).is_ok());
        assert!(ask(json!([result, hm]), None).is_err());
        assert!(ask(json!([result, hm]), Some(json!([found, hm]))).is_err());
        assert!(ask(json!([result]), Some(json!([hm]))).is_err());
    }

    #[test]
    fn an_open_loop_begins_with_thinking_where_it_is_asked_for() {
        let mut provider = Provider::new();
        let script = || vec![json!({"type": "thinking", "thinking": ""}), json!({"type": "thinking", "thinking": "x"})];
        let thoughts = provider.answer(&body(json!([{"role": "user", "content": "hi"}])), "", script());
        let thoughts = thoughts.expect("accepted").blocks;
        let mut ask = |thoughts: &[Value], closed: bool| {
            let call = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}});
            let blocks = [thoughts, &[call]].concat();
            let mut messages = vec![
                json!({"role": "user", "content": "hi"}),
                json!({"role": "assistant", "content": blocks}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}),
            ];
            if closed {
                messages.push(json!({"role": "assistant", "content": "so"}));
                messages.push(json!({"role": "user", "content": "on"}));
            }
            let mut body: Value = serde_json::from_slice(&body(messages.into())).expect("JSON");
            body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
            body["max_tokens"] = 2000.into();
            provider.answer(body.to_string().as_bytes(), "", vec![])
        };
        assert!(ask(&thoughts, false).is_ok());
        assert!(ask(&[], false).is_err());
        assert!(ask(&[], true).is_ok());
        // All its thinking.
        assert!(ask(&thoughts[..1], false).is_err());
        assert!(ask(&thoughts[..1], true).is_ok());
    }

    #[test]
    fn a_tool_that_comes_later_comes_before_it_is_used() {
        let mut provider = Provider::new();
        let brings = json!({"role": "system", "content": [{"type": "tool_addition", "tool":
            {"type": "tool_definition", "definition": {"name": "New"}}}]});
        let mut ask = |messages: &[&Value], script: Vec<Value>| {
            let call =
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "New", "input": {}}]});
            let result =
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]});
            let first = json!({"role": "user", "content": "hi"});
            let all: Vec<Value> = [&[&first], messages, &[&call, &result]].concat().into_iter().cloned().collect();
            provider.answer(&body(all.into()), "", script)
        };
        let call = json!({"type": "tool_use", "id": "t1", "name": "New", "input": {}});
        assert!(ask(&[&brings], vec![call]).is_ok());
        assert!(ask(&[], vec![]).is_err_and(|sentence| sentence.contains("New")));
    }
}
