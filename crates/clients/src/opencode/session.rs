//! Sessions as `opencode export` prints them, and as its database (`opencode.db`) holds them: messages of parts, in
//! opencode's own form.
//!
//! The messages are written as Anthropic's Messages if the last model is Anthropic's, otherwise as Chat Completions. A
//! compaction ends one recording (`<session>`) and begins the next (`<session>#2`). The export contains neither the
//! system prompt nor the tools.

mod anthropic;
mod chat;

use super::VOCABULARY;
use crate::session::{SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage, raw};
use ctx_core::content::WireId;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const FILES: SessionFiles = SessionFiles { recognises, read, query: Some(EXPORTS), ..SessionFiles::BASE };

/// The exports of all sessions in the database.
const EXPORTS: &str = "
    SELECT s.id, json_object('info', json_object('id', s.id), 'messages', json(coalesce(
        (SELECT json_group_array(json_object('info', json(m.data), 'parts', json(coalesce(
            (SELECT json_group_array(json(p.data)) FROM (SELECT data FROM part WHERE message_id = m.id ORDER BY id) p),
            '[]'))))
        FROM (SELECT id, data FROM message WHERE session_id = s.id ORDER BY id) m),
        '[]')))
    FROM session s ORDER BY s.id";

#[derive(Deserialize)]
struct Export {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    info: Info,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Info {
    role: String,
    #[serde(default)]
    time: Time,
    #[serde(rename = "modelID")]
    model: Option<String>,
    #[serde(rename = "providerID")]
    provider: Option<String>,
    tokens: Option<Tokens>,
    /// `true` for the summary of a compaction; the changes of a turn in a message of the user.
    #[serde(default)]
    summary: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Time {
    created: Option<u64>,
}

/// The counts of one answer. The input excludes its cached part, the output excludes reasoning.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: CacheTokens,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheTokens {
    read: u64,
    write: u64,
}

/// A part of a message. Others, such as snapshots, are not sent.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Part {
    Text {
        text: String,
        #[serde(default)]
        ignored: bool,
    },
    Reasoning {
        text: String,
    },
    Tool(ToolCall),
    File {
        mime: String,
        url: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ToolCall {
    tool: String,
    #[serde(rename = "callID")]
    id: String,
    state: CallState,
}

#[derive(Deserialize)]
struct CallState {
    #[serde(default)]
    input: Value,
    output: Option<String>,
    error: Option<String>,
}

impl ToolCall {
    /// The text of its result, and whether it is an error.
    fn result(&self) -> (&str, bool) {
        match (&self.state.output, &self.state.error) {
            (Some(output), _) => (output, false),
            (None, Some(error)) => (error, true),
            (None, None) => ("[Tool execution was interrupted]", true),
        }
    }
}

impl Message {
    fn is_answer(&self) -> bool {
        self.info.role == "assistant"
    }

    fn is_summary(&self) -> bool {
        self.is_answer() && self.info.summary == Value::Bool(true)
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text, ignored: false } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    fn reasoning(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reasoning { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| if let Part::Tool(call) = part { Some(call) } else { None })
    }

    /// The addresses of its images. Text files are in its texts.
    fn images(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::File { mime, url } if mime.starts_with("image/") => Some(url.as_str()),
            _ => None,
        })
    }

    /// Whether it has anything to send.
    fn is_sent(&self) -> bool {
        self.texts().next().is_some() || self.calls().next().is_some() || self.images().next().is_some()
    }

    fn turn(&self, answer: usize) -> SessionTurn {
        // An answer that broke off counts nothing.
        let counted = self.info.tokens.as_ref().filter(|tokens| tokens.input + tokens.cache.read > 0);
        let usage = counted.map(|tokens| SessionUsage {
            input: tokens.input,
            cache_read: tokens.cache.read,
            cache_written: tokens.cache.write,
            cache_written_1h: None,
            output: tokens.output + tokens.reasoning,
        });
        let at = self.info.time.created.map(|at| at.to_string().into());
        SessionTurn { answer, at, usage, model: self.info.model.as_deref().map(Into::into) }
    }
}

/// Recognises the file by its session, whose id has a prefix of its own.
fn recognises(path: &Path, bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Session {
        info: Id,
        #[serde(rename = "messages")]
        _messages: serde::de::IgnoredAny,
    }
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    path.extension().is_some_and(|ending| ending == "json")
        && serde_json::from_slice::<Session>(bytes).is_ok_and(|session| session.info.id.starts_with("ses_"))
}

fn read(name: &str, bytes: &[u8]) -> SessionFile {
    let export: Export = match serde_json::from_slice(bytes) {
        Ok(export) => export,
        Err(error) => {
            let why = format!("it is not an export: {error}");
            return SessionFile { conversations: Vec::new(), skipped: vec![(None, why)] };
        }
    };
    let mut conversations = Vec::new();
    // The summary of a compaction opens the next recording.
    for messages in export.messages.chunk_by(|_, next| !next.is_summary()) {
        let name = crate::session::numbered(name, conversations.len());
        conversations.extend(conversation(name, messages));
    }
    SessionFile::new(conversations, Vec::new())
}

