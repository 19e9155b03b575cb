//! Gemini CLI's session files, `chats/session-….jsonl`: a line for each message, repeated when the message changes. Older
//! versions wrote one object, `session-….json`.
//!
//! A compression replaces the history: it ends one recording (`<session>`) and begins the next (`<session>#2`). The file
//! contains neither the system prompt nor the tools.

use crate::session::{SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage, raw};
use ctx_core::content::WireId;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

pub(super) const FILES: SessionFiles = SessionFiles { recognises, read, passes_over, ..SessionFiles::BASE };

/// A file of older versions.
#[derive(Deserialize)]
struct Chat {
    messages: Vec<Message>,
}

/// One line of the file: what it says of the session, a message, or a change of both.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Rewind {
        #[serde(rename = "$rewindTo")]
        to: String,
    },
    Change {
        #[serde(rename = "$set")]
        to: SessionChange,
    },
    Message(Message),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct SessionChange {
    messages: Option<Vec<Message>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    timestamp: Option<Box<str>>,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    model: Option<String>,
    tokens: Option<Tokens>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    name: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    result: Value,
}

/// The counts of one answer. The input includes its cached part.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
}

impl Message {
    fn is_answer(&self) -> bool {
        self.kind == "gemini"
    }

    /// Its parts as the client sends them.
    fn parts(&self) -> Vec<Value> {
        let text = |text: &str| (!text.is_empty()).then(|| json!({ "text": text }));
        let part = |part: &Value| match part {
            Value::String(words) => text(words),
            Value::Object(part) if part.contains_key("text") => text(part["text"].as_str()?).map(|_| json!(part)),
            other => Some(other.clone()),
        };
        match &self.content {
            Value::Array(parts) => parts.iter().filter_map(part).collect(),
            Value::Null => Vec::new(),
            lone => part(lone).into_iter().collect(),
        }
    }

    fn has_results(&self) -> bool {
        self.kind == "user" && self.parts().iter().any(|part| part.get("functionResponse").is_some())
    }

    /// The parts of an answer, with its calls.
    fn answer(&self) -> Vec<Value> {
        let mut parts = self.parts();
        if !parts.iter().any(|part| part.get("functionCall").is_some()) {
            let call = |call: &ToolCall| json!({"functionCall": {"id": call.id, "name": call.name, "args": call.args}});
            parts.extend(self.tool_calls.iter().map(call));
        }
        parts
    }

    /// The results of its calls.
    fn results(&self) -> Vec<Value> {
        let results = self.tool_calls.iter().flat_map(|call| match &call.result {
            Value::Array(parts) => parts.clone(),
            Value::Null => Vec::new(),
            other => {
                let response = json!({ "output": other });
                vec![json!({"functionResponse": {"id": call.id, "name": call.name, "response": response}})]
            }
        });
        results.collect()
    }
}

/// Recognises the file by its first line, or its whole, which names the project by a hash.
fn recognises(path: &Path, bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Session {
        #[serde(rename = "sessionId")]
        _id: String,
        #[serde(rename = "projectHash")]
        _project: String,
    }
    let is = |bytes: &[u8]| serde_json::from_slice::<Session>(bytes).is_ok();
    match path.extension().and_then(OsStr::to_str) {
        Some("jsonl") => bytes.split(|byte| *byte == b'\n').next().is_some_and(is),
        Some("json") => is(bytes),
        _ => false,
    }
}

/// Its log of prompts.
fn passes_over(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("logs.json"))
}

fn read(name: &str, bytes: &[u8]) -> SessionFile {
    let mut reader = Reader { name, ..Reader::default() };
    match serde_json::from_slice::<Chat>(bytes) {
        Ok(chat) => reader.messages = chat.messages,
        Err(_) => {
            for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
                match serde_json::from_slice::<Line>(text) {
                    Ok(line) => reader.line(line),
                    Err(_) if text.trim_ascii().is_empty() => {}
                    Err(_) => reader.skipped.push((Some(index + 1), "it is not a record".to_owned())),
                }
            }
        }
    }
    reader.close();
    SessionFile::new(reader.conversations, reader.skipped)
}

/// Reads the lines in order.
#[derive(Default)]
struct Reader<'a> {
    name: &'a str,
    messages: Vec<Message>,
    conversations: Vec<SessionConversation>,
    skipped: Vec<(Option<usize>, String)>,
}

impl Reader<'_> {
    fn line(&mut self, line: Line) {
        match line {
            Line::Rewind { to } => {
                let at = self.messages.iter().position(|message| message.id == to);
                self.messages.truncate(at.unwrap_or(0));
            }
            Line::Change { to: SessionChange { messages: Some(messages) } } => {
                let newest = self.messages.iter().rfind(|message| message.is_answer());
                if newest.is_some_and(|newest| messages.iter().all(|message| message.id != newest.id)) {
                    self.close();
                }
                self.messages = messages;
            }
            Line::Message(message) => match self.messages.iter_mut().find(|known| known.id == message.id) {
                Some(known) => *known = message,
                None => self.messages.push(message),
            },
            Line::Change { .. } | Line::Other(_) => {}
        }
    }

    /// Ends the recording.
    fn close(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        let (mut contents, mut turns) = (Vec::new(), Vec::new());
        for (at, message) in messages.iter().enumerate() {
            let parts = if message.is_answer() { message.answer() } else { message.parts() };
            let role = match message.kind.as_str() {
                _ if parts.is_empty() => continue,
                "user" => "user",
                "gemini" if !contents.is_empty() => "model",
                // Notices for the human.
                _ => continue,
            };
            if message.is_answer() {
                turns.push(turn(message, contents.len()));
            }
            contents.push(json!({ "role": role, "parts": parts }));
            let results = message.results();
            if !results.is_empty() && !messages.get(at + 1).is_some_and(Message::has_results) {
                contents.push(json!({ "role": "user", "parts": results }));
            }
        }
        let Some(model) = turns.iter().rev().find_map(|turn: &SessionTurn| turn.model.as_deref()) else { return };
        let (model, head) = (model.to_owned(), json!({ "model": model }));
        let name = crate::session::numbered(self.name, self.conversations.len());
        let messages = contents.iter().filter_map(raw).collect();
        let Some(head) = raw(&head) else { return };
        self.conversations.push(SessionConversation { name, wire: WireId::Gemini, model, head, messages, turns });
    }
}

