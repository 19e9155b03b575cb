//! A typed view of a request body: messages, system, tools and blocks as objects, string content as one text block.
//!
//! `validate` checks the conversation; this module checks only the types, in strict mode or not, because a message that
//! is not an object cannot be answered.

use super::json::{Fields, is_truthy, text};
use super::refusal::Refusal;
use serde_json::Value;
use std::borrow::Cow;

pub(crate) type Block<'a> = Cow<'a, Fields>;

#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) body: &'a Fields,
    pub(crate) tools: Vec<&'a Fields>,
    pub(crate) system: Vec<Block<'a>>,
    pub(crate) messages: Vec<Message<'a>>,
}

#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) fields: &'a Fields,
    pub(crate) role: Option<&'a str>,
    pub(crate) blocks: Vec<Block<'a>>,
}

impl<'a> Request<'a> {
    pub(crate) fn read(body: &'a Fields) -> Result<Self, Refusal> {
        let Some(Value::Array(messages)) = body.get("messages") else {
            return Err(Refusal::FieldRequired("messages"));
        };
        if messages.is_empty() {
            return Err(Refusal::NoMessages);
        }
        let messages = messages
            .iter()
            .enumerate()
            .map(|(index, message)| Message::read(message, index))
            .collect::<Result<_, _>>()?;
        let tools = match body.get("tools") {
            Some(Value::Array(tools)) => tools
                .iter()
                .enumerate()
                .map(|(index, tool)| tool.as_object().ok_or_else(|| Refusal::NotAnObject(format!("tools.{index}"))))
                .collect::<Result<_, _>>()?,
            tools if is_truthy(tools) => return Err(Refusal::NotAList("tools".into())),
            _ => Vec::new(),
        };
        Ok(Self { body, tools, system: blocks(body.get("system"), "system", true)?, messages })
    }

    /// The tools that the model sees from the start.
    pub(crate) fn loaded_tools(&self) -> impl Iterator<Item = &'a Fields> {
        self.tools.iter().copied().filter(|tool| !is_truthy(tool.get("defer_loading")))
    }

    /// The messages without those of role "system".
    pub(crate) fn spoken(&self) -> impl DoubleEndedIterator<Item = &Message<'a>> {
        self.messages.iter().filter(|message| !message.is_system())
    }
}

impl<'a> Message<'a> {
    fn read(message: &'a Value, index: usize) -> Result<Self, Refusal> {
        let fields = message.as_object().ok_or_else(|| Refusal::NotAnObject(format!("messages.{index}")))?;
        Ok(Self {
            fields,
            role: text(fields, "role"),
            blocks: blocks(fields.get("content"), &format!("messages.{index}.content"), false)?,
        })
    }

    pub(crate) fn is_system(&self) -> bool {
        self.role == Some("system")
    }

    pub(crate) fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| kind_of(block) == Some(kind))
    }
}

pub(crate) fn kind_of(block: &Fields) -> Option<&str> {
    text(block, "type")
}

pub(crate) fn is_thinking(block: &Fields) -> bool {
    matches!(kind_of(block), Some("thinking" | "redacted_thinking"))
}

/// The relevant fields: a breakpoint is never part of the content.
pub(crate) fn without_mark(block: &Fields) -> impl Iterator<Item = (&String, &Value)> {
    block.iter().filter(|(key, _)| *key != "cache_control")
}

/// `skip_empty`: an empty system string is no block, an empty message is one empty text.
fn blocks<'a>(content: Option<&'a Value>, place: &str, skip_empty: bool) -> Result<Vec<Block<'a>>, Refusal> {
    match content {
        Some(Value::String(text)) if skip_empty && text.is_empty() => Ok(Vec::new()),
        Some(Value::String(_)) => {
            let mut block = Fields::new();
            block.insert("type".into(), "text".into());
            block.extend(content.map(|text| ("text".to_owned(), text.clone())));
            Ok(vec![Cow::Owned(block)])
        }
        Some(Value::Array(blocks)) => blocks
            .iter()
            .enumerate()
            .map(|(index, block)| {
                block.as_object().map(Cow::Borrowed).ok_or_else(|| Refusal::NotAnObject(format!("{place}.{index}")))
            })
            .collect(),
        content if is_truthy(content) => Err(Refusal::NotAList(place.to_owned())),
        _ => Ok(Vec::new()),
    }
}
