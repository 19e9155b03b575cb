//! One line of a session file: the relevant members.

use crate::session::SessionUsage;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) struct Line<'a> {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    pub(super) kind: Cow<'a, str>,
    pub(super) uuid: Cow<'a, str>,
    /// The preceding line.
    pub(super) parent: Option<Cow<'a, str>>,
    /// The last line before a compaction.
    pub(super) before_boundary: Option<Cow<'a, str>>,
    pub(super) is_boundary: bool,
    pub(super) is_summary: bool,
    /// Belongs to a sub-agent.
    pub(super) is_side: bool,
    /// The lines that a compaction kept.
    pub(super) kept: KeptLine<'a>,
    pub(super) at: Option<Cow<'a, str>>,
    pub(super) message: Option<Message<'a>>,
    /// Content that the client injected into the request.
    pub(super) injected: Vec<&'a RawValue>,
    pub(super) shape: Option<RequestShape<'a>>,
}

pub(super) struct Message<'a> {
    pub(super) is_answer: bool,
    /// Shared by all lines of one answer.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) content: &'a RawValue,
    pub(super) usage: Option<SessionUsage>,
    /// The calls that it makes or answers.
    pub(super) calls: Vec<Cow<'a, str>>,
    pub(super) results: Vec<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
pub(super) struct KeptLine<'a> {
    #[serde(default, borrow)]
    pub(super) uuids: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct RequestShape<'a> {
    #[serde(borrow)]
    pub(super) system: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    is_sidechain: Option<bool>,
    is_compact_summary: Option<bool>,
    is_api_error_message: Option<bool>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    rendered: Option<&'a RawValue>,
    #[serde(borrow)]
    compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    shape: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WrittenMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: &'a RawValue,
    usage: Option<WrittenUsage>,
}

#[derive(Deserialize)]
struct WrittenUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<WrittenFor>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// The lifetimes of a cache write.
#[derive(Deserialize)]
struct WrittenFor {
    ephemeral_1h_input_tokens: Option<u64>,
}

/// The relevant members of a content block.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
}

pub(super) fn read(text: &[u8], number: usize) -> Result<Line<'_>, String> {
    let written: WrittenLine = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            format!("it is not a line of a session: {}", reason(&error))
        } else {
            format!("it is not JSON: {}", reason(&error))
        }
    })?;
    let kind = written.kind.unwrap_or_default();
    let message = match written.message {
        Some(message) if kind == "user" || kind == "assistant" => Some(read_message(message)?),
        _ => None,
    };
    // Messages that the client wrote in the model's place are not sent.
    let invented = |message: &Message| message.is_answer && message.model.as_deref() == Some("<synthetic>");
    let message = message.filter(|message| written.is_api_error_message != Some(true) && !invented(message));
    Ok(Line {
        number,
        uuid: written.uuid.unwrap_or_default(),
        parent: written.parent_uuid,
        before_boundary: written.logical_parent_uuid,
        is_boundary: kind == "system" && written.subtype.as_deref() == Some("compact_boundary"),
        is_summary: written.is_compact_summary == Some(true),
        is_side: written.is_sidechain == Some(true),
        kept: written.compact_metadata.map(kept).unwrap_or_default(),
        at: written.timestamp,
        message,
        injected: written.rendered.map(injected).unwrap_or_default(),
        shape: written.shape.and_then(|shape| serde_json::from_str(shape.get()).ok()),
        kind,
    })
}

/// The parser's reason, without the position: the caller adds the line.
fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    said.strip_suffix(&place).unwrap_or(&said).to_owned()
}

fn read_message(message: &RawValue) -> Result<Message<'_>, String> {
    let written: WrittenMessage = serde_json::from_str(message.get())
        .map_err(|error| format!("its message cannot be read: {}", reason(&error)))?;
    if !written.content.get().starts_with(['"', '[']) {
        return Err("the content of its message is neither text nor a list".into());
    }
    let usage = written.usage.map(|usage| SessionUsage {
        input: usage.input_tokens.unwrap_or_default(),
        cache_read: usage.cache_read_input_tokens.unwrap_or_default(),
        cache_written: usage.cache_creation_input_tokens.unwrap_or_default(),
        cache_written_1h: usage.cache_creation.map(|written| written.ephemeral_1h_input_tokens.unwrap_or_default()),
        output: usage.output_tokens.unwrap_or_default(),
    });
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    if written.content.get().starts_with('[') {
        let blocks: Vec<Block> = serde_json::from_str(written.content.get())
            .map_err(|error| format!("a block of its message cannot be read: {}", reason(&error)))?;
        for block in blocks {
            match (&*block.kind, block.id, block.tool_use_id) {
                ("tool_use", Some(id), _) => calls.push(id),
                ("tool_result", _, Some(id)) => results.push(id),
                _ => {}
            }
        }
    }
    let is_answer = written.role == "assistant";
    Ok(Message { is_answer, id: written.id, model: written.model, content: written.content, usage, calls, results })
}

fn kept(about: &RawValue) -> KeptLine<'_> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct About<'a> {
        #[serde(borrow)]
        preserved_messages: Option<KeptLine<'a>>,
    }
    let about = serde_json::from_str(about.get()).ok();
    about.and_then(|about: About| about.preserved_messages).unwrap_or_default()
}

fn injected(rendered: &RawValue) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let parts: Vec<Part> = serde_json::from_str(rendered.get()).unwrap_or_default();
    parts.into_iter().filter_map(|part| part.content).collect()
}
