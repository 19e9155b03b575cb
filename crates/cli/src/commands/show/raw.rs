//! Content as the JSON that is sent: whole messages, or the block or tool that was named.

use ctx_api::show::{BlockView, ContentView, MessageView};
use ctx_core::edit::address::Address;
use serde_json::Value;

/// One JSON value each. Content without JSON text is skipped and named.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Raw {
    pub values: Vec<String>,
    pub missing: Vec<String>,
}

pub fn of(shown: &ContentView) -> Raw {
    let mut raw = Raw::default();
    let is_part = match shown.id.trim().parse() {
        Ok(Address::Frame(_) | Address::Steps { .. } | Address::Message { .. }) => false,
        Ok(_) => true,
        // A list or range contains messages, unless it names system blocks or tools.
        Err(_) => !matches!(shown.kind.as_str(), "turn" | "part"),
    };
    for message in &shown.messages {
        let blocks: Vec<&BlockView> = message.blocks.iter().filter(|block| block.is_sent()).collect();
        let sent: Vec<String> = blocks.iter().filter_map(|block| sent(block)).collect();
        raw.missing.extend(blocks.iter().filter(|block| block.raw.is_none()).map(|block| block.id.clone()));
        match is_part {
            true => raw.values.extend(sent),
            false if sent.is_empty() => {}
            false => raw.values.push(whole(message, sent)),
        }
    }
    raw
}

/// A message with these blocks, in the client's spelling.
fn whole(message: &MessageView, blocks: Vec<String>) -> String {
    let role = Value::from(message.role.as_str());
    let content = match blocks.as_slice() {
        [text] if is_string(text) => text.clone(),
        _ => format!("[{}]", blocks.into_iter().map(as_block).collect::<Vec<_>>().join(",")),
    };
    let other: String =
        message.other.iter().map(|(name, value)| format!(",{}:{value}", Value::from(name.as_str()))).collect();
    format!("{{\"role\":{role},\"content\":{content}{other}}}")
}

/// A plain string has no blocks; next to others it counts as one.
fn as_block(raw: String) -> String {
    if is_string(&raw) { format!("{{\"type\":\"text\",\"text\":{raw}}}") } else { raw }
}

fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

/// A block as sent; an edit may have replaced the content of a result.
fn sent(block: &BlockView) -> Option<String> {
    let raw = block.raw.as_deref()?.get();
    if block.replaced.is_none() || block.kind != "tool_result" {
        return Some(raw.to_owned());
    }
    let mut value: Value = serde_json::from_str(raw).ok()?;
    value["content"] = block.text.as_str().into();
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(id: &str, kind: &str, blocks: Value) -> ContentView {
        let blocks: Vec<Value> = blocks
            .as_array()
            .into_iter()
            .flatten()
            .map(|block| {
                let mut whole = json!({"id": "t1#0.0", "kind": "text", "tokens": 1, "text": "", "is_error": false});
                block.as_object().into_iter().flatten().for_each(|(name, value)| whole[name] = value.clone());
                whole
            })
            .collect();
        // Parsed as text, because only text keeps the exact spelling of a block.
        let json = json!({"conversation": "c1", "id": id, "kind": kind, "title": "", "tokens": 1, "calibrated": true,
            "messages": [{"id": "t1#0", "role": "user", "tokens": 1, "step": 0, "pending": false, "blocks": blocks}]});
        serde_json::from_str(&json.to_string()).expect("shown")
    }

    fn values(id: &str, kind: &str, blocks: Value) -> Vec<String> {
        of(&shown(id, kind, blocks)).values
    }

    #[test]
    fn a_frame_is_its_messages_and_a_block_is_itself() {
        let blocks = json!([{"raw": {"type": "text", "text": "a"}}, {"raw": {"type": "text", "text": "b"}}]);
        let message = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        for id in ["t1", "t1/2..3", "t1#0", "t1..t4", "t1,t3"] {
            assert_eq!(values(id, "turn", blocks.clone()), [message], "{id}");
        }
        let one = json!([{"raw": {"type": "text", "text": "a"}}]);
        assert_eq!(values("t1#0.0", "part", one.clone()), [r#"{"type":"text","text":"a"}"#]);
        assert_eq!(values("system", "system", blocks).len(), 2);
        assert_eq!(values("tools/Bash", "tool", one), [r#"{"type":"text","text":"a"}"#]);
    }

    #[test]
    fn a_mere_string_stays_one() {
        assert_eq!(values("t1", "turn", json!([{"raw": "hi"}])), [r#"{"role":"user","content":"hi"}"#]);
        assert_eq!(
            values("t1", "turn", json!([{"raw": "hi"}, {"raw": {"type": "image"}}])),
            [r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image"}]}"#]
        );
    }

    #[test]
    fn what_an_edit_took_out_is_not_sent_and_what_it_wrote_is() {
        let blocks = json!([
            {"raw": "gone", "covered": "00000000a1"},
            {"kind": "tool_result", "replaced": "00000000a1", "text": "short",
             "raw": {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "long"}]}},
        ]);
        let sent = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"short"}]}"#;
        assert_eq!(values("t1", "turn", blocks), [sent]);
        assert!(values("t1", "turn", json!([{"raw": "gone", "covered": "00000000a1"}])).is_empty());
    }

    #[test]
    fn what_is_no_json_text_is_named() {
        let raw = of(&shown("t1", "turn", json!([{"raw": null, "id": "t1#0.3"}])));
        assert_eq!(raw, Raw { values: vec![], missing: vec!["t1#0.3".into()] });
    }
}
