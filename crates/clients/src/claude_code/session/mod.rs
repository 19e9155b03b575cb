//! Claude Code's session files, `<session>.jsonl`: one object per line, each naming its predecessor.
//!
//! The conversation is the chain that ends in the newest line; rewound lines are not on it. A compaction ends one
//! recording (`<session>`) and begins the next (`<session>#2`); a sub-agent with two or more steps is a recording of
//! its own (`<session>+1`, or a file of its own). An answer has one line per block, and each tool result has one line:
//! they are merged as the client sends them. Injected content, the system prompt and the tools are included if the file
//! contains them; older files lack the last two.

mod chain;
mod line;
mod merge;

use crate::session::{SessionConversation, SessionFile, SessionFiles, SessionTurn};
use ctx_core::content::WireId;
use line::Line;
use serde_json::value::RawValue;
use std::path::Path;

pub(super) const FILES: SessionFiles =
    SessionFiles { recognises: is_session, read, passes_over: is_about_an_agent, ..SessionFiles::BASE };

/// Whether the file describes a sub-agent.
fn is_about_an_agent(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".meta.json"))
}

/// Whether a file has the format of a session: several objects, or one that names its kind of line.
fn is_session(path: &Path, bytes: &[u8]) -> bool {
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        return true;
    }
    let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    first.and_then(|line| line::read(line, 1).ok()).is_some_and(|line| !line.kind.is_empty())
}

fn read(name: &str, bytes: &[u8]) -> SessionFile {
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if !text.trim_ascii().is_empty() {
            match line::read(text, index + 1) {
                Ok(line) => lines.push(line),
                Err(why) => skipped.push((Some(index + 1), why)),
            }
        }
    }
    if !lines.iter().any(|line| line.message.is_some() && !line.uuid.is_empty()) {
        return SessionFile {
            conversations: Vec::new(),
            skipped: vec![(None, "it contains no lines of a conversation".into())],
        };
    }
    let found = chain::chains(&lines);
    skipped.extend(found.gaps.iter().map(|gap| (Some(*gap), MISSING.to_owned())));
    let mut recordings = Vec::new();
    let mut segments = 0;
    for segment in &found.main {
        let recording = recording(&lines, segment, name.to_owned());
        // An empty segment is no recording: a compaction directly after another.
        if let Some(mut recording) = recording {
            segments += 1;
            if segments > 1 {
                recording.name = format!("{name}#{segments}");
            }
            recordings.push(recording);
        }
    }
    let sides = found.sides.iter().filter_map(|side| recording(&lines, side, String::new()));
    let sides: Vec<SessionConversation> = sides.filter(|side| side.turns.len() >= 2).collect();
    let alone = recordings.is_empty() && sides.len() == 1;
    for (index, mut side) in sides.into_iter().enumerate() {
        side.name = if alone { name.to_owned() } else { format!("{name}+{}", index + 1) };
        recordings.push(side);
    }
    if recordings.is_empty() {
        skipped.push((None, "it contains no reply of a model, or only a sub-agent of one step".into()));
    }
    SessionFile { conversations: recordings, skipped }
}

const MISSING: &str = "the preceding line is missing: the conversation is read from its next prompt";

fn recording(lines: &[Line], segment: &chain::Segment, name: String) -> Option<SessionConversation> {
    let merged = merge::messages(segment);
    let mut turns = Vec::new();
    let mut asked = None;
    for (index, message) in merged.iter().enumerate() {
        if message.is_answer && !message.kept && index > 0 {
            let at = asked.or(message.at).map(Into::into);
            turns.push(SessionTurn { answer: index, at, usage: message.usage, model: message.model.map(Into::into) });
        }
        asked = message.at.filter(|_| !message.is_answer);
    }
    let model = merged.iter().rev().find_map(|message| message.model)?;
    if turns.is_empty() {
        return None;
    }
    let last = segment.lines.iter().map(|line| line.number).max();
    let shape = lines.iter().rev().filter(|line| Some(line.number) <= last).find_map(|line| line.shape.as_ref());
    let messages: Result<Vec<_>, _> = merged.iter().map(|message| RawValue::from_string(message.json())).collect();
    Some(SessionConversation {
        name,
        wire: WireId::Anthropic,
        model: model.to_owned(),
        head: head(model, shape)?,
        messages: messages.ok()?,
        turns,
    })
}

fn head(model: &str, shape: Option<&line::RequestShape>) -> Option<Box<RawValue>> {
    let mut head = format!(r#"{{"model":{},"max_tokens":32000"#, serde_json::to_string(model).ok()?);
    let shape = shape.map(|shape| [("system", shape.system), ("tools", shape.tools)]).into_iter().flatten();
    for (key, value) in shape {
        if let Some(value) = value {
            head.push_str(&format!(r#","{key}":{}"#, value.get()));
        }
    }
    head.push('}');
    RawValue::from_string(head).ok()
}
