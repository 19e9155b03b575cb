//! Synthetic blocks: parsed once, and sent only if the provider accepts them.

use super::{Input, Repair, spell};
use crate::anthropic::content;
use crate::json;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::effect::{NewMessage, NewMessageId};
use ctx_core::links;
use ctx_core::message::Role;
use std::borrow::Cow;

/// The kind of a block, as far as the rules need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Text,
    Thinking,
    /// A call; the position of its result shows whether the client or the provider runs it.
    Call,
    Result,
    ServerResult,
    /// The mark where another model took over.
    Fallback,
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct MadeBlock<'a> {
    /// The JSON to send.
    pub json: Cow<'a, str>,
    pub tag: Tag,
    pub id: Option<String>,
    /// Its `type`.
    pub kind: String,
    /// The tools it refers to.
    pub references: Vec<String>,
    /// The message of the view and the block's index there; none if a rule required it.
    pub from: Option<(NewMessageId, u32)>,
}

/// A synthetic text block.
pub(super) fn text(text: &str) -> MadeBlock<'static> {
    let quoted = serde_json::Value::from(text).to_string();
    let json = format!("{{\"type\":\"text\",\"text\":{quoted}}}");
    MadeBlock {
        json: Cow::Owned(json),
        tag: Tag::Text,
        id: None,
        kind: "text".into(),
        references: Vec::new(),
        from: None,
    }
}

/// The blocks of a synthetic message that can be sent in this role.
pub(super) fn read<'a>(
    (id, made): (NewMessageId, &'a NewMessage),
    role: Role,
    input: &Input<'_>,
    repairs: &mut Vec<Repair>,
) -> Vec<MadeBlock<'a>> {
    let mut blocks = Vec::with_capacity(made.content.len());
    for (at, content) in (0..).zip(&made.content) {
        match block_of(content, role, input, repairs) {
            Ok(block) => blocks.push(MadeBlock { from: Some((id, at)), ..block }),
            Err(repair) => repairs.push(repair),
        }
    }
    blocks
}

fn block_of<'a>(
    content: &'a Content,
    role: Role,
    input: &Input<'_>,
    repairs: &mut Vec<Repair>,
) -> Result<MadeBlock<'a>, Repair> {
    let refuse =
        |rule: &'static str, what: &str| Err(Repair::new(rule, format!("a block of ours is left out: {what}")));
    if let Content::Text { text: words } = content {
        return if words.trim().is_empty() { refuse("A27", "its text is empty") } else { Ok(text(words)) };
    }
    if let Content::Raw { wire, .. } = content
        && *wire != WireId::Anthropic
    {
        return refuse("A2", "it is JSON of another provider's format");
    }
    let block = content::write(content);
    let bytes = block.as_bytes();
    let Some(span) = object(bytes) else { return refuse("A2", "it is not a JSON object") };
    let Some(kind) = spell::text(bytes, span.start, "type") else { return refuse("A2", "it has no type") };
    let id = |name: &str| spell::text(bytes, span.start, name).map(Cow::into_owned).filter(|id| is_id(id));
    let is_server = kind != "tool_result" && kind.ends_with("_tool_result");
    let (tag, id) = match kind.as_ref() {
        "thinking" | "redacted_thinking" => return refuse("A54", "thinking is never ours"),
        "text" => {
            let text = spell::text(bytes, span.start, "text").unwrap_or_default();
            if text.trim().is_empty() {
                return refuse("A27", "its text is empty");
            }
            (Tag::Text, None)
        }
        "tool_addition" | "tool_removal" | "mcp_tool_listing" | "fallback" | "compaction" => {
            return refuse("A50", "only the client and the provider write it");
        }
        _ if role == Role::System => return refuse("A18", "a system message takes text only"),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let is_object = spell::member(bytes, span.start, "input").is_some_and(|m| bytes[m.value.start] == b'{');
            let is_named = spell::text(bytes, span.start, "name").is_some_and(|name| is_name(&name));
            match (id("id"), role) {
                (Some(id), Role::Assistant)
                    if is_object && is_named && (kind != "server_tool_use" || is_server_id(&id)) =>
                {
                    (Tag::Call, Some(id))
                }
                (_, Role::Assistant) => return refuse("A10", "a call needs an id, a name and an object as input"),
                _ => return refuse("A30", "only the assistant calls tools"),
            }
        }
        "tool_result" => match (id("tool_use_id"), role) {
            (Some(id), Role::User) => (Tag::Result, Some(id)),
            (None, _) => return refuse("A31", "a result names its call"),
            _ => return refuse("A31", "results stand in user messages"),
        },
        _ if is_server => match (id("tool_use_id"), role) {
            (Some(id), Role::Assistant) => (Tag::ServerResult, Some(id)),
            _ => return refuse("A40", "results of the provider's tools stand behind their call"),
        },
        "image" | "document" | "search_result" | "container_upload" if role == Role::Assistant => {
            return refuse("A11", "the assistant shows no images and documents");
        }
        _ => (Tag::Other, None),
    };
    if id.is_some() && input.envelope.tools.is_none() {
        return refuse("A9", "the request defines no tools");
    }
    // The blocks of this request are linked by derived ids, which are not sent.
    let linked = content.calls().or_else(|| content.answers()).filter(|linked| links::sent_id(linked) == id.as_deref());
    let id = linked.map(str::to_owned).or(id);
    let references = references(bytes, span.start);
    let known = |name: &String| input.envelope.tools.iter().flatten().any(|tool| *tool.name == **name);
    if !references.iter().all(known) {
        return refuse("A45", "it refers to a tool that is not defined");
    }
    let kind = kind.into_owned();
    let json = match bare(&block, span.start, repairs) {
        Cow::Owned(bare) => Cow::Owned(bare),
        Cow::Borrowed(_) => block,
    };
    Ok(MadeBlock { json, tag, id, kind, references, from: None })
}

