//! Converts content to this wire's JSON, and back.

use crate::compose::spell;
use crate::json;
use ctx_core::Key;
use ctx_core::content::{CallInput, Content, Origin, WireId};
use ctx_core::links;
use serde_json::{Map, Value};
use std::borrow::Cow;

const MARK: &str = "cache_control";

/// The content of a block without its cache breakpoint; `None` if it is not JSON. A plain text is a block too.
pub fn of(block: &str) -> Option<Content> {
    match serde_json::from_str(block).ok()? {
        Value::String(text) => Some(Content::Text { text }),
        mut block => {
            block.as_object_mut().map(|fields| fields.shift_remove(MARK));
            Some(read(&block))
        }
    }
}

/// The content of a block. A block with members unknown to other wires stays raw.
pub fn read(block: &Value) -> Content {
    neutral(block).unwrap_or_else(|| raw(block.to_string(), block))
}

/// The content of a block that was stored as JSON: sent byte for byte.
pub fn restored(block: &str) -> Content {
    let value = serde_json::from_str(block).unwrap_or_default();
    let content = neutral(&value).filter(|content| write(content) == block);
    content.unwrap_or_else(|| raw(block.to_owned(), &value))
}

pub(super) fn raw(json: String, value: &Value) -> Content {
    let id = |name: &str| value[name].as_str().map(str::to_owned);
    let is_call = value["type"].as_str().is_some_and(|kind| kind.ends_with("tool_use"));
    let calls = id("id").filter(|_| is_call);
    Content::Raw { wire: WireId::Anthropic, json, calls, answers: id("tool_use_id") }
}

fn neutral(block: &Value) -> Option<Content> {
    let fields = block.as_object()?;
    let has_only = |known: &[&str]| fields.keys().all(|name| known.contains(&name.as_str()));
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("type")?.as_str() {
        "text" if has_only(&["type", "text"]) => Some(Content::Text { text: text("text")? }),
        "tool_use" if has_only(&["type", "id", "name", "input"]) => {
            let input = fields.get("input").filter(|input| input.is_object())?.to_string();
            Some(Content::Call { id: Some(text("id")?), name: text("name")?, input: CallInput::Json(input) })
        }
        "tool_result" if has_only(&["type", "tool_use_id", "content", "is_error"]) => {
            let parts = match fields.get("content") {
                None => Vec::new(),
                Some(Value::String(text)) => vec![Content::text(text)],
                Some(Value::Array(parts)) => parts.iter().map(neutral).collect::<Option<_>>()?,
                Some(_) => return None,
            };
            let error = fields.get("is_error").map_or(Some(false), Value::as_bool)?;
            Some(Content::Result { id: Some(text("tool_use_id")?), parts, error })
        }
        "image" if has_only(&["type", "source"]) => Some(Content::Image { from: origin(fields)? }),
        "document" if has_only(&["type", "source", "title"]) => {
            Some(Content::Document { from: origin(fields)?, title: text("title") })
        }
        _ => None,
    }
}

pub(super) fn origin(block: &Map<String, Value>) -> Option<Origin> {
    let source = block.get("source")?.as_object()?;
    let text = |name: &str| source.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type")?.as_str(), source.len()) {
        ("base64", 3) => Some(Origin::Base64 { media: text("media_type")?, data: text("data")? }),
        ("url", 2) => Some(Origin::Url(text("url")?)),
        ("file", 2) => Some(Origin::File { wire: WireId::Anthropic, id: text("file_id")? }),
        _ => None,
    }
}

