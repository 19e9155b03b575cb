//! Recognises the caller's own conversation by what its model has just called.
//!
//! Clients name tools of an MCP server each in their own way (`mcp__ctx__ctx_list`, `ctx_ctx_list`), and some wrap a call
//! into another tool's. Neither changes the arguments.

use ctx_api::show::{BlockView, ContentView};
use serde_json::Value;

/// A call as the MCP server receives it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Value,
}

impl ToolCall {
    /// Whether a reply that is pending makes this call.
    pub fn is_made_in(&self, shown: &ContentView) -> bool {
        let pending = shown.messages.iter().filter(|message| message.pending);
        let mut calls = pending.flat_map(|message| &message.blocks).filter(|block| block.kind == "tool_use");
        calls.any(|block| self.is(block))
    }

    fn is(&self, block: &BlockView) -> bool {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        // The readable text of a call is its input. One with members that only its provider knows has none.
        let input = if block.text.is_empty() { block.raw.as_ref().map(|raw| raw.get()) } else { Some(&*block.text) };
        let input = input.map(read).unwrap_or_default();
        let is_named = block.tool.as_deref().is_some_and(|tool| self.is_name(tool));
        let is_direct = is_named && same(&input, &self.arguments);
        is_direct || (is_named || self.is_name_in(&input)) && self.is_argument_in(&input)
    }

    /// Whether this is the tool's name, perhaps behind the server's.
    fn is_name(&self, text: &str) -> bool {
        text.strip_suffix(self.name.as_str())
            .is_some_and(|before| before.is_empty() || !before.ends_with(|c: char| c.is_alphanumeric()))
    }

    fn is_name_in(&self, value: &Value) -> bool {
        any(value, &|value| value.as_str().is_some_and(|text| self.is_name(text)))
    }

    fn is_argument_in(&self, value: &Value) -> bool {
        any(value, &|value| value.is_object() && same(value, &self.arguments))
    }
}

/// Whether a value, one of its parts, or JSON in one of its strings passes the test.
fn any(value: &Value, test: &dyn Fn(&Value) -> bool) -> bool {
    test(value)
        || match value {
            Value::Object(members) => members.values().any(|value| any(value, test)),
            Value::Array(items) => items.iter().any(|item| any(item, test)),
            Value::String(text) if text.starts_with('{') => {
                serde_json::from_str::<Value>(text).is_ok_and(|inner| any(&inner, test))
            }
            _ => false,
        }
}

/// Whether arguments are the same. Some clients drop those that are null.
fn same(one: &Value, other: &Value) -> bool {
    fn bare(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let set = members.iter().filter(|(_, value)| !value.is_null());
                set.map(|(name, value)| (name.clone(), bare(value))).collect()
            }
            Value::Array(items) => items.iter().map(bare).collect(),
            other => other.clone(),
        }
    }
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(tool: &str, text: &str, raw: &Value, pending: bool) -> ContentView {
        let block = json!({ "id": "t1#1.0", "kind": "tool_use", "tokens": 1, "text": text, "tool": tool,
            "tool_use_id": "c", "is_error": false, "raw": raw });
        let message = json!({ "id": "t1#1", "role": "assistant", "tokens": 1, "step": 1, "pending": pending,
            "blocks": [block] });
        serde_json::from_value(json!({ "conversation": "c", "id": "t1/1", "kind": "step", "title": "", "tokens": 1,
            "calibrated": true, "messages": [message] }))
        .expect("a view")
    }

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { name: name.into(), arguments }
    }

    #[test]
    fn a_call_is_recognised_by_name_and_arguments_however_the_client_names_the_tool() {
        let arguments = json!({ "ids": ["t1"], "note": "n" });
        let this = call("ctx_show", arguments.clone());
        let text = arguments.to_string();
        for tool in ["ctx_show", "mcp__ctx__ctx_show", "ctx_ctx_show", "ctx__ctx_show", "ctx.ctx_show"] {
            assert!(this.is_made_in(&shown(tool, &text, &json!({}), true)), "{tool}");
        }
        assert!(!this.is_made_in(&shown("ctx_show", &text, &json!({}), false)), "a reply that was answered");
        assert!(!this.is_made_in(&shown("my_ctx_shown", &text, &json!({}), true)));
        assert!(!this.is_made_in(&shown("octx_show", &text, &json!({}), true)));
        assert!(!this.is_made_in(&shown("ctx_show", r#"{"ids":["t2"],"note":"n"}"#, &json!({}), true)));
        let null = json!({ "note": "n", "conv": null, "ids": ["t1"] }).to_string();
        assert!(this.is_made_in(&shown("ctx_show", &null, &json!({}), true)), "null is no argument");
    }

    #[test]
    fn a_call_with_members_of_its_provider_is_recognised_in_its_json() {
        let arguments = json!({ "ids": ["t1"] });
        let this = call("ctx_show", arguments.clone());
        let chat = json!({ "id": "c", "type": "function", "index": 0,
            "function": { "name": "ctx_ctx_show", "arguments": arguments.to_string() } });
        let gemini =
            json!({ "functionCall": { "name": "mcp_ctx_ctx_show", "args": arguments }, "thoughtSignature": "s" });
        for raw in [chat, gemini] {
            let tool = raw["functionCall"]["name"].as_str().or(raw["function"]["name"].as_str()).map(str::to_owned);
            let tool = tool.expect("a name");
            assert!(this.is_made_in(&shown(&tool, "", &raw, true)), "{raw}");
            assert!(!call("ctx_show", json!({ "ids": ["t9"] })).is_made_in(&shown(&tool, "", &raw, true)));
        }
    }

    #[test]
    fn a_call_inside_another_tools_call_is_recognised() {
        let text =
            json!({ "server_name": "ctx", "tool_name": "ctx_list", "arguments": "{\"conv\":\"x\"}" }).to_string();
        assert!(call("ctx_list", json!({ "conv": "x" })).is_made_in(&shown("use_mcp_tool", &text, &json!({}), true)));
        assert!(!call("ctx_show", json!({ "conv": "x" })).is_made_in(&shown("use_mcp_tool", &text, &json!({}), true)));
        assert!(!call("ctx_list", json!({})).is_made_in(&shown("use_mcp_tool", &text, &json!({}), true)));
    }
}