/// The object that the text contains.
pub(super) fn object(bytes: &[u8]) -> Option<json::Span> {
    let span = json::value(bytes, 0).ok()?;
    let ends = bytes.get(span.end..)?.iter().all(u8::is_ascii_whitespace);
    (ends && bytes.get(span.start) == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok())
        .then_some(span)
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Whether a tool may have this name.
pub(super) fn is_name(name: &str) -> bool {
    is_id(name) && name.len() <= 128
}

fn is_server_id(id: &str) -> bool {
    id.strip_prefix("srvtoolu_").is_some_and(|rest| is_id(rest) && !rest.contains('-'))
}

/// Removes cache breakpoints from a block: placing them is the composer's task.
pub(super) fn bare<'a>(block: &'a str, at: usize, repairs: &mut Vec<Repair>) -> Cow<'a, str> {
    const MARK: &str = "cache_control";
    if memchr::memmem::find(block.as_bytes(), MARK.as_bytes()).is_none() {
        return Cow::Borrowed(block);
    }
    let bytes = block.as_bytes();
    let members: Vec<json::Member> = json::members(bytes, at).into_iter().flatten().flatten().collect();
    let is_mark = |member: &json::Member| json::key_is(&bytes[member.key.clone()], MARK);
    let spans: Vec<json::Span> = members.iter().map(json::Member::whole).collect();
    let mut out = match members.iter().position(is_mark).map(|mark| spell::cut(&spans, mark)) {
        Some(cut) => Cow::Owned([&block[..cut.start], &block[cut.end..]].concat()),
        None => Cow::Borrowed(block),
    };
    // A synthetic result may contain some.
    let inside = |part: &serde_json::Value| part.get(MARK).is_some();
    if let Ok(mut value) = serde_json::from_str::<serde_json::Value>(&out)
        && value["content"].as_array().is_some_and(|parts| parts.iter().any(inside))
    {
        for part in value["content"].as_array_mut().into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
            part.remove(MARK);
        }
        out = Cow::Owned(value.to_string());
    }
    if out != block {
        repairs.push(Repair::new("A76", "the cache mark of a block of ours is left out"));
    }
    out
}

/// The names in all `tool_reference` objects of a value.
pub(super) fn references(bytes: &[u8], at: usize) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(span) = json::value(bytes, at) else { return names };
    let value = &bytes[span.clone()];
    if memchr::memmem::find(value, b"\"tool_reference\"").is_none() {
        return names;
    }
    collect(&serde_json::from_slice(value).unwrap_or_default(), &mut names);
    names
}

fn collect(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        serde_json::Value::Object(fields) => {
            if fields.get("type").is_some_and(|kind| kind == "tool_reference") {
                let name = ["tool_name", "name"].iter().find_map(|key| fields.get(*key)?.as_str());
                names.extend(name.map(str::to_owned));
            }
            fields.values().for_each(|field| collect(field, names));
        }
        _ => {}
    }
}
