//! Requests that are no turn of the conversation: what clients ask on the side, in the shapes that
//! the stock client gives them.

use super::{Headers, with, without};
use serde_json::{Value, json};
use testkit::Session;

/// A side request: its name, its headers, its body, the class it is of.
pub struct Side {
    pub name: &'static str,
    pub headers: Headers,
    pub body: Value,
    pub class: &'static str,
}

/// All of them, as they would be sent beside the session's present state.
pub fn all(session: &Session, hinted: bool) -> Vec<Side> {
    let plain = session.headers();
    let no_beta = with(plain.clone(), "anthropic-beta", "interleaved-thinking-2025-05-14");
    let body = session.body_value();
    let only = |keys: &[&str]| {
        let members = body.as_object().into_iter().flatten().filter(|(key, _)| keys.contains(&key.as_str()));
        Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect())
    };

    let mut title = only(&["metadata", "stream"]);
    title["model"] = "claude-haiku-5-5".into();
    title["messages"] = json!([{"role": "user", "content": "<session>\nfix the parser\n</session>"}]);
    title["system"] = json!([{"type": "text", "text": "Name the session."}]);
    title["tools"] = json!([]);
    title["output_config"] = json!({"format": {"type": "json_schema"}});

    let mut probe = only(&["model", "metadata"]);
    probe["max_tokens"] = 1.into();
    probe["messages"] = json!([{"role": "user", "content": "quota"}]);

    let mut classifier = only(&["metadata"]);
    classifier["model"] = "claude-sonnet-5-5".into();
    classifier["system"] = json!([{"type": "text", "text": "Is this safe?"}]);
    classifier["messages"] = json!([{"role": "user", "content": format!("<transcript>{}</transcript>", "User: fix the parser\n".repeat(200))}]);
    classifier["stop_sequences"] = json!(["</block>"]);
    classifier["stream"] = false.into();

    let mut search = only(&["model", "metadata", "stream"]);
    search["messages"] =
        json!([{"role": "user", "content": [{"type": "text", "text": "Perform a web search for: parsers"}]}]);
    search["system"] = json!([{"type": "text", "text": "You search the web."}]);
    search["tools"] = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]);

    let summary = "Write a summary of all that was said. First think in <analysis> tags, then write the <summary>.";
    let sides = [
        ("title", no_beta.clone(), title, "auxiliary"),
        ("probe", no_beta, probe, "auxiliary"),
        ("suggestion", plain.clone(), beside(&body, "[SUGGESTION MODE: what would the user say next?]"), "auxiliary"),
        (
            "btw",
            plain.clone(),
            beside(&body, "<system-reminder>\naside\n</system-reminder>\n\nwhat is a slot?"),
            "auxiliary",
        ),
        ("classifier", without(plain.clone(), "anthropic-beta"), classifier, "auxiliary"),
        ("web search", plain.clone(), search, "auxiliary"),
        ("compaction", plain, beside(&body, summary), "compaction"),
    ];
    sides
        .into_iter()
        .map(|(name, headers, body, class)| {
            let headers = if hinted { with(headers, "x-claude-code-request-class", class) } else { headers };
            Side { name, headers, body, class }
        })
        .collect()
}

/// The whole history, and a question behind it that is no part of it. The mark stands on the last
/// message that is shared.
pub fn beside(body: &Value, question: &str) -> Value {
    let mut body = body.clone();
    if let Some(messages) = body["messages"].as_array_mut() {
        messages.push(json!({"role": "user", "content": question}));
    }
    body
}

/// Takes the cache marks off all messages.
pub fn unmarked(messages: &mut Value) {
    for message in messages.as_array_mut().into_iter().flatten() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().map(|block| block.remove("cache_control"));
        }
    }
}

/// What the client sends after it has summarised its history: the summary, the last `kept` messages
/// as they were, and a new question.
pub fn compacted(before: &Value, kept: usize, question: &str) -> Value {
    let mut body = before.clone();
    unmarked(&mut body["messages"]);
    let messages = body["messages"].as_array_mut().expect("messages");
    let tail = messages.split_off(messages.len() - kept);
    *messages = vec![json!({"role": "user", "content": [
        {"type": "text", "text": "This session is being continued from a previous conversation that ran out of context.\nThe user wanted a parser.\n"},
    ]})];
    messages.extend(tail);
    messages.push(json!({"role": "user", "content": [
        {"type": "text", "text": question, "cache_control": {"type": "ephemeral"}},
    ]}));
    body
}

/// The same history as an older model's client writes it: what was told in system messages stands as
/// reminders in the message before, and results are trimmed.
pub fn for_family_b(body: &Value) -> Value {
    let mut out = body.clone();
    unmarked(&mut out["messages"]);
    out["model"] = "claude-sonnet-4-5-20250929".into();
    let mut messages: Vec<Value> = Vec::new();
    for message in out["messages"].as_array().cloned().unwrap_or_default() {
        if message["role"] != "system" {
            messages.push(message);
            continue;
        }
        let told = match &message["content"] {
            Value::String(text) => text.clone(),
            content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
        };
        let reminder = format!("<system-reminder>\n{told}\n</system-reminder>\n");
        let Some(before) = messages.last_mut() else { continue };
        if let Some(text) = before["content"].as_str() {
            before["content"] = json!([{"type": "text", "text": text}]);
        }
        let blocks = before["content"].as_array_mut().expect("blocks");
        match blocks.iter_mut().rfind(|block| block["type"] == "tool_result") {
            Some(result) => {
                let text = result["content"].as_str().unwrap_or_default().trim_end().to_owned();
                result["content"] = format!("{text}\n\n{reminder}").into();
            }
            None => blocks.insert(blocks.len() - 1, json!({"type": "text", "text": reminder})),
        }
    }
    out["messages"] = messages.into();
    out
}
