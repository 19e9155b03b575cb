//! Assembles the assistant message from the blocks and deltas of a stream.
//!
//! A block is kept as it came in `content_block_start`; deltas are collected as raw JSON text and spliced in when the
//! message is needed. So unknown block types, unknown members, number spelling and escapes all survive, and a character
//! split between two deltas is whole again.

use crate::answer::{Growth, Progress};
use crate::json;
use crate::tap::fields::{count, inner, items, pick, text};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Reply {
    blocks: BTreeMap<u64, Block>,
    size: usize,
    limit: usize,
}

#[derive(Debug, Default)]
struct Block {
    /// The object of `content_block_start`.
    start: Box<str>,
    /// Collected strings, without quotes and still escaped.
    text: String,
    thinking: String,
    input: String,
    signature: Option<Box<str>>,
    /// Collected objects, with a comma before each.
    citations: String,
    /// The delta that fills a compaction block.
    compaction: Option<Box<str>>,
}

/// An unusable event: an unknown delta, a missing member, a block that never started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unusable;

impl Reply {
    pub(super) fn new(limit: usize) -> Self {
        Self { blocks: BTreeMap::new(), size: 0, limit }
    }

    pub(super) fn start_block(&mut self, index: Option<&str>, block: Option<&str>) -> Result<(), Unusable> {
        let index = index.and_then(count).ok_or(Unusable)?;
        let start = block.filter(|block| pick(block, []).is_some()).ok_or(Unusable)?;
        if self.grow(start.len() + size_of::<Block>()) {
            self.blocks.insert(index, Block { start: start.into(), ..Block::default() });
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, index: Option<&str>, delta: Option<&str>) -> Result<(), Unusable> {
        let delta = delta.ok_or(Unusable)?;
        let [kind, words, thinking, signature, partial, citation] =
            pick(delta, ["type", "text", "thinking", "signature", "partial_json", "citation"]).ok_or(Unusable)?;
        let kind = kind.and_then(text).ok_or(Unusable)?;
        let piece = match &*kind {
            "text_delta" => words.and_then(inner),
            "thinking_delta" => thinking.and_then(inner),
            "signature_delta" => signature.and_then(inner),
            "input_json_delta" => partial.and_then(inner),
            "citations_delta" => citation,
            "compaction_delta" => Some(delta),
            _ => None,
        };
        let piece = piece.ok_or(Unusable)?;
        let index = index.and_then(count).ok_or(Unusable)?;
        let fits = self.grow(piece.len() + 1);
        let Some(block) = self.blocks.get_mut(&index) else {
            return if fits { Err(Unusable) } else { Ok(()) };
        };
        match &*kind {
            "text_delta" => block.text.push_str(piece),
            "thinking_delta" => block.thinking.push_str(piece),
            "input_json_delta" => block.input.push_str(piece),
            "signature_delta" => block.signature = Some(piece.into()),
            "citations_delta" => {
                block.citations.push(',');
                block.citations.push_str(piece);
            }
            _ => block.compaction = Some(piece.into()),
        }
        Ok(())
    }

    /// Counts bytes to keep. Beyond the limit everything is dropped for good: half a message would look like a whole
    /// one.
    fn grow(&mut self, bytes: usize) -> bool {
        self.size = self.size.saturating_add(bytes);
        if self.size > self.limit {
            self.blocks.clear();
        }
        self.size <= self.limit
    }

    pub(super) fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        let mut grown = Vec::new();
        for (&index, block) in &self.blocks {
            let told = told.0.entry(index).or_default();
            let parts = [("text", &block.text), ("thinking", &block.thinking), ("tool", &block.input)];
            for (told, (part, all)) in told.iter_mut().zip(parts) {
                let new = whole(all.get(*told..).unwrap_or_default());
                if new.is_empty() {
                    continue;
                }
                *told += new.len();
                let name = || pick(&block.start, ["name"]).and_then(|[name]| name.and_then(text).map(Cow::into_owned));
                let tool = if part == "tool" { name() } else { None };
                grown.push(Growth { block: index, part, tool, text: json::decode(new.as_bytes()).into_owned() });
            }
        }
        grown
    }

    /// The message so far; `None` if it grew too large or is not JSON.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        if self.size > self.limit {
            return None;
        }
        let blocks: Vec<String> = self.blocks.values().map(Block::render).collect();
        message(&format!("[{}]", blocks.join(",")))
    }
}

