//! One violation of every rule, and the allowed limit of each. All start from `conversations::tool_loop`: question, two
//! calls, results, system message, answer, question.

use serde_json::{Value, json};

pub const BETA: &str = "thinking-binding-controls-2026-08-01";

pub struct Violation {
    pub name: &'static str,
    pub edit: fn(&mut Value),
    /// Words of the refusal; empty if it is accepted.
    pub refusal: &'static str,
}

impl Violation {
    /// Names contain the beta header if one is needed.
    pub fn headers(&self) -> Vec<(String, String)> {
        let beta = self.name.contains("with beta");
        let header = ("Anthropic-Beta".to_owned(), format!("a,{BETA}"));
        beta.then_some(header).into_iter().collect()
    }
}

fn remove(body: &mut Value, key: &str) {
    body.as_object_mut().map(|fields| fields.shift_remove(key));
}

fn list<'a>(body: &'a mut Value, pointer: &str) -> &'a mut Vec<Value> {
    let found = body.pointer_mut(pointer).and_then(Value::as_array_mut);
    found.expect("a list in the loop")
}

fn mark(body: &mut Value, pointer: &str, ttl: Option<&str>) {
    let block = body.pointer_mut(pointer).expect("a place in the loop");
    block["cache_control"] = match ttl {
        Some(ttl) => json!({"type": "ephemeral", "ttl": ttl}),
        None => json!({"type": "ephemeral"}),
    };
}

macro_rules! violations {
    ($($name:literal, $edit:expr, $refusal:literal;)*) => {
        vec![$(Violation { name: $name, edit: $edit, refusal: $refusal }),*]
    };
}

pub fn all() -> Vec<Violation> {
    let mut all = fields();
    all.extend(roles());
    all.extend(contents());
    all.extend(tools());
    all.extend(marks_and_budgets());
    all.extend(thinking());
    all
}

fn fields() -> Vec<Violation> {
    violations! {
        "no model", |b| remove(b, "model"), "model: Field required";
        "no messages", |b| remove(b, "messages"), "messages: Field required";
        "no max_tokens", |b| remove(b, "max_tokens"), "max_tokens: Field required";
        "messages no list", |b| b["messages"] = "x".into(), "at least one message";
        "messages null", |b| b["messages"] = Value::Null, "at least one message";
        "no message", |b| b["messages"] = json!([]), "at least one message";
        "no tools key but calls", |b| remove(b, "tools"), "must define tools";
        "empty tools", |b| b["tools"] = json!([]), "bound to a different conversation";
        "tool names twice", |b| b["tools"][1]["name"] = "Read".into(), "Tool names must be unique";
        "system of images", |b| b["system"][1] = json!({"type": "image"}), "system.1.type";
        "system without type", |b| b["system"][0] = json!({"text": "x"}), "system.0.type";
        "empty system text", |b| b["system"][1]["text"] = "".into(), "system.1: text content";
        "system null", |b| b["system"] = Value::Null, "bound to a different";
        "system as a string", |b| b["system"] = "be good".into(), "";
    }
}

fn roles() -> Vec<Violation> {
    violations! {
        "assistant first", |b| { list(b, "/messages").remove(0); }, "first message must use";
        "only system", |b| b["messages"] = json!([{"role": "system", "content": "x"}]), "first message";
        "unknown role", |b| b["messages"][2]["role"] = "tool".into(), "messages.2.role";
        "no role", |b| remove(&mut b["messages"][2], "role"), "messages.2.role";
        "system message of an image", |b| b["messages"][3]["content"] = json!([{"type": "image"}]),
            "tool_addition, and tool_removal";
        "system message of tool changes",
            |b| b["messages"][3]["content"] = json!([{"type": "tool_addition"}, {"type": "tool_removal"}]),
            "bound to a different";
        "empty system message", |b| b["messages"][3]["content"] = json!([]), "at least one block";
        "null system message", |b| b["messages"][3]["content"] = Value::Null, "at least one block";
        "system message of settings only",
            |b| list(b, "/messages").insert(0, json!({"role": "system", "content": [], "output_config": {"effort": "low"}})),
            "";
        "settings that say nothing",
            |b| list(b, "/messages").insert(0, json!({"role": "system", "content": [], "output_config": {}})),
            "at least one block";
        "system message first",
            |b| list(b, "/messages").insert(0, json!({"role": "system", "content": "x"})),
            "use the top-level 'system'";
        "system message after an answer",
            |b| list(b, "/messages").insert(5, json!({"role": "system", "content": "x"})),
            "must follow a 'user'";
        "system message after a server tool result",
            |b| {
                list(b, "/messages/4/content").push(json!({"type": "web_search_tool_result"}));
                list(b, "/messages").insert(5, json!({"role": "system", "content": "x"}));
                list(b, "/messages").insert(6, json!({"role": "assistant", "content": "y"}));
            },
            "";
        "system message before a question",
            |b| {
                list(b, "/messages").push(json!({"role": "system", "content": "x"}));
                list(b, "/messages").push(json!({"role": "user", "content": "y"}));
            },
            "must precede an 'assistant'";
        "system messages in a row",
            |b| {
                list(b, "/messages").push(json!({"role": "system", "content": "x"}));
                list(b, "/messages").push(json!({"role": "system", "content": [{"type": "text", "text": ""}]}));
            },
            "";
        "assistant last", |b| { list(b, "/messages").pop(); }, "assistant message prefill";
        "assistant last but a system message",
            |b| { list(b, "/messages").remove(5); list(b, "/messages").swap(3, 4); },
            "must follow a 'user'";
        "questions in a row", |b| list(b, "/messages").push(json!({"role": "user", "content": "?"})), "";
    }
}

