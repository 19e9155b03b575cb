//! How other formats spell what the client of this world keeps in that of Anthropic: its history, raw JSON of an edit,
//! and the provider's answers.

use crate::client::Message;
use crate::support::answers;
use ctx_core::WireId;
use ctx_wire::answer::{Answer, Ending};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use testkit::judges::gemini::Demands;
use testkit::judges::{chat, gemini, responses};
use testkit::{Random, ReferenceJudge};

/// What a client's requests contain in its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    pub wire: WireId,
    /// It sends back what the model thought: reasoning, sealed reasoning, or signatures.
    pub thinks: bool,
    /// Calls or items have ids of the provider, where the format does without.
    pub has_ids: bool,
}

impl Manner {
    pub const ANTHROPIC: Manner = Manner { wire: WireId::Anthropic, thinks: true, has_ids: true };

    pub fn of(wire: WireId, random: &mut Random) -> Manner {
        match wire {
            WireId::Anthropic => Manner::ANTHROPIC,
            _ => Manner { wire, thinks: random.chance(60), has_ids: random.chance(60) },
        }
    }

    /// A whole request. The first part of `system` is that of Claude Code alone.
    pub fn body(self, messages: &[Message], system: &[Value], tools: &[Value], newer: bool) -> Value {
        let system: Vec<&str> = system.iter().skip(1).filter_map(|part| part["text"].as_str()).collect();
        let tools: Vec<Value> = tools.iter().map(|tool| self.tool(tool)).collect();
        let history = self.messages(messages);
        match self.wire {
            WireId::Anthropic | WireId::Custom => Value::Null,
            WireId::OpenaiChat => {
                let lead = system.iter().map(|text| json!({"role": "system", "content": text}));
                let messages: Vec<Value> = lead.chain(history).collect();
                let model = if newer { "gpt-5.5" } else { "deepseek-v4-flash" };
                json!({"model": model, "messages": messages, "tools": tools, "stream": true})
            }
            WireId::OpenaiResponses => {
                let lead = system.iter().skip(1).map(|text| said("developer", text));
                let input: Vec<Value> = lead.chain(history).collect();
                let model = if newer { "gpt-5.5" } else { "gpt-5.2-codex" };
                json!({"model": model, "instructions": system[0], "input": input, "tools": tools, "store": false,
                    "stream": true, "include": ["reasoning.encrypted_content"]})
            }
            WireId::Gemini => {
                let parts: Vec<Value> = system.iter().map(|text| json!({"text": text})).collect();
                json!({"systemInstruction": {"parts": parts}, "contents": history,
                    "tools": [{"functionDeclarations": tools}]})
            }
        }
    }

    fn tool(self, tool: &Value) -> Value {
        let (name, about, schema) = (&tool["name"], &tool["description"], &tool["input_schema"]);
        let plain = json!({"name": name, "description": about, "parameters": schema});
        match self.wire {
            WireId::OpenaiChat => json!({"type": "function", "function": plain}),
            WireId::OpenaiResponses => {
                json!({"type": "function", "name": name, "description": about, "parameters": schema})
            }
            _ => plain,
        }
    }

    /// The messages, or items, of a history.
    pub fn messages(self, messages: &[Message]) -> Vec<Value> {
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        let calls = blocks.filter(|block| block["type"] == "tool_use");
        let names: HashMap<&str, &Value> =
            calls.filter_map(|call| Some((call["id"].as_str()?, &call["name"]))).collect();
        let order: HashMap<&str, usize> = names.keys().map(|id| (*id, number(id))).collect();
        let mut out = Vec::new();
        for message in messages {
            match self.wire {
                WireId::Anthropic | WireId::Custom => {}
                WireId::OpenaiChat => self.chat(message, &mut out),
                WireId::OpenaiResponses => out.extend(self.items(message)),
                WireId::Gemini => {
                    let mut message = message.clone();
                    // Results without ids are told apart by their order.
                    let place = |block: &Value| order.get(block["tool_use_id"].as_str().unwrap_or_default());
                    message.blocks.sort_by_key(|block| place(block).copied().unwrap_or(usize::MAX));
                    let parts = self.parts(&message.blocks, &names);
                    let role = if message.role == "assistant" { "model" } else { "user" };
                    out.push(json!({"role": role, "parts": parts}));
                }
            }
        }
        out
    }

    fn chat(self, message: &Message, out: &mut Vec<Value>) {
        if message.role == "assistant" {
            return out.push(self.chat_reply(&message.blocks));
        }
        let (results, rest): (Vec<&Value>, Vec<&Value>) =
            message.blocks.iter().partition(|block| block["type"] == "tool_result");
        out.extend(results.into_iter().map(|result| self.block(result)));
        let role = if message.role == "system" { "developer" } else { "user" };
        match &rest[..] {
            [] => {}
            [only] if only["type"] == "text" => out.push(json!({"role": role, "content": only["text"]})),
            blocks => {
                let parts: Vec<Value> = blocks.iter().map(|block| self.block(block)).collect();
                out.push(json!({"role": role, "content": parts}));
            }
        }
    }

