//! The requests of a client: headers and bodies, in the format that it speaks.

use super::{Client, Family, Message};
use crate::support::Headers;
use ctx_core::WireId;
use serde_json::{Map, Value, json};

impl Client {
    pub fn headers(&self) -> Headers {
        if self.nameless {
            return crate::support::nameless();
        }
        if self.manner.wire != WireId::Anthropic {
            return self.other_headers("turn");
        }
        let mut headers: Headers = vec![
            ("User-Agent".into(), "claude-cli/2.1.325 (external, cli)".into()),
            ("X-Claude-Code-Session-Id".into(), self.session.clone()),
            ("anthropic-beta".into(), "claude-code-20250219,interleaved-thinking-2025-05-14".into()),
        ];
        if let Some(agent) = &self.agent {
            headers.push(("x-claude-code-agent-id".into(), agent.clone()));
            headers
                .extend(self.parent.iter().map(|parent| ("x-claude-code-parent-agent-id".to_owned(), parent.clone())));
        }
        if self.hinted {
            let class = if self.agent.is_some() { "subagent" } else { "main" };
            headers.push(("x-claude-code-request-class".into(), class.into()));
        }
        if self.compacted {
            headers.push(("x-claude-code-context-compacted".into(), "1".into()));
        }
        headers
    }

    /// Those of Codex for Responses, else those of opencode. `kind`: what Codex calls the request.
    pub fn other_headers(&self, kind: &str) -> Headers {
        let own = self.agent.as_ref().unwrap_or(&self.session);
        let parent = self.agent.as_ref().map(|_| self.parent.as_ref().unwrap_or(&self.session));
        let names = match self.manner.wire {
            WireId::OpenaiResponses => ["codex_exec/0.166.0 (Linux)", "thread-id", "x-codex-parent-thread-id"],
            _ => ["opencode/1.18.33", "x-session-affinity", "x-parent-session-id"],
        };
        let mut headers: Headers = vec![("user-agent".into(), names[0].into()), (names[1].into(), own.clone())];
        headers.extend(parent.map(|parent| (names[2].to_owned(), parent.clone())));
        if self.manner.wire == WireId::OpenaiResponses {
            let metadata = json!({"request_kind": kind, "window_number": u8::from(self.compacted)});
            headers.push(("x-codex-turn-metadata".into(), metadata.to_string()));
        }
        headers
    }

    pub fn body(&self) -> Value {
        self.request(None)
    }

    /// The history with a question behind it that is no part of it; the mark stays on the history.
    pub fn beside(&self, question: &str) -> Value {
        self.request(Some(question))
    }

    /// The history as one text, for a model that judges a call. Short texts are left out: they stay.
    pub fn transcript(&self) -> Value {
        const LEAST: usize = 24;
        let blocks = self.messages.iter().filter(|message| message.role != "system").flat_map(|message| {
            message.blocks.iter().map(|block| (message.role, block["text"].as_str().or(block["content"].as_str())))
        });
        let texts = blocks.filter_map(|(role, text)| Some((role, text.filter(|text| text.trim().len() >= LEAST)?)));
        let history: String = texts.map(|(role, text)| format!("{role}: {text}\n\n")).collect();
        json!({
            "model": "claude-sonnet-5-5", "max_tokens": 64, "stop_sequences": ["</block>"], "stream": false,
            "system": [{"type": "text", "text": "Is the last call safe?"}],
            "messages": [{"role": "user", "content": format!("<transcript>\n{history}</transcript>")}],
        })
    }

    fn request(&self, question: Option<&str>) -> Value {
        if self.manner.wire != WireId::Anthropic {
            return self.other_request(question);
        }
        let mark = if self.long { json!({"type": "ephemeral", "ttl": "1h"}) } else { json!({"type": "ephemeral"}) };
        let mut messages = match self.family {
            Family::A => self.messages.clone(),
            Family::B => told_as_reminders(&self.messages),
        };
        let last = messages.iter().rposition(|message| {
            !message.blocks.is_empty() && !message.more.contains_key("clear_at") && message.role != "assistant"
                || message.blocks.last().is_some_and(|block| block["type"] == "text" && message.role == "assistant")
        });
        let mut rendered: Vec<Value> = Vec::new();
        for (at, message) in messages.iter_mut().enumerate() {
            let marked = self.marks > 0 && last == Some(at);
            if let (true, Some(Value::Object(block))) = (marked, message.blocks.last_mut()) {
                block.insert("cache_control".into(), mark.clone());
            }
            let content = match &message.blocks[..] {
                [only] if !marked && message.role != "assistant" && only["type"] == "text" => only["text"].clone(),
                blocks => blocks.into(),
            };
            let mut object = Map::new();
            object.insert("role".into(), message.role.into());
            object.insert("content".into(), content);
            object.extend(message.more.clone());
            rendered.push(object.into());
        }
        rendered.extend(question.map(|question| json!({"role": "user", "content": question})));
        let mut system = self.system.clone();
        if self.marks > 1 {
            system[1]["cache_control"] = mark.clone();
            let last = system.len() - 1;
            system[last]["cache_control"] = mark;
        }
        let user = json!({"device_id": "d", "account_uuid": "", "session_id": self.session}).to_string();
        let mut tools = self.tools.clone();
        if self.family == Family::B {
            tools.extend(self.came());
        }
        let mut body = json!({
            "model": if self.family == Family::A { "claude-opus-5-5" } else { "claude-sonnet-4-5-20250929" },
            "messages": rendered, "system": system, "tools": tools, "metadata": {"user_id": user}, "max_tokens": 32_000,
        });
        body["thinking"] = match self.family {
            Family::A => json!({"type": "adaptive", "display": "omitted"}),
            Family::B if self.is_manual() => json!({"type": "enabled", "budget_tokens": 31_999}),
            Family::B => json!({"type": "disabled"}),
        };
        body["stream"] = true.into();
        if self.nameless {
            body.as_object_mut().map(|body| body.shift_remove("metadata"));
        }
        body
    }

    fn other_request(&self, question: Option<&str>) -> Value {
        let told = self.family == Family::A && self.manner.wire != WireId::Gemini;
        let mut messages = if told { self.messages.clone() } else { told_as_reminders(&self.messages) };
        messages.extend(question.map(|question| Message::new("user", vec![json!({"type": "text", "text": question})])));
        self.manner.body(&messages, &self.system, &self.tools, self.family == Family::A)
    }
}

/// The history as older models get it: what was told stands as reminders in the message before.
fn told_as_reminders(messages: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        if message.role != "system" {
            out.push(message.clone());
            continue;
        }
        let Some(before) = out.last_mut() else { continue };
        for block in message.blocks.iter().filter(|block| block["type"] == "text") {
            let text =
                format!("<system-reminder>\n{}\n</system-reminder>\n", block["text"].as_str().unwrap_or_default());
            before.blocks.push(json!({"type": "text", "text": text}));
        }
    }
    out
}