/// A block of this wire.
pub fn write(content: &Content) -> Cow<'_, str> {
    Cow::Owned(match content {
        Content::Text { text } => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
        Content::Call { id, name, input: CallInput::Json(input) } => {
            let id = quoted(id.as_deref().and_then(links::sent_id).unwrap_or_default());
            format!(r#"{{"type":"tool_use","id":{id},"name":{},"input":{input}}}"#, quoted(name))
        }
        Content::Result { id, parts, error } => {
            let id = quoted(id.as_deref().and_then(links::sent_id).unwrap_or_default());
            let content = match parts.as_slice() {
                [] => String::new(),
                [Content::Text { text }] => format!(r#","content":{}"#, quoted(text)),
                parts => format!(r#","content":[{}]"#, parts.iter().map(write).collect::<Vec<_>>().join(",")),
            };
            let error = if *error { r#","is_error":true"# } else { "" };
            format!(r#"{{"tool_use_id":{id},"type":"tool_result"{content}{error}}}"#)
        }
        Content::Image { from } => format!(r#"{{"type":"image","source":{}}}"#, source(from)),
        Content::Document { from, title } => {
            let title = title.as_deref().map(|title| format!(r#","title":{}"#, quoted(title)));
            format!(r#"{{"type":"document","source":{}{}}}"#, source(from), title.unwrap_or_default())
        }
        // Refused wherever it would be sent (A54).
        Content::Reasoning { text, .. } => format!(r#"{{"type":"thinking","thinking":{}}}"#, quoted(text)),
        Content::Raw { json, .. } => return Cow::Borrowed(json),
    })
}

fn source(from: &Origin) -> String {
    match from {
        Origin::Base64 { media, data } => {
            format!(r#"{{"type":"base64","media_type":{},"data":{}}}"#, quoted(media), quoted(data))
        }
        Origin::Url(url) => format!(r#"{{"type":"url","url":{}}}"#, quoted(url)),
        Origin::File { id, .. } => format!(r#"{{"type":"file","file_id":{}}}"#, quoted(id)),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A tool call with another input, the text of an object. Everything else stays byte for byte.
pub fn with_input(call: &str, input: &str) -> Content {
    let at = super::contents::member(call.as_bytes(), "input").unwrap_or(0..0);
    let (start, end) = (call.get(..at.start).unwrap_or_default(), call.get(at.end..).unwrap_or_default());
    let block = unmarked(&[start, input, end].concat());
    let value = serde_json::from_str(&block).unwrap_or_default();
    match neutral(&value) {
        Some(Content::Call { id, name, .. }) => Content::Call { id, name, input: CallInput::Json(input.to_owned()) },
        _ => raw(block, &value),
    }
}

/// A block without its cache breakpoint.
fn unmarked(block: &str) -> String {
    let bytes = block.as_bytes();
    let members: Vec<json::Member> = json::members(bytes, 0).into_iter().flatten().flatten().collect();
    let spans: Vec<json::Span> = members.iter().map(json::Member::whole).collect();
    let mark = members.iter().position(|member| json::key_is(&bytes[member.key.clone()], MARK));
    match mark.map(|mark| spell::cut(&spans, mark)) {
        Some(cut) => [&block[..cut.start], &block[cut.end..]].concat(),
        None => block.to_owned(),
    }
}

/// Content for another place or another request: with new tool ids, which are unique in a request (A32), derived from
/// `salt`, and without a cache breakpoint.
pub fn copied(content: Content, salt: &str) -> Content {
    let renamed = |id: Option<String>| id.map(|id| rename(&id, salt));
    match content {
        Content::Call { id, name, input } => Content::Call { id: renamed(id), name, input },
        Content::Result { id, parts, error } => Content::Result { id: renamed(id), parts, error },
        Content::Raw { json, .. } => {
            let mut value: Value = serde_json::from_str(&json).unwrap_or_default();
            let Some(fields) = value.as_object_mut() else { return raw(json, &value) };
            fields.remove(MARK);
            for name in ["id", "tool_use_id"] {
                if let Some(Value::String(id)) = fields.get_mut(name) {
                    *id = rename(id, salt);
                }
            }
            read(&value)
        }
        other => other,
    }
}

fn rename(id: &str, salt: &str) -> String {
    let key = Key::of([salt.as_bytes(), id.as_bytes()]).to_string();
    // The provider recognises its own tools by their ids.
    let whose = if id.starts_with("srvtoolu_") { "srvtoolu" } else { "toolu" };
    format!("{whose}_{}", key.get(..24).unwrap_or(&key))
}

/// The text of a block, or the tool that it calls.
pub fn title(block: &str) -> Option<String> {
    let value: Value = serde_json::from_str(block).ok()?;
    let name = match value["type"].as_str()? {
        "text" => "text",
        "tool_use" => "name",
        _ => return None,
    };
    value[name].as_str().map(str::to_owned)
}

/// Whether it contains an image or a document.
pub fn is_pictured(content: &Content) -> bool {
    match content {
        Content::Image { .. } | Content::Document { .. } => true,
        Content::Result { parts, .. } => parts.iter().any(is_pictured),
        Content::Raw { json, .. } => json.contains(r#""type":"image""#) || json.contains(r#""type":"document""#),
        Content::Text { .. } | Content::Call { .. } | Content::Reasoning { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_other_wires_know_is_neutral_and_comes_back() {
        for (block, is_neutral) in [
            (json!({"type": "text", "text": "a\n\"b\" é"}), true),
            (json!({"type": "text", "text": "a", "citations": []}), false),
            (json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}), false),
            (json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"b": 1, "a": [1.5]}}), true),
            (json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}, "caller": {"type": "direct"}}), false),
            (json!({"tool_use_id": "t", "type": "tool_result", "content": "x", "is_error": true}), true),
            (json!({"tool_use_id": "t", "type": "tool_result"}), true),
            (
                json!({"tool_use_id": "t", "type": "tool_result", "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                ]}),
                true,
            ),
            (json!({"tool_use_id": "t", "type": "tool_result", "content": [{"type": "search_result"}]}), false),
            (json!({"type": "image", "source": {"type": "url", "url": "https://x"}}), true),
            (json!({"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "T"}), true),
            (json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}), false),
            (json!({"type": "search_result", "title": "x"}), false),
        ] {
            let content = read(&block);
            assert_eq!(!matches!(content, Content::Raw { .. }), is_neutral, "{block}");
            assert_eq!(write(&content), block.to_string());
            assert_eq!(restored(&block.to_string()), content);
            let stored = serde_json::to_string(&content).expect("JSON");
            assert_eq!(serde_json::from_str::<Content>(&stored).expect("content"), content);
        }
    }

    #[test]
    fn what_was_stored_is_sent_as_it_was() {
        for block in [r#"{"text":"a","type":"text"}"#, r#"{ "type":"text","text":"\u0061"}"#, "no JSON"] {
            assert_eq!(write(&restored(block)), block);
        }
        // A list of one text and that text are the same to the model.
        let listed = json!({"tool_use_id": "t", "type": "tool_result", "content": [{"type": "text", "text": "x"}]});
        assert_eq!(write(&restored(&listed.to_string())), listed.to_string());
        assert_eq!(write(&read(&listed)), r#"{"tool_use_id":"t","type":"tool_result","content":"x"}"#);
    }

    #[test]
    fn raw_json_tells_which_calls_it_makes_and_answers() {
        let of = |block: Value| {
            let content = read(&block);
            (content.calls().map(str::to_owned), content.answers().map(str::to_owned))
        };
        let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
        assert_eq!(of(call), (Some("srvtoolu_1".to_owned()), None));
        let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
        assert_eq!(of(result), (None, Some("srvtoolu_1".to_owned())));
        assert_eq!(of(json!({"type": "container_upload", "id": "x"})), (None, None));
    }

    #[test]
    fn a_copy_has_ids_of_its_own() {
        let call = read(&json!({"type": "tool_use", "id": "a", "name": "Read", "input": {}}));
        let result = read(&json!({"type": "tool_result", "tool_use_id": "a", "cache_control": {"type": "ephemeral"}}));
        let (call, result) = (copied(call, "salt"), copied(result, "salt"));
        assert_eq!(call.calls(), result.answers());
        assert!(call.calls().is_some_and(|id| id.starts_with("toolu_") && id.len() == 30));
        assert!(!write(&result).contains(MARK));
        let server = read(&json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "x", "input": {}}));
        assert!(copied(server, "salt").calls().is_some_and(|id| id.starts_with("srvtoolu_")));
    }

    #[test]
    fn a_call_with_another_input_keeps_the_rest() {
        let call = r#"{"type":"tool_use","id":"a","name":"Edit","input":{"n":1},"cache_control":{"type":"ephemeral"}}"#;
        let content = with_input(call, r#"{"n": 12345678901234567890123}"#);
        let expected = r#"{"type":"tool_use","id":"a","name":"Edit","input":{"n": 12345678901234567890123}}"#;
        assert_eq!(write(&content), expected);
        let odd = call.replace(r#""id""#, r#""caller":{},"id""#);
        let expected = r#"{"type":"tool_use","caller":{},"id":"a","name":"Edit","input":{}}"#;
        assert_eq!(write(&with_input(&odd, "{}")), expected);
    }

    #[test]
    fn a_mark_goes_wherever_it_stands() {
        let mark = r#""cache_control":{"type":"ephemeral"}"#;
        assert_eq!(unmarked(&format!("{{{mark}, \"a\":1}}")), "{\"a\":1}");
        assert_eq!(unmarked(&format!("{{\"a\":1 ,{mark},\"b\":2}}")), "{\"a\":1,\"b\":2}");
        assert_eq!(unmarked(&format!("{{{mark}}}")), "{}");
    }
}
