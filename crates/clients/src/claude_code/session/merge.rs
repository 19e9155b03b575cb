//! Merges lines into messages as the client sends them: one answer with all its blocks, then one message with the
//! results of its calls in order, followed by typed and injected text.

use super::chain::Segment;
use super::line::{Block, Message};
use crate::session::SessionUsage;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;

/// Replaces a result that the file lacks, because a call without a result is refused.
const NO_RESULT: &str = "(this result was not recorded)";

#[derive(Default)]
pub(super) struct MergedSession<'l> {
    pub(super) is_answer: bool,
    /// Answered earlier, and kept by a compaction.
    pub(super) kept: bool,
    pub(super) at: Option<&'l str>,
    pub(super) model: Option<&'l str>,
    pub(super) usage: Option<SessionUsage>,
    id: Option<&'l str>,
    parts: Vec<Part<'l>>,
    /// The recorded content, as long as it comes from a single line.
    whole: Option<&'l str>,
}

#[derive(Default)]
struct Part<'l> {
    json: Cow<'l, str>,
    call: Option<Cow<'l, str>>,
    result: Option<Cow<'l, str>>,
}

impl MergedSession<'_> {
    pub(super) fn json(&self) -> String {
        let role = if self.is_answer { "assistant" } else { "user" };
        match self.whole {
            Some(content) if content.starts_with('"') || count(content) == self.parts.len() => {
                format!(r#"{{"role":"{role}","content":{content}}}"#)
            }
            _ => {
                let parts: Vec<&str> = self.parts.iter().map(|part| &*part.json).collect();
                format!(r#"{{"role":"{role}","content":[{}]}}"#, parts.join(","))
            }
        }
    }

    fn calls(&self) -> Vec<Cow<'_, str>> {
        self.parts.iter().filter_map(|part| part.call.clone()).collect()
    }
}

pub(super) fn messages<'l>(segment: &Segment<'l>) -> Vec<MergedSession<'l>> {
    let mut merged: Vec<MergedSession> = Vec::new();
    for line in &segment.lines {
        let about = || (line.at.as_deref(), segment.kept.contains(&line.number));
        if let Some(message) = &line.message {
            let mut piece = piece(message);
            (piece.at, piece.kept) = about();
            push(&mut merged, piece);
        }
        for content in &line.injected {
            let (at, kept) = about();
            push(&mut merged, MergedSession { parts: parts(content), at, kept, ..MergedSession::default() });
        }
    }
    paired(merged)
}

fn piece<'l>(message: &'l Message<'l>) -> MergedSession<'l> {
    MergedSession {
        is_answer: message.is_answer,
        model: message.model.as_deref().filter(|_| message.is_answer),
        usage: message.usage.filter(|_| message.is_answer),
        id: message.id.as_deref(),
        parts: parts(message.content),
        whole: Some(message.content.get()),
        ..MergedSession::default()
    }
}

fn parts(content: &RawValue) -> Vec<Part<'_>> {
    let json = content.get();
    if json.starts_with('"') {
        let part = Part { json: format!(r#"{{"type":"text","text":{json}}}"#).into(), ..Part::default() };
        return if is_blank(content) { Vec::new() } else { vec![part] };
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    blocks.into_iter().filter_map(part).collect()
}

fn part(raw: &RawValue) -> Option<Part<'_>> {
    let block: Block = serde_json::from_str(raw.get()).ok()?;
    // A text without words is refused.
    if block.kind == "text" && block.text.is_none_or(is_blank) {
        return None;
    }
    let call = block.id.filter(|_| block.kind == "tool_use");
    let result = block.tool_use_id.filter(|_| block.kind == "tool_result");
    Some(Part { json: raw.get().into(), call, result })
}

fn is_blank(text: &RawValue) -> bool {
    serde_json::from_str::<String>(text.get()).is_ok_and(|text| text.trim().is_empty())
}

/// Adds a piece to its message, or begins a new one.
fn push<'l>(merged: &mut Vec<MergedSession<'l>>, piece: MergedSession<'l>) {
    if piece.parts.is_empty() {
        return;
    }
    // Results may have arrived before the answer was complete: then the answer is the second-last message.
    let count = merged.len();
    let same = |message: &MergedSession| {
        piece.is_answer && message.is_answer && message.id.is_some() && message.id == piece.id
    };
    let at =
        if count > 1 && merged.get(count - 2).is_some_and(same) { count.checked_sub(2) } else { count.checked_sub(1) };
    let fits = |message: &&mut MergedSession| same(message) || message.is_answer == piece.is_answer;
    match at.and_then(|at| merged.get_mut(at)).filter(fits) {
        Some(message) => {
            message.parts.extend(piece.parts);
            message.whole = None;
            message.usage = piece.usage.or(message.usage);
            message.model = piece.model.or(message.model);
            message.kept &= piece.kept;
            // A request is sent when its last line is written; an answer begins with its first line.
            if piece.is_answer {
                message.id = piece.id.or(message.id);
            } else {
                message.at = piece.at.max(message.at);
            }
        }
        None => merged.push(piece),
    }
}

/// Gives every call one result in the following message, in the order of the calls, and drops results without a call.
fn paired(merged: Vec<MergedSession>) -> Vec<MergedSession> {
    let mut whole: Vec<MergedSession> = Vec::new();
    for mut message in merged {
        if message.is_answer {
            // A conversation begins with the user; two answers are adjacent if nothing of the message between them
            // remains.
            if !whole.is_empty() {
                push(&mut whole, message);
            }
            continue;
        }
        let calls: Vec<String> =
            whole.last().map(|answer| answer.calls().into_iter().map(Cow::into_owned).collect()).unwrap_or_default();
        let place = |part: &Part| calls.iter().position(|call| part.result.as_deref() == Some(call));
        let before: Vec<Option<usize>> = message.parts.iter().map(place).collect();
        let mut seen = HashSet::new();
        message
            .parts
            .retain(|part| part.result.as_ref().is_none_or(|id| place(part).is_some() && seen.insert(id.to_string())));
        for call in calls.iter().filter(|call| !seen.contains(*call)) {
            let json =
                serde_json::json!({"type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": true});
            message.parts.push(Part {
                json: json.to_string().into(),
                call: None,
                result: Some(Cow::Owned(call.clone())),
            });
        }
        message.parts.sort_by_key(|part| place(part).unwrap_or(usize::MAX));
        let after: Vec<Option<usize>> = message.parts.iter().map(place).collect();
        if before != after {
            message.whole = None;
        }
        push(&mut whole, message);
    }
    whole
}

fn count(content: &str) -> usize {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(content).map(|blocks| blocks.len()).unwrap_or_default()
}