    fn chat_reply(self, blocks: &[Value]) -> Value {
        let of = |kind: &str| blocks.iter().filter(move |block| block["type"] == kind).collect::<Vec<_>>();
        let texts: Vec<&str> = of("text").iter().filter_map(|block| block["text"].as_str()).collect();
        let content = if texts.is_empty() { Value::Null } else { texts.join("\n\n").into() };
        let mut reply = json!({"role": "assistant", "content": content});
        if self.thinks && !of("thinking").is_empty() {
            reply["reasoning_content"] = "I have to look.".into();
        }
        let calls: Vec<Value> = of("tool_use").into_iter().map(|call| self.block(call)).collect();
        if !calls.is_empty() {
            reply["tool_calls"] = calls.into();
        }
        reply
    }

    fn items(self, message: &Message) -> Vec<Value> {
        let mut items: Vec<Value> = Vec::new();
        let role = if message.role == "system" { "developer" } else { message.role };
        for block in &message.blocks {
            let mut item = match (block["type"].as_str().unwrap_or_default(), role) {
                ("thinking", _) if !self.thinks => continue,
                ("thinking", _) => {
                    json!({"type": "reasoning", "summary": [], "encrypted_content": format!("gAAA{}", block["seal"])})
                }
                ("tool_use" | "tool_result", _) => self.block(block),
                (_, "assistant") => {
                    json!({"type": "message", "role": role, "content": [{"type": "output_text", "text": block["text"]}]})
                }
                _ => {
                    let part = self.block(block);
                    match items.last_mut().filter(|last| last["type"] == "message") {
                        Some(last) => last["content"].as_array_mut().expect("parts").push(part),
                        None => items.push(json!({"type": "message", "role": role, "content": [part]})),
                    }
                    continue;
                }
            };
            if role == "assistant" && self.has_ids {
                let prefix = match block["type"].as_str() {
                    Some("thinking") => "rs",
                    Some("tool_use") => "fc",
                    _ => "msg",
                };
                item["id"] = format!("{prefix}_{:032}", number(&block.to_string())).into();
            }
            items.push(item);
        }
        items
    }

    fn parts(self, blocks: &[Value], names: &HashMap<&str, &Value>) -> Vec<Value> {
        let mut parts: Vec<Value> = Vec::new();
        let mut seal = None;
        for block in blocks {
            if block["type"] == "thinking" {
                seal = Some(format!("seal{}", block["seal"])).filter(|_| self.thinks);
                continue;
            }
            let mut part = self.block(block);
            if let Some(name) = block["tool_use_id"].as_str().and_then(|id| names.get(id)) {
                part["functionResponse"]["name"] = (*name).clone();
            }
            // The API signs the first call, or the words if there is none.
            let signs = part.get("functionCall").is_some() || !blocks.iter().any(|block| block["type"] == "tool_use");
            if let Some(seal) = seal.take_if(|_| signs) {
                part["thoughtSignature"] = seal.into();
            }
            parts.push(part);
        }
        parts
    }

    /// One block: a part, a call or a result.
    pub fn block(self, block: &Value) -> Value {
        let (id, text) = (&block["id"], || block["text"].as_str().unwrap_or("a page"));
        let arguments = || block["input"].to_string();
        match (block["type"].as_str().unwrap_or_default(), self.wire) {
            ("tool_use", WireId::OpenaiChat) => {
                json!({"id": id, "type": "function", "function": {"name": block["name"], "arguments": arguments()}})
            }
            ("tool_use", WireId::OpenaiResponses) => {
                json!({"type": "function_call", "call_id": id, "name": block["name"], "arguments": arguments()})
            }
            ("tool_use", _) => {
                let mut call = json!({"name": block["name"], "args": block["input"]});
                if self.has_ids {
                    call["id"] = id.clone();
                }
                json!({"functionCall": call})
            }
            ("tool_result", WireId::OpenaiChat) => {
                json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": output(block)})
            }
            ("tool_result", WireId::OpenaiResponses) => {
                json!({"type": "function_call_output", "call_id": block["tool_use_id"], "output": output(block)})
            }
            ("tool_result", _) => {
                let member = if block["is_error"] == true { "error" } else { "output" };
                let mut result =
                    json!({"name": "Read", "response": Map::from_iter([(member.to_owned(), output(block))])});
                if self.has_ids {
                    result["id"] = block["tool_use_id"].clone();
                }
                json!({"functionResponse": result})
            }
            ("image", WireId::OpenaiChat) => {
                json!({"type": "image_url", "image_url": {"url": block["source"]["url"]}})
            }
            ("image", WireId::OpenaiResponses) => json!({"type": "input_image", "image_url": block["source"]["url"]}),
            ("image", _) => json!({"fileData": {"mimeType": "image/png", "fileUri": block["source"]["url"]}}),
            (_, WireId::OpenaiChat) => json!({"type": "text", "text": text()}),
            (_, WireId::OpenaiResponses) => json!({"type": "input_text", "text": text()}),
            _ => json!({"text": text()}),
        }
    }

