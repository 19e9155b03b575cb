//! New content: texts, blocks and messages that people give.

use super::{Desk, Scope, Target, gone, not_empty};
use crate::edit::effect::{Effect, Made, Named, NewResult, Why};
use crate::edit::fold::{Laid, Unit};
use crate::edit::operation::Select;
use crate::edit::refusal::Refusal;
use crate::message::{Kind, Role};
use serde_json::{Value, json};

/// A text as a block.
pub fn text_block(text: &str) -> String {
    json!({ "type": "text", "text": text }).to_string()
}

impl Desk<'_> {
    pub(super) fn edit(
        &self,
        id: &str,
        text: Option<&str>,
        raw: Option<&Value>,
        force: bool,
    ) -> Result<Vec<Effect>, Refusal> {
        let targets = self.targets(&[id.to_owned()], &Select::default())?;
        let [target] = targets.as_slice() else {
            return Err(Refusal::new(
                "ambiguous-id",
                format!("`{id}` names {} things.", targets.len()),
                "Edit one at a time.",
            ));
        };
        let by = match (text, raw) {
            (Some(text), None) => self.written(target, not_empty(text)?)?,
            (None, Some(raw)) => self.given(target, raw)?,
            _ => {
                return Err(Refusal::new(
                    "no-content",
                    "No new content was given.",
                    "Give either `--text` or `--raw`.",
                ));
            }
        };
        let New::Blocks(by) = by else {
            let New::Result(result) = by else { return Err(gone(&target.name)) };
            let stays = |laid: &Laid| {
                self.kind(laid) == Some(Kind::ToolResult) || text.is_some() && !force && self.is_client_note(laid)
            };
            let others: Vec<Laid> = target.units.iter().copied().filter(|laid| !stays(laid)).collect();
            let mut effects = vec![Effect::Results { results: vec![result], summarized: true }];
            // What stood beside the result in its message was edited away with it.
            if target.scope == Scope::Message && others.iter().any(|laid| laid.covered.is_none()) {
                effects.push(Effect::Replace { why: Why::Edited, covers: self.cover(&others), by: Vec::new() });
            }
            return Ok(effects);
        };
        // Thinking is never edited: what the model thought before a message stays in front of it.
        let kept = |laid: &Laid| self.kind(laid) == Some(Kind::Thinking) && target.scope == Scope::Message;
        let units: Vec<Laid> = target.units.iter().copied().filter(|laid| !kept(laid)).collect();
        if units.is_empty() && !target.units.is_empty() {
            return Err(thinking(&target.name));
        }
        let target = match target.scope {
            Scope::Message => Target { covers: self.cover(&units), units, ..target.clone() },
            _ => target.clone(),
        };
        // A new text says nothing of the client's notes beside the old one; raw messages are all that is to be there.
        let targets = match (text, target.scope) {
            (Some(_), Scope::Frame | Scope::Steps | Scope::Message) if !force => {
                self.without_client_notes(vec![target])?
            }
            _ => vec![target],
        };
        let covers = self.covers(&targets, force)?;
        Ok(vec![Effect::Replace { why: Why::Edited, covers, by }])
    }

    fn kind(&self, laid: &Laid) -> Option<Kind> {
        match laid.unit {
            Unit::Source { message, block } => Some(self.source.messages[message].blocks.get(block?)?.kind),
            Unit::Made(_) => None,
        }
    }

    fn written(&self, target: &Target, text: &str) -> Result<New, Refusal> {
        let own = |role| New::Blocks(vec![Made { role: Some(role), blocks: vec![text_block(text)] }]);
        Ok(match target.scope {
            Scope::Frame => own(Role::User),
            Scope::Steps => own(Role::Assistant),
            Scope::Message => {
                let role = self.first_role(&target.units).unwrap_or(Role::User);
                let is_result = |laid: &Laid| laid.covered.is_none() && self.kind(laid) == Some(Kind::ToolResult);
                let results: Vec<&Laid> = target.units.iter().filter(|laid| is_result(laid)).collect();
                match (role, results.as_slice()) {
                    // The answer to a call stays an answer.
                    (Role::User, [result]) => self.new_content(result, text)?,
                    (Role::User, [_, _, ..]) => {
                        return Err(Refusal::new(
                            "many-results",
                            format!("`{}` holds {} tool results.", target.name, results.len()),
                            format!("Edit one of them, such as `{}.0`, or use `ctx summarize-results`.", target.name),
                        ));
                    }
                    // In the message itself, behind what the model thought.
                    _ if self.is_clients(target) => {
                        New::Blocks(vec![Made { role: None, blocks: vec![text_block(text)] }])
                    }
                    _ => own(role),
                }
            }
            Scope::Block => match target.units.iter().find(|laid| laid.covered.is_none()) {
                None => return Err(gone(&target.name)),
                Some(laid) => match self.kind(laid) {
                    // What a tool of the provider's found is never changed: the text stands in its place (A42).
                    Some(Kind::ToolResult) if self.first_role(&target.units) == Some(Role::User) => {
                        self.new_content(laid, text)?
                    }
                    Some(Kind::Thinking) => return Err(thinking(&target.name)),
                    Some(Kind::ToolUse) => {
                        return Err(Refusal::new(
                            "not-text",
                            format!("`{}` is a tool call; a text cannot take its place.", target.name),
                            "Give the block with `--raw`, or delete the step.",
                        ));
                    }
                    None if !self.is_clients(target) => own(self.first_role(&target.units).unwrap_or(Role::User)),
                    _ => New::Blocks(vec![Made { role: None, blocks: vec![text_block(text)] }]),
                },
            },
            Scope::System => New::Blocks(vec![Made { role: None, blocks: vec![text_block(text)] }]),
            Scope::Tool => {
                return Err(Refusal::new(
                    "not-text",
                    format!("`{}` is a tool definition.", target.name),
                    "Give the whole definition with `--raw`.",
                ));
            }
        })
    }

    /// Whether all that is sent of it is the client's, or stands inside a message of the client's.
    fn is_clients(&self, target: &Target) -> bool {
        target.units.iter().filter(|laid| laid.covered.is_none()).all(|laid| match laid.unit {
            Unit::Source { .. } => true,
            Unit::Made(made) => self.view.made(made).is_some_and(|made| made.role.is_none()),
        })
    }

    fn new_content(&self, laid: &Laid, text: &str) -> Result<New, Refusal> {
        let Unit::Source { message, block: Some(block) } = laid.unit else { return Err(gone("this result")) };
        let Some(facts) = self.source.messages[message].blocks.get(block) else { return Err(gone("this result")) };
        Ok(New::Result(NewResult {
            of: self.message_ref(message),
            block: Named::of(block as u32, facts),
            text: text.to_owned(),
        }))
    }

    fn given(&self, target: &Target, raw: &Value) -> Result<New, Refusal> {
        let blocks = |raw: &Value| -> Result<Vec<String>, Refusal> {
            let list = if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
            list.into_iter().map(|block| self.block(block)).collect()
        };
        match target.scope {
            Scope::Block if self.sends_thinking(target) => Err(thinking(&target.name)),
            Scope::System if !is_text(raw) => Err(bad("the system prompt takes text only", "")),
            Scope::Block | Scope::System => Ok(New::Blocks(vec![Made { role: None, blocks: blocks(raw)? }])),
            Scope::Tool => match raw {
                Value::Object(fields)
                    if fields.get("name").is_some_and(Value::is_string)
                        && (fields.get("input_schema").is_some_and(Value::is_object)
                            || fields.get("type").is_some_and(|kind| kind.is_string() && kind != "custom")) =>
                {
                    Ok(New::Blocks(vec![Made { role: None, blocks: vec![raw.to_string()] }]))
                }
                _ => Err(bad("a tool definition is an object with a `name` and an `input_schema`", "")),
            },
            Scope::Frame | Scope::Steps | Scope::Message => self.messages(raw).map(New::Blocks),
        }
    }

    fn sends_thinking(&self, target: &Target) -> bool {
        target.units.iter().any(|laid| laid.covered.is_none() && self.kind(laid) == Some(Kind::Thinking))
    }

    /// Messages given in raw JSON.
    pub fn messages(&self, raw: &Value) -> Result<Vec<Made>, Refusal> {
        let list = if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
        let mut messages = Vec::new();
        for (at, message) in list.into_iter().enumerate() {
            let wrong = |what: &str| bad(what, &format!(" (message {at})"));
            let Value::Object(fields) = message else {
                return Err(wrong("a message is an object with `role` and `content`"));
            };
            let role = match fields.get("role").and_then(Value::as_str) {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                Some("system") => Role::System,
                _ => return Err(wrong("`role` must be `user`, `assistant` or `system`")),
            };
            if let Some(other) = fields.keys().find(|key| !matches!(key.as_str(), "role" | "content")) {
                return Err(wrong(&format!("a message has only `role` and `content`, not `{other}`")));
            }
            let blocks = match fields.get("content") {
                Some(Value::String(text)) => vec![text_block(not_empty(text)?)],
                Some(Value::Array(list)) if !list.is_empty() => {
                    list.iter().map(|block| self.block(block)).collect::<Result<_, _>>()?
                }
                Some(Value::Array(_)) => {
                    return Err(wrong("`content` is empty, and the provider refuses that: rule A25"));
                }
                _ => return Err(wrong("`content` must be a text or a list of blocks")),
            };
            messages.push(Made { role: Some(role), blocks });
        }
        if messages.is_empty() {
            return Err(bad("the list of messages is empty", ""));
        }
        Ok(messages)
    }

    fn block(&self, block: &Value) -> Result<String, Refusal> {
        let Value::Object(fields) = block else { return Err(bad("a block is an object with a `type`", "")) };
        match fields.get("type").and_then(Value::as_str) {
            None => return Err(bad("a block is an object with a `type`", "")),
            Some("thinking" | "redacted_thinking") => return Err(thinking("this block")),
            Some("text") => drop(not_empty(fields.get("text").and_then(Value::as_str).unwrap_or_default())?),
            Some("tool_use") => {
                let named = ["id", "name"].iter().all(|name| fields.get(*name).is_some_and(Value::is_string));
                if !named || !fields.get("input").is_some_and(Value::is_object) {
                    return Err(bad(
                        "a tool call has an `id`, a `name` and an `input` that is an object: rule A10",
                        "",
                    ));
                }
            }
            Some("tool_result") => {
                if !fields.get("tool_use_id").is_some_and(Value::is_string) {
                    return Err(bad("a tool result names its call in `tool_use_id`", ""));
                }
            }
            Some(kind @ ("image" | "document")) => {
                if !fields.get("source").is_some_and(is_source) {
                    return Err(bad(&format!("an {kind} has a `source` with its `type` and its data"), ""));
                }
            }
            Some("search_result") => {}
            // What the provider does not know it refuses, and then every request after it.
            Some(other) => {
                return Err(bad(
                    &format!(
                        "`{other}` is no block that one can write; text, image, document, search_result, tool_use and tool_result are"
                    ),
                    "",
                ));
            }
        }
        Ok(block.to_string())
    }
}

/// Whether it is a text block, or a list of them.
fn is_text(raw: &Value) -> bool {
    match raw {
        Value::Array(list) => list.iter().all(is_text),
        block => block.get("type").is_some_and(|kind| kind == "text"),
    }
}

/// Where an image or a document comes from.
fn is_source(source: &Value) -> bool {
    let text = |name: &str| source.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    match text("type") {
        Some("base64") => text("media_type").is_some() && text("data").is_some_and(|data| data.bytes().all(base64)),
        Some("url") => text("url").is_some(),
        Some("file") => text("file_id").is_some(),
        Some("text") => text("data").is_some(),
        Some("content") => source.get("content").is_some(),
        _ => false,
    }
}

/// What takes the place of a target.
enum New {
    Blocks(Vec<Made>),
    Result(NewResult),
}

fn thinking(name: &str) -> Refusal {
    Refusal::new(
        "thinking",
        format!("`{name}` is the model's thinking, which is signed: it cannot be written or changed: rule A54."),
        "It can be deleted with its step.",
    )
}

fn bad(what: &str, place: &str) -> Refusal {
    Refusal::new(
        "bad-content",
        format!("The raw JSON cannot be sent: {what}{place}."),
        "`ctx show ID --raw` shows what it looks like.",
    )
}
