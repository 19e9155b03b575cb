//! Codex's session files, `rollout-….jsonl`: one record per line, with the items of the history in order.
//!
//! A compaction replaces the history: it ends one recording (`<session>`) and begins the next (`<session>#2`). The file
//! does not contain the tools.

use crate::session::{SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage};
use ctx_core::content::WireId;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;

pub(super) const FILES: SessionFiles = SessionFiles { recognises, read, ..SessionFiles::BASE };

/// One line of the file.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// The relevant members of all kinds of records.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    role: String,
    model: Option<String>,
    base_instructions: Option<Instructions>,
    replacement_history: Option<Vec<Box<RawValue>>>,
    info: Option<Info>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Instructions {
    Text(String),
    Object { text: String },
}

#[derive(Deserialize)]
struct Info {
    last_token_usage: Option<TokenUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenUsage {
    /// All input, including cached.
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_input_tokens: u64,
    output_tokens: u64,
}

impl Payload {
    /// Whether an item was written by the model.
    fn is_answer(&self) -> bool {
        match self.kind.as_str() {
            "message" => self.role == "assistant",
            "reasoning" => true,
            kind => kind.ends_with("_call"),
        }
    }
}

/// Recognises the file by its first line, which describes the session.
fn recognises(path: &Path, bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line: Option<Line<'_>> = serde_json::from_slice(first).ok();
    path.extension().is_some_and(|ending| ending == "jsonl") && line.is_some_and(|line| line.kind == "session_meta")
}

fn read(name: &str, bytes: &[u8]) -> SessionFile {
    let mut reader = Reader { name, ..Reader::default() };
    for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Line<'_>>(text) {
            Ok(line) => reader.line(&line),
            Err(error) => reader.skipped.push((Some(index + 1), format!("it is not a record: {error}"))),
        }
    }
    reader.close();
    SessionFile::new(reader.conversations, reader.skipped)
}

/// Reads the lines in order.
#[derive(Default)]
struct Reader<'a> {
    name: &'a str,
    model: String,
    instructions: Option<String>,
    items: Vec<Box<RawValue>>,
    turns: Vec<SessionTurn>,
    /// The previous item was the model's.
    is_answering: bool,
    /// The time of the previous item.
    at: Option<Box<str>>,
    conversations: Vec<SessionConversation>,
    skipped: Vec<(Option<usize>, String)>,
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let Ok(payload) = serde_json::from_str::<Payload>(line.payload.get()) else { return };
        match line.kind.as_ref() {
            "session_meta" => {
                let told = payload.base_instructions.map(|told| match told {
                    Instructions::Text(text) | Instructions::Object { text } => text,
                });
                self.instructions = told.or(self.instructions.take());
            }
            "turn_context" => self.model = payload.model.unwrap_or_else(|| std::mem::take(&mut self.model)),
            "response_item" => {
                let is_answer = payload.is_answer();
                if is_answer && !self.is_answering && !self.items.is_empty() {
                    let model = Some(self.model.as_str().into());
                    self.turns.push(SessionTurn { answer: self.items.len(), at: self.at.take(), usage: None, model });
                }
                self.is_answering = is_answer;
                self.at = line.timestamp.as_deref().map(Into::into);
                self.items.push(line.payload.to_owned());
            }
            "event_msg" if payload.kind == "token_count" => self.count(payload.info),
            "compacted" => {
                self.close();
                self.items = payload.replacement_history.unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Records the counts of the newest answer. The file repeats them without a new one.
    fn count(&mut self, info: Option<Info>) {
        let usage = info.and_then(|info| info.last_token_usage);
        if let (Some(usage), Some(turn)) = (usage, self.turns.last_mut().filter(|turn| turn.usage.is_none())) {
            turn.usage = Some(SessionUsage {
                input: usage.input_tokens.saturating_sub(usage.cached_input_tokens + usage.cache_write_input_tokens),
                cache_read: usage.cached_input_tokens,
                cache_written: usage.cache_write_input_tokens,
                cache_written_1h: None,
                output: usage.output_tokens,
            });
        }
    }

    /// Ends the recording.
    fn close(&mut self) {
        let (messages, turns) = (std::mem::take(&mut self.items), std::mem::take(&mut self.turns));
        self.is_answering = false;
        if turns.is_empty() {
            return;
        }
        let mut head = serde_json::json!({ "model": self.model });
        if let Some(instructions) = &self.instructions {
            head["instructions"] = instructions.as_str().into();
        }
        let Ok(head) = RawValue::from_string(head.to_string()) else { return };
        let name = crate::session::numbered(self.name, self.conversations.len());
        let (wire, model) = (WireId::OpenaiResponses, self.model.clone());
        self.conversations.push(SessionConversation { name, wire, model, head, messages, turns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::NO_ANSWER;

    fn line(kind: &str, payload: &str) -> String {
        format!("{{\"timestamp\":\"2026-08-17T16:14:11.217Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    }

    fn item(kind: &str, role: &str) -> String {
        line("response_item", &format!("{{\"type\":\"{kind}\",\"role\":\"{role}\"}}"))
    }

    fn count(input: u64) -> String {
        let usage = format!("{{\"input_tokens\":{input},\"cached_input_tokens\":40,\"output_tokens\":7}}");
        line("event_msg", &format!("{{\"type\":\"token_count\",\"info\":{{\"last_token_usage\":{usage}}}}}"))
    }

    #[test]
    fn an_answer_of_several_items_is_one_turn_with_the_counts_that_follow() {
        let lines = [
            line("session_meta", "{\"id\":\"s\",\"base_instructions\":{\"text\":\"be brief\"}}"),
            line("turn_context", "{\"model\":\"gpt-5.5\"}"),
            item("message", "user"),
            item("reasoning", ""),
            item("function_call", ""),
            item("function_call_output", ""),
            count(100),
            count(100),
            item("message", "assistant"),
            "broken\n".to_owned(),
            count(160),
        ];
        let bytes = lines.concat().into_bytes();
        assert!(recognises(Path::new("a.jsonl"), &bytes) && !recognises(Path::new("a.json"), &bytes));
        let file = read("s", &bytes);
        assert_eq!(file.skipped.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [Some(10)]);
        let [conversation] = &file.conversations[..] else { panic!("{file:?}") };
        assert_eq!((conversation.model.as_str(), conversation.messages.len()), ("gpt-5.5", 5));
        assert!(conversation.head.get().contains("be brief"));
        let told = |turn: &SessionTurn| (turn.answer, turn.usage.map(|usage| (usage.input, usage.cache_read)));
        let told: Vec<_> = conversation.turns.iter().map(told).collect();
        assert_eq!(told, [(1, Some((60, 40))), (4, Some((120, 40)))]);
    }

    #[test]
    fn a_compaction_begins_a_recording_with_the_history_that_replaces_the_old_one() {
        let lines = [
            line("session_meta", "{}"),
            item("message", "user"),
            item("message", "assistant"),
            line(
                "compacted",
                "{\"replacement_history\":[{\"type\":\"message\",\"role\":\"user\"},{\"type\":\"compaction\"}]}",
            ),
            item("message", "user"),
            item("message", "assistant"),
        ];
        let file = read("s", lines.concat().as_bytes());
        let told: Vec<_> = file.conversations.iter().map(|one| (one.name.as_str(), one.messages.len())).collect();
        assert_eq!(told, [("s", 2), ("s#2", 4)]);
        let nothing = read("s", line("session_meta", "{}").as_bytes());
        assert_eq!(nothing.skipped, [(None, NO_ANSWER.to_owned())]);
    }
}
