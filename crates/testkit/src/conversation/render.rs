//! Renders a session to bytes: key order, breakpoints and headers of the stock client.

use super::{Family, Message, Session, scenery};
use crate::fake_provider::VOLATILE_SYSTEM;
use serde_json::{Map, Value, json};

const VERSION: &str = "2.1.325";

const BETAS_A: &str = "claude-code-20250219,interleaved-thinking-2025-05-14,\
    context-management-2025-06-27,per-turn-control-2026-07-01,\
    mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,\
    advanced-tool-use-2025-11-20,effort-2025-11-24";
const BETAS_B: &str = "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27";

impl Session {
    /// The body of the request that the client would send now.
    pub fn body(&self) -> Vec<u8> {
        self.body_value().to_string().into_bytes()
    }

    /// One message as in the body, with or without the breakpoint.
    pub fn message(&self, index: usize, marked: bool) -> String {
        let mark = json!({"type": "ephemeral"});
        self.messages.get(index).map_or_else(String::new, |each| message(each, marked.then_some(&mark)).to_string())
    }

    /// The same as a value, for tests that change it.
    pub fn body_value(&self) -> Value {
        let last = self.messages.len().saturating_sub(1);
        let mark = json!({"type": "ephemeral"});
        let messages: Vec<Value> = self
            .messages
            .iter()
            .enumerate()
            .map(|(index, each)| message(each, (index == last).then_some(&mark)))
            .collect();
        let mut system = vec![json!({"type": "text", "text": self.attribution()})];
        system.extend(self.system.iter().cloned());
        let user = json!({
            "device_id": self.device_id, "account_uuid": "", "session_id": self.session_id,
        });
        let mut body = json!({
            "model": self.model.as_deref().unwrap_or(scenery::model(self.family)),
            "messages": messages,
            "system": system,
            "tools": self.tools,
            "metadata": {"user_id": user.to_string()},
        });
        match self.family {
            Family::A => {
                let display = if self.interactive { "updates" } else { "omitted" };
                body["max_tokens"] = 128_000.into();
                body["thinking"] = json!({"type": "adaptive", "display": display});
            }
            Family::B => {
                body["max_tokens"] = 32_000.into();
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 31_999});
            }
        }
        let edits = json!([{"type": "clear_thinking_20251015", "keep": "all"}]);
        body["context_management"] = json!({"edits": edits});
        if self.family == Family::A {
            body["output_config"] = json!({"effort": "medium"});
        }
        body["stream"] = self.stream.into();
        body
    }

    /// The headers in the client's order and case, without `Connection`, `Host` and `Content-Length`, which the sender
    /// adds.
    pub fn headers(&self) -> Vec<(String, String)> {
        let entrypoint = self.entrypoint();
        let betas = match self.family {
            Family::A => BETAS_A,
            Family::B => BETAS_B,
        };
        let mut headers = vec![
            ("Accept", "application/json".to_owned()),
            ("Content-Type", "application/json".to_owned()),
            ("User-Agent", format!("claude-cli/{VERSION} (external, {entrypoint})")),
            ("X-Claude-Code-Session-Id", self.session_id.clone()),
            ("X-Stainless-Arch", "x64".to_owned()),
            ("X-Stainless-Lang", "js".to_owned()),
            ("X-Stainless-OS", "Linux".to_owned()),
            ("X-Stainless-Package-Version", "0.128.0".to_owned()),
            ("X-Stainless-Retry-Count", "0".to_owned()),
            ("X-Stainless-Runtime", "node".to_owned()),
            ("X-Stainless-Runtime-Version", "v24.3.0".to_owned()),
            ("X-Stainless-Timeout", "600".to_owned()),
            ("anthropic-beta", betas.to_owned()),
            ("anthropic-dangerous-direct-browser-access", "true".to_owned()),
            ("anthropic-version", "2023-06-01".to_owned()),
            ("x-api-key", "sk-ant-api03-testkit-not-a-key".to_owned()),
            ("x-app", "cli".to_owned()),
        ];
        if let Some(agent) = &self.agent {
            headers.push(("x-claude-code-agent-id", agent.id.clone()));
            if let Some(parent) = &agent.parent {
                headers.push(("x-claude-code-parent-agent-id", parent.clone()));
            }
        }
        if self.hints {
            let class = if self.agent.is_some() { "subagent" } else { "main" };
            headers.push(("x-claude-code-request-class", class.to_owned()));
            headers.push(("x-claude-code-prompt-id", self.prompt_id.clone()));
        }
        headers.push(("Accept-Encoding", "gzip, deflate, br, zstd".to_owned()));
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        headers.into_iter().map(owned).collect()
    }

    fn entrypoint(&self) -> &'static str {
        if self.interactive { "cli" } else { "sdk-cli" }
    }

    fn attribution(&self) -> String {
        let fingerprint = &self.fingerprint;
        let entrypoint = self.entrypoint();
        let agent = match self.agent {
            Some(_) => " cc_is_subagent=true;",
            None => "",
        };
        format!("{VOLATILE_SYSTEM}: cc_version={VERSION}.{fingerprint}; cc_entrypoint={entrypoint};{agent}")
    }
}

/// A single text of the user or the client is a string; with a breakpoint it must be a list. The assistant always uses
/// lists.
pub(super) fn message(message: &Message, mark: Option<&Value>) -> Value {
    let mut rendered = Map::new();
    rendered.insert("role".into(), message.role.into());
    let content = match (mark, &message.blocks[..]) {
        (None, [only]) if message.role != "assistant" && only["type"] == "text" => only["text"].clone(),
        (None, blocks) => blocks.into(),
        (Some(mark), blocks) => {
            let mut blocks = blocks.to_vec();
            if let Some(Value::Object(last)) = blocks.last_mut() {
                last.insert("cache_control".into(), mark.clone());
            }
            blocks.into()
        }
    };
    rendered.insert("content".into(), content);
    if let Some(config) = &message.output_config {
        rendered.insert("output_config".into(), config.clone());
    }
    rendered.into()
}
