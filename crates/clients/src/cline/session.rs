//! Cline's histories: `<session>.messages.json` of the CLI, with the system prompt, and `api_conversation_history.json` of
//! the extension, a bare list in the folder of its task. Both hold messages in Anthropic's form, whatever was sent.
//!
//! They are written as Anthropic's Messages if the last provider is Anthropic, otherwise as Chat Completions. A compaction
//! stands in a file of its own (`<session>.compaction.json`): it ends one recording and begins the next (`<session>#2`).
//! The tools are not recorded.

use crate::session::{
    Companion, SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage, numbered, raw,
};
use ctx_core::content::WireId;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) const FILES: SessionFiles = SessionFiles {
    recognises,
    read: |name, bytes| read(name, bytes, None),
    passes_over,
    name: session_name,
    companion: Some(Companion {
        path: compaction_of,
        read: |name, bytes, compaction| read(name, bytes, Some(compaction)),
    }),
    ..SessionFiles::BASE
};

const HISTORY: &str = "api_conversation_history.json";
const MESSAGES: &str = ".messages.json";
const COMPACTION: &str = ".compaction.json";

#[derive(Deserialize)]
#[serde(untagged)]
enum History {
    Session { messages: Vec<Message>, system_prompt: Option<String> },
    Task(Vec<Message>),
}

#[derive(Deserialize)]
struct Compaction {
    /// The messages that it replaces.
    source_message_count: usize,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    ts: Option<u64>,
    model_info: Option<Model>,
    metrics: Option<Metrics>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(alias = "modelId")]
    id: Option<String>,
    #[serde(alias = "providerId")]
    provider: Option<String>,
}

/// The counts of one answer. The input includes its cached parts.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Metrics {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

impl Message {
    fn is_answer(&self) -> bool {
        self.role == "assistant"
    }

    fn model(&self) -> Option<&str> {
        self.model_info.as_ref()?.id.as_deref()
    }

    /// Its blocks, as they were sent.
    fn blocks(&self) -> Vec<Value> {
        match &self.content {
            Value::String(text) => vec![json!({"type": "text", "text": unwrapped(text)})],
            Value::Array(blocks) => blocks.iter().map(block).collect(),
            _ => Vec::new(),
        }
    }

    fn usage(&self) -> Option<SessionUsage> {
        // An answer that broke off counts nothing.
        let metrics = self.metrics.as_ref().filter(|metrics| metrics.input_tokens > 0)?;
        Some(SessionUsage {
            input: metrics.input_tokens.saturating_sub(metrics.cache_read_tokens + metrics.cache_write_tokens),
            cache_read: metrics.cache_read_tokens,
            cache_written: metrics.cache_write_tokens,
            cache_written_1h: None,
            output: metrics.output_tokens,
        })
    }
}

/// The words of the human: the file marks them, the request does not.
fn unwrapped(text: &str) -> &str {
    let words = text.strip_prefix("<user_input").and_then(|rest| rest.split_once('>')).map(|(_, words)| words);
    words.and_then(|words| words.strip_suffix("</user_input>")).unwrap_or(text)
}

fn block(block: &Value) -> Value {
    let mut block = block.clone();
    match block["type"].as_str() {
        Some("text") => {
            let text = block["text"].as_str().map(|text| unwrapped(text).to_owned());
            block["text"] = text.unwrap_or_default().into();
        }
        Some("tool_result") => {
            let is_part = |part: &Value| part["type"].is_string();
            let is_sent = block["content"].as_array().is_none_or(|parts| parts.iter().all(is_part));
            if !is_sent {
                block["content"] = block["content"].to_string().into();
            }
            block.as_object_mut().map(|block| block.shift_remove("name"));
        }
        _ => {}
    }
    block
}

/// The message in the format of Chat Completions: results are messages of their own.
fn chat(message: &Message) -> Vec<Value> {
    let blocks = message.blocks();
    let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let texts: Vec<&str> = of("text").filter_map(|block| block["text"].as_str()).collect();
    if !message.is_answer() {
        let result = |block: &Value| json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text_of(&block["content"])});
        let words = (!texts.is_empty()).then(|| json!({"role": "user", "content": texts.join("\n\n")}));
        return of("tool_result").map(result).chain(words).collect();
    }
    let mut answer = json!({"role": "assistant", "content": texts.join("\n\n")});
    let thoughts: Vec<&str> = of("thinking").filter_map(|block| block["thinking"].as_str()).collect();
    if !thoughts.is_empty() {
        answer["reasoning_content"] = thoughts.join("\n\n").into();
    }
    let call = |block: &Value| {
        let function = json!({"name": block["name"], "arguments": block["input"].to_string()});
        json!({"id": block["id"], "type": "function", "function": function})
    };
    let calls: Vec<Value> = of("tool_use").map(call).collect();
    if !calls.is_empty() {
        answer["tool_calls"] = calls.into();
    }
    vec![answer]
}

