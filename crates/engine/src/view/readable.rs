//! The readable text of blocks, and the other fields of a message.

use ctx_core::content::{CallInput, Content};
use ctx_core::message::{Block, Kind, Message};
use ctx_wire::{Wire, json};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The readable text of a block.
pub fn readable(wire: &dyn Wire, content: &Content) -> String {
    match content {
        Content::Text { text } | Content::Reasoning { text, .. } => text.clone(),
        Content::Call { input: CallInput::Json(input), .. } => {
            serde_json::from_str::<Value>(input).map_or_else(|_| input.clone(), |input| input.to_string())
        }
        Content::Result { parts, .. } => {
            let parts: Vec<String> = parts.iter().map(|part| readable_part(wire, part)).collect();
            parts.join("\n")
        }
        // A lone surrogate, for example, is not valid text but still readable.
        Content::Raw { json, .. } if serde_json::from_str::<Value>(json).is_err() => {
            ctx_wire::json::decode(json.as_bytes()).into_owned()
        }
        Content::Image { .. } | Content::Document { .. } | Content::Raw { .. } => String::new(),
    }
}

/// A part of a result: its text, or its kind.
fn readable_part(wire: &dyn Wire, part: &Content) -> String {
    match part {
        Content::Image { .. } => format!("[{}]", Kind::Image.name()),
        Content::Document { .. } => format!("[{}]", Kind::Document.name()),
        Content::Raw { json, .. } => format!("[{}]", wire.type_name(json).as_deref().unwrap_or("?")),
        part => readable(wire, part),
    }
}

/// The fields of a message other than its role and its blocks. An empty field may have held blocks.
pub fn other(text: &[u8], message: &Message) -> Map<String, Value> {
    let members = json::members(text, 0).into_iter().flatten().flatten();
    let fields = members.filter_map(|member| {
        let name = json::decode(text.get(member.key)?).into_owned();
        let holds = |block: &Block| {
            let at = block.at.start as usize..block.at.end as usize;
            at.start < member.value.end && member.value.start < at.end
        };
        let value: Value = serde_json::from_slice(text.get(member.value.clone())?).ok()?;
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        let is_other = name != "role" && !is_empty && !message.blocks.iter().any(holds);
        is_other.then_some((name, value))
    });
    fields.collect::<BTreeMap<_, _>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;
    use serde_json::json;

    fn read(block: &Value) -> String {
        let message = json!({"role": "user", "content": [block]}).to_string();
        readable(&Anthropic, &Anthropic.contents(message.as_bytes())[0])
    }

    #[test]
    fn a_block_reads_as_its_words_and_the_rest_is_named() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, {"type": "new_thing"}, {}]);
        for (block, words) in [
            (json!({"type": "text", "text": "a", "cache_control": {}}), "a"),
            (json!({"type": "thinking", "thinking": "hm", "signature": "s"}), "hm"),
            (json!({"type": "redacted_thinking", "data": "s"}), ""),
            (
                json!({"type": "tool_use", "id": "t", "name": "x", "input": {"b": 1, "a": [1.5]}}),
                r#"{"b":1,"a":[1.5]}"#,
            ),
            (json!({"type": "tool_use", "id": "t", "name": "x"}), "null"),
            (json!({"type": "tool_result", "tool_use_id": "t", "content": "a"}), "a"),
            (json!({"type": "tool_result", "tool_use_id": "t", "content": parts}), "a\n[image]\n[new_thing]\n[?]"),
            (json!({"type": "code_execution_tool_result", "tool_use_id": "t", "content": {"stdout": "x"}}), ""),
            (json!({"type": "image", "source": {"type": "url", "url": "u"}}), ""),
            (json!({"type": "new_thing", "text": "a"}), ""),
        ] {
            assert_eq!(read(&block), words, "{block}");
        }
    }

    #[test]
    fn what_a_strict_reader_refuses_is_still_shown() {
        let contents = Anthropic.contents(br#"{"role":"user","content":[{"type":"text","text":"a \ud83d"}]}"#);
        assert_eq!(readable(&Anthropic, &contents[0]), "{\"type\":\"text\",\"text\":\"a \u{fffd}\"}");
    }

    #[test]
    fn what_stands_beside_the_blocks_is_found_wherever_they_stand() {
        let beside = |text: &str| {
            let facts = Anthropic.read(text.as_bytes(), ctx_clients::lexicon()).facts;
            Value::Object(other(text.as_bytes(), &facts))
        };
        assert_eq!(beside(r#"{"role":"user","content":"a","name":"b"}"#), json!({"name": "b"}));
        assert_eq!(beside(r#"{"id":1,"content":[{"type":"text","text":"a"}],"role":"user"}"#), json!({"id": 1}));
        assert_eq!(beside(r#"{"role":"user","content":[]}"#), json!({}));
        assert_eq!(beside("7"), json!({}));
    }
}