    /// Raw JSON of an edit of `id`.
    pub fn raw(self, raw: &Value, id: &str) -> Value {
        if self.wire == WireId::Anthropic {
            return raw.clone();
        }
        // Nobody writes ids of the provider's items.
        let manner = Manner { has_ids: self.has_ids && self.wire == WireId::Gemini, ..self };
        if id.starts_with("tools/") {
            return self.tool(raw);
        }
        let list = if let Value::Array(list) = raw { list.clone() } else { vec![raw.clone()] };
        if !list.iter().any(|one| one["role"].is_string()) {
            return list.iter().map(|block| manner.block(block)).collect();
        }
        let message = |one: &Value| {
            let role = ["user", "assistant", "system"].into_iter().find(|role| one["role"] == *role);
            let blocks = match &one["content"] {
                Value::String(text) => vec![json!({"type": "text", "text": text})],
                content => content.as_array().cloned().unwrap_or_default(),
            };
            Message::new(role.unwrap_or("user"), blocks)
        };
        manner.messages(&list.iter().map(message).collect::<Vec<_>>()).into()
    }

    /// What the provider streams for an answer with these blocks.
    pub fn stream(self, blocks: &[Value], prompt: u64) -> Vec<u8> {
        let calls = blocks.iter().any(|block| block["type"] == "tool_use");
        let events: Vec<Value> = match self.wire {
            WireId::Anthropic | WireId::Custom => {
                return answers::stream(blocks, prompt, if calls { "tool_use" } else { "end_turn" });
            }
            WireId::OpenaiChat => {
                let mut delta = self.chat_reply(blocks);
                for (at, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
                    call["index"] = at.into();
                }
                let finish = if calls { "tool_calls" } else { "stop" };
                vec![
                    json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
                    json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
                    json!({"id": "c", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 9}}),
                ]
            }
            WireId::OpenaiResponses => {
                let items = self.items(&Message::new("assistant", blocks.to_vec()));
                let done = |(at, item): (usize, &Value)| json!({"type": "response.output_item.done", "output_index": at, "item": item});
                let mut events = vec![json!({"type": "response.created", "response": {"id": "r", "model": "m"}})];
                events.extend(items.iter().enumerate().map(done));
                let usage = json!({"input_tokens": prompt, "output_tokens": 9});
                let response = json!({"id": "r", "status": "completed", "usage": usage});
                events.push(json!({"type": "response.completed", "response": response}));
                events
            }
            WireId::Gemini => {
                let content = json!({"role": "model", "parts": self.parts(blocks, &HashMap::new())});
                let usage = json!({"promptTokenCount": prompt, "candidatesTokenCount": 9});
                vec![
                    json!({"candidates": [{"content": content, "index": 0}], "modelVersion": "m"}),
                    json!({"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}],
                        "usageMetadata": usage}),
                ]
            }
        };
        let end = if self.wire == WireId::OpenaiChat { "data: [DONE]\n\n" } else { "" };
        let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        (events + end).into_bytes()
    }

    /// The same, as it is read.
    pub fn read(self, stream: &[u8], ending: Ending) -> Answer {
        let mut tap = ctx_wire::wire(self.wire).tap(200, Some("text/event-stream"), None);
        stream.chunks(777).for_each(|piece| tap.feed(piece));
        tap.finish(ending)
    }

    /// Refuses what the provider would, of a request for which the client sent `own`.
    pub fn judge(self, sent: &str, own: &str) -> Result<(), String> {
        let value = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("no JSON: {error}"));
        match self.wire {
            WireId::Anthropic | WireId::Custom => return Ok(()),
            WireId::OpenaiChat => chat::judge(sent)?,
            WireId::OpenaiResponses => responses::judge(&value(sent)?, &value(own)?)?,
            WireId::Gemini => {
                let signs = gemini::judge(own, Demands { asks: true, signs: true }).is_ok();
                gemini::judge(sent, Demands { asks: true, signs })?;
            }
        }
        // The reference is slow: it sees a part of them.
        if !sent.len().is_multiple_of(4) {
            return Ok(());
        }
        static REFERENCE: LazyLock<Mutex<Option<ReferenceJudge>>> =
            LazyLock::new(|| Mutex::new(ReferenceJudge::start()));
        let mut reference = REFERENCE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match reference.as_mut().and_then(|judge| judge.refusal(self.wire.name(), sent)) {
            Some(refusal) => Err(format!("the reference: {refusal}")),
            None => Ok(()),
        }
    }
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

/// The texts of a result.
fn output(result: &Value) -> Value {
    match &result["content"] {
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n").into()
        }
        text => text.clone(),
    }
}

/// The first number in a text.
fn number(text: &str) -> usize {
    let digits: String = text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}