fn contents() -> Vec<Violation> {
    violations! {
        "empty string", |b| b["messages"][5]["content"] = "".into(), "non-empty content";
        "empty list", |b| b["messages"][5]["content"] = json!([]), "non-empty content";
        "null content", |b| b["messages"][5]["content"] = Value::Null, "non-empty content";
        "no content", |b| remove(&mut b["messages"][5], "content"), "non-empty content";
        "empty text", |b| b["messages"][5]["content"][0]["text"] = "".into(), "must be non-empty";
        "no text", |b| remove(&mut b["messages"][5]["content"][0], "text"), "must be non-empty";
        "blank text", |b| b["messages"][5]["content"][0]["text"] = " \n\t\u{1f}\u{a0}".into(),
            "must contain non-whitespace";
        "blank string", |b| b["messages"][5]["content"] = "\n".into(), "must contain non-whitespace";
        "unknown block", |b| b["messages"][5]["content"][0] = json!({"type": "new"}), "";
    }
}

fn tools() -> Vec<Violation> {
    violations! {
        "call by the user",
            |b| b["messages"][5]["content"][0] = json!({"type": "tool_use", "id": "x", "input": {}}),
            "`tool_use` blocks can only be in `assistant`";
        "call twice",
            |b| { let call = b["messages"][1]["content"][2].clone(); list(b, "/messages/4/content").push(call); },
            "`tool_use` ids must be unique";
        "input as a string", |b| b["messages"][1]["content"][2]["input"] = "{}".into(),
            "should be a valid dictionary";
        "no input", |b| remove(&mut b["messages"][1]["content"][2], "input"), "valid dictionary";
        "result by the assistant",
            |b| { let result = b["messages"][2]["content"][0].clone(); list(b, "/messages/4/content").push(result); },
            "`tool_result` blocks can only be in `user`";
        "result of nothing",
            |b| b["messages"][5]["content"][0] = json!({"type": "tool_result", "tool_use_id": "x"}),
            "unexpected `tool_use_id`";
        "result without id",
            |b| b["messages"][5]["content"][0] = json!({"type": "tool_result"}),
            "blocks: None";
        "result twice",
            |b| { let result = b["messages"][2]["content"][0].clone(); list(b, "/messages/2/content").push(result); },
            "must have a single result";
        "text before results",
            |b| list(b, "/messages/2/content").insert(0, json!({"type": "text", "text": "x"})),
            "must come first in the message";
        "text after results",
            |b| list(b, "/messages/2/content").push(json!({"type": "text", "text": "x"})),
            "bound to a different conversation";
        "results in another order", |b| list(b, "/messages/2/content").swap(0, 1), "bound to a different";
        "reference to nothing",
            |b| b["messages"][2]["content"][0]["content"] = json!([{"type": "text", "text": "a"},
                {"type": "tool_reference", "tool_name": "Nope"}]),
            "Tool reference 'Nope' not found";
        "reference to a deferred tool",
            |b| b["messages"][2]["content"][0]["content"] = json!([{"type": "tool_reference", "tool_name": "Later"}]),
            "bound to a different";
        "a result is missing", |b| { list(b, "/messages/2/content").remove(0); },
            "corresponding `tool_result` block in the next message";
        "all results are missing", |b| { list(b, "/messages").remove(2); }, "role 'system' must follow";
        "results in two messages",
            |b| {
                let result = list(b, "/messages/2/content").remove(1);
                list(b, "/messages").insert(3, json!({"role": "user", "content": [result]}));
            },
            "in the next message";
        "calls at the end",
            |b| { list(b, "/messages").truncate(2); },
            "ids were found without";
        "answers in a row",
            |b| {
                let blocks = list(b, "/messages/1/content").split_off(3);
                list(b, "/messages").insert(2, json!({"role": "assistant", "content": blocks}));
            },
            "";
    }
}