fn turn(message: &Message, answer: usize) -> SessionTurn {
    // An answer that broke off counts nothing.
    let counted = message.tokens.as_ref().filter(|tokens| tokens.input > 0);
    let usage = counted.map(|tokens| SessionUsage {
        input: tokens.input.saturating_sub(tokens.cached),
        cache_read: tokens.cached,
        output: tokens.output + tokens.thoughts,
        ..SessionUsage::default()
    });
    SessionTurn { answer, at: message.timestamp.clone(), usage, model: message.model.as_deref().map(Into::into) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::NO_ANSWER;

    const HEAD: &str = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-11-17T18:47:58.479Z"}"#;
    const ASKED: &str = r#"{"id":"1","timestamp":"t","type":"user","content":[{"text":"look"}]}"#;
    const SAID: &str = r#"{"id":"2","timestamp":"2026-11-17T18:47:58.662Z","type":"gemini","content":"I look.","model":"gemini-3-pro","tokens":{"input":100,"output":7,"cached":40,"thoughts":3}}"#;
    const RESULT: &str = r#"{"functionResponse":{"id":"c","name":"read","response":{"output":"found"}}}"#;

    fn called() -> String {
        let call = format!(r#"{{"id":"c","name":"read","args":{{"path":"a"}},"result":[{RESULT}]}}"#);
        SAID.replace(r#""model""#, &format!(r#""toolCalls":[{call}],"model""#))
    }

    fn read_lines(lines: &[&str]) -> SessionFile {
        let bytes = lines.join("\n").into_bytes();
        assert!(recognises(Path::new("session-1.jsonl"), &bytes) && !recognises(Path::new("session-1.txt"), &bytes));
        read("session-1", &bytes)
    }

    fn parts(conversation: &SessionConversation) -> Vec<String> {
        conversation.messages.iter().map(|message| message.get().to_owned()).collect()
    }

    #[test]
    fn a_message_that_changed_counts_once_and_a_result_too() {
        let results = format!(r#"{{"id":"3","timestamp":"t","type":"user","content":[{RESULT}]}}"#);
        let note = r#"{"id":"4","timestamp":"t","type":"info","content":"Update available"}"#;
        let update = r#"{"$set":{"lastUpdated":"x"}}"#;
        let file = read_lines(&[HEAD, ASKED, SAID, update, &called(), &results, note, "broken", ""]);
        assert_eq!(file.skipped.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [Some(8)]);
        let [conversation] = &file.conversations[..] else { panic!("{file:?}") };
        let parts = parts(conversation);
        assert_eq!(parts.len(), 3, "{parts:?}");
        assert!(parts[1].contains("I look.") && parts[1].contains("functionCall") && parts[2].contains("found"));
        let usage = SessionUsage { input: 60, cache_read: 40, output: 10, ..SessionUsage::default() };
        assert_eq!((conversation.turns[0].answer, conversation.turns[0].usage), (1, Some(usage)));
        assert_eq!((conversation.model.as_str(), conversation.wire), ("gemini-3-pro", WireId::Gemini));
    }

    #[test]
    fn an_object_of_an_older_version_is_read_and_its_results_follow_the_calls() {
        let bytes = format!(r#"{{"sessionId":"s","projectHash":"p","messages":[{ASKED},{}]}}"#, called());
        assert!(recognises(Path::new("a.json"), bytes.as_bytes()));
        let file = read("a", bytes.as_bytes());
        assert!(parts(&file.conversations[0])[2].contains("found"), "{file:?}");
    }

    #[test]
    fn a_rewind_takes_messages_back_and_a_compression_begins_a_recording() {
        let again = ASKED.replace("\"1\"", "\"5\"").replace("look", "again");
        let answered = SAID.replace("\"2\"", "\"6\"");
        let summary = r#"{"$set":{"messages":[{"id":"9","type":"user","content":"<state_snapshot>"}]}}"#;
        let file = read_lines(&[HEAD, ASKED, SAID, r#"{"$rewindTo":"1"}"#, &again, SAID, summary, ASKED, &answered]);
        let all: Vec<(&str, usize)> =
            file.conversations.iter().map(|one| (one.name.as_str(), one.messages.len())).collect();
        assert_eq!(all, [("session-1", 2), ("session-1#2", 3)]);
        assert!(parts(&file.conversations[0])[0].contains("again"));
        assert_eq!(read_lines(&[HEAD, ASKED]).skipped, [(None, NO_ANSWER.to_owned())]);
    }
}
