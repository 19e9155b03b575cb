//! From the true history to the exact bytes of a request, the way clients write them.

use crate::history::{Identity, Item, What};
use serde_json::{Value, json};
use std::rc::Rc;

/// How a model wants its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// System messages inside the conversation.
    A,
    /// All of that as reminders in user texts and in the strings of tool results.
    B,
}

#[derive(Clone, Debug)]
pub struct Style {
    pub family: Family,
    /// The cache mark, if the client sets one.
    pub mark: Option<Value>,
    pub streams: bool,
    /// The mark stands on the last message but one: a side request that shares the history.
    pub mark_before_last: bool,
}

/// What a message of the request really is.
#[derive(Clone, Copy)]
pub struct Truth {
    pub identity: Identity,
    /// See [`Item::either`].
    pub either: bool,
    pub injected: bool,
}

pub struct Rendered {
    pub bytes: Vec<u8>,
    pub truth: Vec<Truth>,
}

pub fn request(history: &[Item], style: &Style) -> Rendered {
    let mut truth = Vec::new();
    let mut texts: Vec<Rc<str>> = Vec::new();
    for (at, item) in history.iter().enumerate() {
        if let Some(text) = written(item, &history[at + 1..], style.family) {
            texts.push(text);
            truth.push(Truth { identity: item.identity, either: item.either, injected: item.what().is_injected() });
        }
    }
    let marked_at = texts.len().checked_sub(if style.mark_before_last { 2 } else { 1 });
    if let (Some(at), Some(mark)) = (marked_at, &style.mark) {
        texts[at] = marked(&texts[at], mark).into();
    }
    Rendered { bytes: body(&texts, style), truth }
}

pub fn body<S: AsRef<str>>(messages: &[S], style: &Style) -> Vec<u8> {
    let model = match style.family {
        Family::A => "claude-opus-5-5",
        Family::B => "claude-sonnet-4-5",
    };
    let messages: Vec<&str> = messages.iter().map(AsRef::as_ref).collect();
    let max_tokens = if style.streams { 128_000 } else { 64_000 };
    let system = r#"[{"type":"text","text":"x-header: 1;"},{"type":"text","text":"You are an agent."}]"#;
    format!(
        r#"{{"model":"{model}","messages":[{}],"system":{system},"tools":[{{"name":"Read","input_schema":{{}}}}],"max_tokens":{max_tokens},"stream":{}}}"#,
        messages.join(","),
        style.streams
    )
    .into_bytes()
}

/// The mark on the last block: a string becomes a list for it.
pub fn marked(message: &str, mark: &Value) -> String {
    let mut message: Value = serde_json::from_str(message).expect("we wrote it");
    if let Some(words) = message["content"].as_str() {
        message["content"] = json!([text(words)]);
    }
    if let Some(block) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = mark.clone();
    }
    message.to_string()
}

/// A message as the family writes it; `None` if it has no message of its own there.
fn written(item: &Item, later: &[Item], family: Family) -> Option<Rc<str>> {
    let woven = later.iter().map_while(|item| reminder(item.what())).filter(|_| family == Family::B);
    let reminders: Vec<String> = woven.map(tagged).collect();
    let reminders = reminders.join("\n");
    if let Some((for_family, with, text)) = &*item.written.borrow()
        && (*for_family, with) == (family, &reminders)
    {
        return Some(text.clone());
    }
    let text: Rc<str> = message(item, family, &reminders)?.to_string().into();
    item.written.replace(Some((family, reminders, text.clone())));
    Some(text)
}

/// What family B weaves into the message before instead of sending a message of its own.
fn reminder(what: &What) -> Option<&str> {
    match what {
        What::Environment { text } => Some(text),
        What::Event { text } => Some(text.as_deref().unwrap_or("effort changed")),
        _ => None,
    }
}

fn tagged(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn message(item: &Item, family: Family, reminders: &str) -> Option<Value> {
    let system = |content: Value, effort: &str| {
        (family == Family::A)
            .then(|| json!({"role": "system", "content": content, "output_config": {"effort": effort}}))
    };
    match item.what() {
        What::Prompt { reminders: own, commands, interrupted, text: words } => {
            let mut texts: Vec<String> = own.iter().map(|reminder| tagged(reminder)).collect();
            texts.extend((!reminders.is_empty()).then(|| reminders.to_owned()));
            // Some clients write reminders and words as one text, some as blocks.
            let glued = family == Family::B && item.identity.is_multiple_of(2) && commands.is_empty() && !interrupted;
            texts.extend(commands.iter().cloned());
            texts.extend(interrupted.then(|| "[Request interrupted by user]".to_owned()));
            texts.push(words.clone());
            Some(said(&if glued { vec![texts.join("\n")] } else { texts }))
        }
        What::Injected { text } | What::Notice { text } => Some(said(&[tagged(text)])),
        What::Summary { text } => Some(said(std::slice::from_ref(text))),
        What::Environment { text } | What::Event { text: Some(text) } => system(json!(text), "medium"),
        What::Event { text: None } => system(json!([]), "high"),
        What::Answer { thinking, text: words, calls } => {
            let mut blocks = Vec::new();
            if let Some((thought, signature)) = thinking {
                blocks.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
            }
            blocks.extend(words.as_deref().map(text));
            for call in calls {
                let input = match family {
                    Family::A => json!({"file_path": call.argument}),
                    Family::B => json!({"limit": 100, "file_path": call.argument}),
                };
                blocks.push(json!({"type": "tool_use", "id": call.id, "name": "Read", "input": input}));
            }
            Some(json!({"role": "assistant", "content": blocks}))
        }
        What::Results { results, typed, interrupted } => {
            let mut blocks = Vec::new();
            for (at, (id, content)) in results.iter().enumerate() {
                let mut content = content.clone();
                if family == Family::B {
                    content.truncate(content.trim_end().len());
                    if at + 1 == results.len() {
                        content.push_str(reminders);
                        typed.iter().for_each(|typed| content.push_str(&format!("\n\nThe user sent: {typed}")));
                    }
                }
                blocks.push(json!({"tool_use_id": id, "type": "tool_result", "content": content}));
            }
            blocks.extend(typed.as_deref().filter(|_| family == Family::A).map(text));
            if let Some(words) = interrupted {
                blocks.push(text("[Request interrupted by user]\n"));
                blocks.push(text(words));
            }
            Some(json!({"role": "user", "content": blocks}))
        }
        What::Recorded { message, .. } => Some(message.clone()),
    }
}

/// A lone text is a string; of several, each but the last gets a line break.
fn said(texts: &[String]) -> Value {
    let content = match texts {
        [one] => json!(one),
        many => {
            let last = many.len() - 1;
            let line =
                |(at, words): (usize, &String)| text(&if at < last { format!("{words}\n") } else { words.clone() });
            many.iter().enumerate().map(line).collect()
        }
    };
    json!({"role": "user", "content": content})
}
