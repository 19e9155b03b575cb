//! JSON that people write: parsed into content, or refused if the provider would refuse it.

use crate::item;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::resolve::{DraftScope, bad_json, not_empty};
use ctx_wire::compose::nameless::link_draft;
use serde_json::Value;

pub(crate) fn draft(raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
    let list: Vec<&Value> = if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
    let inside = |content: Vec<Content>| vec![NewMessage { role: None, content }];
    let list = list.into_iter();
    match drafted {
        DraftScope::Messages => {
            let made = list.map(|raw| {
                let role = Some(item::role(raw.to_string().as_bytes()));
                Ok(NewMessage { role, content: vec![block(raw)?] })
            });
            made.collect::<Result<_, _>>().map(|made| link_draft(made, &raw.to_string()))
        }
        DraftScope::Blocks => list.map(block).collect::<Result<_, _>>().map(inside),
        DraftScope::System => list.map(words).collect::<Result<_, _>>().map(inside),
        DraftScope::Tool if raw["name"].is_string() => {
            let json = raw.to_string();
            Ok(inside(vec![Content::Raw { wire: WireId::Custom, json, calls: None, answers: None }]))
        }
        DraftScope::Tool => Err(bad_json("a tool is an object with a `name`", "")),
    }
}

pub(crate) fn check(content: &Content) -> Result<(), Refusal> {
    match content {
        Content::Text { text } => not_empty(text).map(drop),
        Content::Call { .. } | Content::Result { .. } => Ok(()),
        _ => Err(bad_json("an item is a `user`, `model`, `call` or `result`, with its own members only", "")),
    }
}

fn block(raw: &Value) -> Result<Content, Refusal> {
    let content = item::content(&raw.to_string()).ok_or_else(|| bad_json("it is no item", ""))?;
    check(&content).map(|()| content)
}

fn words(raw: &Value) -> Result<Content, Refusal> {
    let text = raw.as_str().ok_or_else(|| bad_json("the system prompt is a text", ""))?;
    Ok(Content::text(not_empty(text)?))
}