/// The assistant message around a content value; `None` unless that is strictly valid JSON.
pub(super) fn message(content: &str) -> Option<Vec<u8>> {
    is_json(content).then(|| format!(r#"{{"role":"assistant","content":{content}}}"#).into_bytes())
}

/// The signatures and redacted data in the content of a message that [`message`] built.
pub(super) fn signatures(message: &[u8]) -> Vec<String> {
    let content = std::str::from_utf8(message).ok().and_then(|message| pick(message, ["content"]));
    let Some([Some(content)]) = content else { return Vec::new() };
    items(content)
        .filter_map(|block| {
            let [kind, signature, data] = pick(block, ["type", "signature", "data"])?;
            let value = match &*kind.and_then(text)? {
                "thinking" => signature,
                "redacted_thinking" => data,
                _ => None,
            };
            value.and_then(text).map(Cow::into_owned).filter(|value| !value.is_empty())
        })
        .collect()
}

/// The text without half a character at its end: the other half is still to come.
fn whole(escaped: &str) -> &str {
    let Some((rest, last)) = escaped.len().checked_sub(6).and_then(|at| escaped.split_at_checked(at)) else {
        return escaped;
    };
    let code = last.strip_prefix("\\u").and_then(|code| u16::from_str_radix(code, 16).ok());
    if code.is_some_and(|code| (0xD800..0xDC00).contains(&code)) { rest } else { escaped }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

impl Block {
    /// The object of the start with the members that the deltas filled.
    fn render(&self) -> String {
        let filled = self.filled();
        let bytes = self.start.as_bytes();
        let mut out =
            String::with_capacity(self.start.len() + self.text.len() + self.thinking.len() + self.input.len());
        let (mut copied, mut close, mut empty) = (0, 0, true);
        let mut placed = vec![false; filled.len()];
        if let Some(mut members) = json::members(bytes, 0) {
            for member in members.by_ref().map_while(Result::ok) {
                empty = false;
                let key = bytes.get(member.key).unwrap_or_default();
                for ((name, value), placed) in filled.iter().zip(&mut placed) {
                    if json::key_is(key, name) {
                        out.push_str(self.start.get(copied..member.value.start).unwrap_or_default());
                        out.push_str(value);
                        copied = member.value.end;
                        *placed = true;
                    }
                }
            }
            close = members.position().saturating_sub(1);
        }
        out.push_str(self.start.get(copied..close).unwrap_or_default());
        for ((name, value), _) in filled.iter().zip(placed).filter(|(_, placed)| !placed) {
            let comma = if std::mem::take(&mut empty) { "" } else { "," };
            out.push_str(&format!(r#"{comma}"{name}":{value}"#));
        }
        out.push('}');
        out
    }

    /// The members that deltas gave a value, with that value as JSON.
    fn filled(&self) -> Vec<(&str, String)> {
        let [words, thinking, citations] = pick(&self.start, ["text", "thinking", "citations"]).unwrap_or_default();
        let mut filled = Vec::new();
        for (name, begun, more) in [("text", words, &self.text), ("thinking", thinking, &self.thinking)] {
            if !more.is_empty() {
                filled.push((name, format!(r#""{}{more}""#, begun.and_then(inner).unwrap_or_default())));
            }
        }
        if let Some(signature) = &self.signature {
            filled.push(("signature", format!(r#""{signature}""#)));
        }
        let input = json::decode(self.input.as_bytes());
        if !input.trim_ascii().is_empty() {
            // Broken off inside the arguments: every client treats that as an empty object.
            let input = if is_json(&input) { input.trim_ascii() } else { "{}" };
            filled.push(("input", input.to_owned()));
        }
        if let Some(new) = self.citations.strip_prefix(',') {
            let known: Vec<&str> = citations.map(items).into_iter().flatten().chain([new]).collect();
            filled.push(("citations", format!("[{}]", known.join(","))));
        }
        if let Some(compaction) = &self.compaction {
            let [content, encrypted] = pick(compaction, ["content", "encrypted_content"]).unwrap_or_default();
            filled.extend(content.map(|content| ("content", content.to_owned())));
            filled.extend(encrypted.map(|encrypted| ("encrypted_content", encrypted.to_owned())));
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_told_once_and_in_whole_characters() {
        let mut reply = Reply::new(1000);
        let mut told = Progress::default();
        let mut add = |reply: &mut Reply, kind: &str, name: &str, piece: &str| {
            let delta = format!(r#"{{"type":"{kind}","{name}":"{piece}"}}"#);
            assert_eq!(reply.apply(Some("0"), Some(&delta)), Ok(()));
            let grown = reply.grown(&mut told);
            grown.into_iter().map(|grown| (grown.part, grown.text)).collect::<Vec<_>>()
        };
        assert_eq!(reply.start_block(Some("0"), Some(r#"{"type":"tool_use","name":"Read","input":{}}"#)), Ok(()));
        assert_eq!(add(&mut reply, "text_delta", "text", r"one\n"), [("text", "one\n".to_owned())]);
        assert_eq!(add(&mut reply, "text_delta", "text", r"two \ud83d"), [("text", "two ".to_owned())]);
        assert_eq!(add(&mut reply, "text_delta", "text", r"\ude00!"), [("text", "\u{1f600}!".to_owned())]);
        assert_eq!(add(&mut reply, "thinking_delta", "thinking", "hm"), [("thinking", "hm".to_owned())]);
        assert_eq!(add(&mut reply, "input_json_delta", "partial_json", r#"{\"a\""#), [("tool", "{\"a\"".to_owned())]);
        assert_eq!(add(&mut reply, "input_json_delta", "partial_json", ""), []);
        let all = reply.grown(&mut Progress::default());
        assert_eq!(all.iter().map(|grown| grown.tool.as_deref()).collect::<Vec<_>>(), [None, None, Some("Read")]);
    }

    #[test]
    fn a_reply_over_its_limit_holds_no_memory_and_takes_no_more() {
        let mut reply = Reply::new(1000);
        let block = format!(r#"{{"text":"{}"}}"#, "x".repeat(300));
        for index in ["0", "1", "2", "3"] {
            assert_eq!(reply.start_block(Some(index), Some(&block)), Ok(()));
        }
        assert!(reply.blocks.is_empty());
        assert_eq!(reply.apply(Some("0"), Some(r#"{"type":"text_delta","text":"y"}"#)), Ok(()));
        assert_eq!(reply.message(), None);
    }
}