fn conversation(name: String, messages: &[Message]) -> Option<SessionConversation> {
    let last = messages.iter().rfind(|message| message.is_answer())?;
    let is_anthropic = last.info.provider.as_deref() == Some("anthropic");
    let (wire, write): (WireId, fn(&Message) -> Vec<Value>) = match is_anthropic {
        true => (WireId::Anthropic, anthropic::write),
        false => (WireId::OpenaiChat, chat::write),
    };
    let (mut written, mut turns): (Vec<Value>, Vec<SessionTurn>) = (Vec::new(), Vec::new());
    for message in messages.iter().filter(|message| message.is_sent()) {
        if message.is_summary() {
            // The client asks this question in place of the summarised history.
            written.extend(VOCABULARY.summary_questions.first().map(|text| json!({"role": "user", "content": text})));
        } else if message.is_answer() && !written.is_empty() {
            turns.push(message.turn(written.len()));
        }
        written.extend(write(message));
    }
    let model = turns.iter().rev().find_map(|turn| turn.model.as_deref())?.to_owned();
    let messages = written.iter().filter_map(raw).collect();
    Some(SessionConversation { name, wire, head: raw(&json!({ "model": model }))?, model, messages, turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Value {
        json!({"info": {"role": "user", "time": {"created": 1}, "summary": {"diffs": []}},
            "parts": [{"type": "text", "text": text}, {"type": "text", "text": "a notice", "ignored": true}]})
    }

    fn answered(provider: &str, parts: Value) -> Value {
        let tokens = json!({"input": 60, "output": 5, "reasoning": 2, "cache": {"read": 40, "write": 3}});
        json!({"info": {"role": "assistant", "time": {"created": 1_794_941_286_413_u64}, "modelID": "m",
            "providerID": provider, "tokens": tokens}, "parts": parts})
    }

    fn calls() -> Value {
        json!([{"type": "step-start"}, {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."},
            {"type": "tool", "tool": "read", "callID": "c", "state": {"input": {"filePath": "a"}, "output": "found"}},
            {"type": "tool", "tool": "bash", "callID": "d", "state": {"input": {}, "error": "no such file"}}])
    }

    fn file(messages: &[Value]) -> SessionFile {
        let bytes = json!({"info": {"id": "ses_1"}, "messages": messages}).to_string().into_bytes();
        assert!(recognises(Path::new("a.json"), &bytes) && !recognises(Path::new("a.jsonl"), &bytes));
        read("a", &bytes)
    }

    fn messages(conversation: &SessionConversation) -> Vec<Value> {
        conversation.messages.iter().map(|message| serde_json::from_str(message.get()).expect("JSON")).collect()
    }

    #[test]
    fn a_session_of_any_provider_is_a_chat() {
        let empty = answered("local", json!([{"type": "step-start"}]));
        let file = file(&[asked("look"), empty, answered("local", calls()), answered("local", calls())]);
        let [one] = &file.conversations[..] else { panic!("{file:?}") };
        assert_eq!(
            (one.wire, one.turns.iter().map(|turn| turn.answer).collect::<Vec<_>>()),
            (WireId::OpenaiChat, vec![1, 4])
        );
        let usage = SessionUsage { input: 60, cache_read: 40, cache_written: 3, cache_written_1h: None, output: 7 };
        assert_eq!((one.turns[0].usage, one.turns[0].at.as_deref()), (Some(usage), Some("1794941286413")));
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let expected = json!([
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "I look.", "reasoning_content": "hm",
                "tool_calls": [call("c", "read", r#"{"filePath":"a"}"#), call("d", "bash", "{}")]},
            {"role": "tool", "tool_call_id": "c", "content": "found"},
            {"role": "tool", "tool_call_id": "d", "content": "no such file"}]);
        assert_eq!(Value::from(messages(one)[..4].to_vec()), expected);
    }

    #[test]
    fn a_session_of_anthropic_is_written_in_its_own_format() {
        let file = file(&[asked("look"), answered("anthropic", calls())]);
        let expected = json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c", "name": "read", "input": {"filePath": "a"}},
                {"type": "tool_use", "id": "d", "name": "bash", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "found", "is_error": false},
                {"type": "tool_result", "tool_use_id": "d", "content": "no such file", "is_error": true}]}]);
        assert_eq!(Value::from(messages(&file.conversations[0])), expected);
        assert_eq!(file.conversations[0].wire, WireId::Anthropic);
    }

    #[test]
    fn a_compaction_begins_a_recording() {
        let mut summary = answered("local", json!([{"type": "text", "text": "We looked."}]));
        summary["info"]["summary"] = true.into();
        let said = || answered("local", json!([{"type": "text", "text": "Yes."}]));
        let compaction = json!({"info": {"role": "user"}, "parts": [{"type": "compaction", "auto": true}]});
        let file = file(&[asked("look"), said(), compaction, summary, asked("go on"), said()]);
        let names: Vec<&str> = file.conversations.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "a#2"]);
        assert_eq!(messages(&file.conversations[0]).len(), 2);
        let texts: Vec<Value> = messages(&file.conversations[1]).iter().map(|one| one["content"].clone()).collect();
        assert_eq!(texts, ["What did we do so far?", "We looked.", "go on", "Yes."]);
        assert_eq!(file.conversations[1].turns.len(), 1);
    }
}