fn marks_and_budgets() -> Vec<Violation> {
    violations! {
        "mark on thinking", |b| mark(b, "/messages/1/content/0", None), "cannot be set for thinking";
        "five marks",
            |b| for place in ["/tools/0", "/system/1", "/messages/1/content/1", "/messages/2/content/0", "/messages/5/content/0"] {
                mark(b, place, None);
            },
            "Found 5";
        "four marks",
            |b| for place in ["/tools/0", "/system/1", "/messages/2/content/0", "/messages/5/content/0"] {
                mark(b, place, None);
            },
            "";
        "four marks again",
            |b| for place in ["/tools/0", "/system/1", "/messages/2/content/0", "/messages/5/content/0"] {
                mark(b, place, None);
            },
            "";
        "empty mark", |b| b["system"][1]["cache_control"] = json!({}), "";
        "long after short",
            |b| { mark(b, "/system/1", Some("5m")); mark(b, "/messages/5/content/0", Some("1h")); },
            "must not come after";
        "long after unsaid",
            |b| { mark(b, "/tools/0", Some("1h")); mark(b, "/system/1", None); mark(b, "/messages/5/content/0", Some("1h")); },
            "must not come after";
        "short after long",
            |b| { mark(b, "/system/1", Some("1h")); mark(b, "/messages/5/content/0", None); },
            "";
        "small budget", |b| b["thinking"] = json!({"type": "enabled", "budget_tokens": 1023}),
            "greater than or equal to 1024";
        "no budget", |b| b["thinking"] = json!({"type": "enabled"}), "greater than or equal to 1024";
        "budget of all tokens", |b| b["thinking"] = json!({"type": "enabled", "budget_tokens": 4096}),
            "`max_tokens` must be greater";
        "budget just right", |b| b["thinking"] = json!({"type": "enabled", "budget_tokens": 4095}), "";
        "no thinking at all", |b| remove(b, "thinking"), "";
    }
}

fn thinking() -> Vec<Violation> {
    violations! {
        "thinking by the user",
            |b| { let block = b["messages"][1]["content"][0].clone(); list(b, "/messages/5/content").push(block); },
            "`thinking` blocks can only be";
        "altered thinking", |b| b["messages"][1]["content"][0]["thinking"] = "hm!".into(), "Invalid `signature`";
        "foreign signature", |b| b["messages"][1]["content"][0]["signature"] = "Zm9v".into(), "Invalid `signature`";
        "no signature", |b| remove(&mut b["messages"][1]["content"][0], "signature"), "Invalid `signature`";
        "signature with junk in it",
            |b| {
                let signature = &mut b["messages"][1]["content"][0]["signature"];
                *signature = format!("!{} \n", signature.as_str().unwrap_or_default()).into();
            },
            "";
        "signature without its end",
            |b| {
                let signature = &mut b["messages"][1]["content"][0]["signature"];
                *signature = signature.as_str().unwrap_or_default().trim_end_matches('=').into();
            },
            "Invalid `signature`";
        "first thinking left out", |b| { list(b, "/messages/1/content").remove(0); }, "";
        "last thinking left out", |b| { list(b, "/messages/4/content").remove(0); }, "";
        "thinking moved", |b| list(b, "/messages/1/content").swap(0, 1), "messages.1.content.1: Invalid";
        "an earlier word changed", |b| b["messages"][1]["content"][1]["text"] = "other".into(),
            "messages.4.content.0: Invalid `signature` in `thinking` block. The block is bound";
        "a system word changed", |b| b["system"][1]["text"] = "be bad".into(), "messages.1.content.0";
        "attribution changed", |b| b["system"][0]["text"] = "x-anthropic-billing-header: v=2".into(), "";
        "a deferred tool gone", |b| { list(b, "/tools").pop(); }, "";
        "a tool gone", |b| { list(b, "/tools").remove(0); }, "bound to a different";
        "binding block_binding without the header",
            |b| b["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"}),
            "Extra inputs are not permitted";
        "binding block_binding with beta",
            |b| b["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"}), "";
        "dropped after a change with beta",
            |b| {
                b["system"][1]["text"] = "be bad".into();
                b["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
            },
            "";
        "refused after a change with beta",
            |b| {
                b["system"][1]["text"] = "be bad".into();
                b["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "error"});
            },
            "bound to a different";
    }
}