/// The text of a result.
fn text_of(content: &Value) -> Value {
    match content {
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n").into()
        }
        text => text.clone(),
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn recognises(path: &Path, bytes: &[u8]) -> bool {
    let name = file_name(path);
    (name == HISTORY || name.ends_with(MESSAGES)) && serde_json::from_slice::<History>(bytes).is_ok()
}

/// The compaction, and what the session and the task record beside the messages.
fn passes_over(path: &Path) -> bool {
    let name = file_name(path);
    let is_about_session = || path.file_stem().is_some() && path.file_stem() == path.parent().and_then(Path::file_name);
    name.ends_with(COMPACTION) || ["ui_messages.json", "task_metadata.json"].contains(&name) || is_about_session()
}

fn session_name(path: &Path) -> Option<String> {
    match file_name(path).strip_suffix(MESSAGES) {
        Some(session) => Some(session.to_owned()),
        None => Some(path.parent()?.file_name()?.to_str()?.to_owned()),
    }
}

fn compaction_of(path: &Path) -> Option<PathBuf> {
    Some(path.with_file_name(format!("{}{COMPACTION}", file_name(path).strip_suffix(MESSAGES)?)))
}

fn read(name: &str, bytes: &[u8], compaction: Option<&[u8]>) -> SessionFile {
    let (messages, system) = match serde_json::from_slice::<History>(bytes) {
        Ok(History::Session { messages, system_prompt }) => (messages, system_prompt),
        Ok(History::Task(messages)) => (messages, None),
        Err(_) => return SessionFile::new(Vec::new(), vec![(None, "it is not a history of Cline".to_owned())]),
    };
    let mut skipped = Vec::new();
    let compaction = compaction.and_then(|bytes| match serde_json::from_slice::<Compaction>(bytes) {
        Ok(compaction) if compaction.source_message_count <= messages.len() => Some(compaction),
        _ => {
            skipped.push((None, "its compaction cannot be read".to_owned()));
            None
        }
    });
    let all: Vec<&Message> = messages.iter().collect();
    let conversations = match &compaction {
        None => vec![conversation(name.to_owned(), &all, 0, system.as_deref())],
        Some(Compaction { source_message_count, messages: kept }) => {
            let (before, after) = all.split_at(*source_message_count);
            let second: Vec<&Message> = kept.iter().chain(after.iter().copied()).collect();
            vec![
                conversation(name.to_owned(), before, 0, system.as_deref()),
                conversation(numbered(name, 1), &second, kept.len(), system.as_deref()),
            ]
        }
    };
    SessionFile::new(conversations.into_iter().flatten().collect(), skipped)
}

/// The conversation of these messages. What answers stand before `from` were given earlier.
fn conversation(name: String, messages: &[&Message], from: usize, system: Option<&str>) -> Option<SessionConversation> {
    let newest = messages.iter().rev().find(|message| message.model().is_some());
    let provider = newest.and_then(|message| message.model_info.as_ref()?.provider.as_deref());
    // The oldest histories name neither, and were sent to Anthropic first of all.
    let is_anthropic = provider.is_none_or(|provider| provider == "anthropic");
    let model = newest.and_then(|message| message.model()).unwrap_or("unknown").to_owned();
    let (mut sent, mut turns) = (Vec::new(), Vec::new());
    let mut head = json!({"model": model});
    match system {
        Some(system) if is_anthropic => head["system"] = system.into(),
        Some(system) => sent.push(json!({"role": "system", "content": system})),
        None => {}
    }
    let lead = sent.len();
    for (at, message) in messages.iter().enumerate() {
        if message.is_answer() && at >= from && sent.len() > lead {
            let asked = at.checked_sub(1).and_then(|before| messages[before].ts).or(message.ts);
            turns.push(SessionTurn {
                answer: sent.len(),
                at: asked.map(|at| at.to_string().into()),
                usage: message.usage(),
                model: message.model().map(Into::into),
            });
        }
        match is_anthropic {
            true => sent.push(json!({"role": message.role, "content": message.blocks()})),
            false => sent.extend(chat(message)),
        }
    }
    let wire = if is_anthropic { WireId::Anthropic } else { WireId::OpenaiChat };
    let messages = sent.iter().filter_map(raw).collect();
    (!turns.is_empty()).then_some(SessionConversation { name, wire, model, head: raw(&head)?, messages, turns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::NO_ANSWER;

    const ASKED: &str =
        r#"{"role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">look</user_input>"}],"ts":7}"#;
    const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","name":"read_files","content":[{"query":"a","result":"found"}]}],"ts":9}"#;

    fn answer(block: &str, provider: &str) -> String {
        let model = format!(r#"{{"id":"m","provider":"{provider}"}}"#);
        let metrics = r#"{"inputTokens":100,"outputTokens":7,"cacheReadTokens":40,"cacheWriteTokens":0}"#;
        format!(r#"{{"role":"assistant","content":[{block}],"ts":8,"modelInfo":{model},"metrics":{metrics}}}"#)
    }

    fn calls(provider: &str) -> String {
        let thought = r#"{"type":"thinking","thinking":"hm"}"#;
        answer(
            &format!(r#"{thought},{{"type":"tool_use","id":"c","name":"read_files","input":{{"files":[]}}}}"#),
            provider,
        )
    }

    fn says(provider: &str) -> String {
        answer(r#"{"type":"text","text":"done"}"#, provider)
    }

    fn texts(conversation: &SessionConversation) -> Vec<&str> {
        conversation.messages.iter().map(|message| message.get()).collect()
    }

    #[test]
    fn a_history_of_another_provider_is_written_as_it_was_sent() {
        let all = [ASKED.to_owned(), calls("openai"), RESULT.to_owned(), says("openai")].join(",");
        let bytes = format!(r#"{{"sessionId":"s","system_prompt":"You are Cline","messages":[{all}]}}"#);
        assert!(recognises(Path::new("s/s.messages.json"), bytes.as_bytes()));
        let file = read("s", bytes.as_bytes(), None);
        let [conversation] = &file.conversations[..] else { panic!("{file:?}") };
        assert_eq!((conversation.wire, conversation.model.as_str()), (WireId::OpenaiChat, "m"));
        let call = r#"{"id":"c","type":"function","function":{"name":"read_files","arguments":"{\"files\":[]}"}}"#;
        let answer = format!(r#"{{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{call}]}}"#);
        let expected = [
            r#"{"role":"system","content":"You are Cline"}"#,
            r#"{"role":"user","content":"look"}"#,
            &answer,
            r#"{"role":"tool","tool_call_id":"c","content":"[{\"query\":\"a\",\"result\":\"found\"}]"}"#,
            r#"{"role":"assistant","content":"done"}"#,
        ];
        assert_eq!(texts(conversation), expected);
        let usage = SessionUsage { input: 60, cache_read: 40, output: 7, ..SessionUsage::default() };
        let turns: Vec<_> =
            conversation.turns.iter().map(|turn| (turn.answer, turn.at.as_deref(), turn.usage)).collect();
        assert_eq!(turns, [(2, Some("7"), Some(usage)), (4, Some("9"), Some(usage))]);
    }

    #[test]
    fn a_task_of_the_extension_is_named_by_its_folder_and_may_know_no_model() {
        let path = Path::new("tasks/1795/api_conversation_history.json");
        let bytes = format!(r#"[{ASKED},{{"role":"assistant","content":"done"}}]"#);
        assert!(recognises(path, bytes.as_bytes()) && session_name(path).as_deref() == Some("1795"));
        assert_eq!(compaction_of(path), None);
        let file = read("1795", bytes.as_bytes(), None);
        let [conversation] = &file.conversations[..] else { panic!("{file:?}") };
        assert_eq!((conversation.wire, conversation.model.as_str()), (WireId::Anthropic, "unknown"));
        assert_eq!(texts(conversation)[1], r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#);
        assert_eq!(read("x", format!("[{ASKED}]").as_bytes(), None).skipped, [(None, NO_ANSWER.to_owned())]);
    }

    #[test]
    fn a_compaction_begins_a_recording() {
        let history = [ASKED, &says("anthropic"), ASKED, &says("anthropic")].join(",");
        let summary = r#"{"role":"user","content":[{"type":"text","text":"Context summary:\n\nlooked"}]}"#;
        let kept = format!(r#"{{"source_message_count":2,"messages":[{summary},{}]}}"#, says("anthropic"));
        let file = read("s", format!("[{history}]").as_bytes(), Some(kept.as_bytes()));
        let all: Vec<_> =
            file.conversations.iter().map(|one| (one.name.as_str(), one.messages.len(), one.turns.len())).collect();
        assert_eq!(all, [("s", 2, 1), ("s#2", 4, 1)]);
        assert_eq!(file.conversations[1].turns[0].answer, 3);
        let broken = read("s", format!("[{history}]").as_bytes(), Some(br#"{"source_message_count":9,"messages":[]}"#));
        assert_eq!((broken.conversations.len(), broken.skipped.len()), (1, 1));
    }

    #[test]
    fn files_beside_a_history_are_passed_over() {
        let passed = ["s/s.json", "s/s.compaction.json", "tasks/1/ui_messages.json", "tasks/1/task_metadata.json"];
        assert!(passed.iter().all(|path| passes_over(Path::new(path))) && !passes_over(Path::new("s/other.json")));
    }
}
