//! The events of a streamed answer, in order, with the actions between them. `serve` sends them.

use super::answer::Course;
use super::json::{Fields, compact, spaced, text};
use super::request::kind_of;
use serde_json::{Value, json};
use std::time::Duration;

/// The characters of a delta, unless the text would make more than fifty.
const PIECE: usize = 40;
const MOST_PIECES: usize = 50;

/// One step of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// A whole server-sent event, empty line included.
    Send(String),
    Wait(Duration),
    /// Drop the connection.
    Cut,
}

/// The stream of `message`, the answer for a client that does not stream.
pub(crate) fn moves(message: &Fields, course: &Course) -> Vec<Move> {
    let mut moves = vec![event("message_start", json!({"message": opening(message)})), event("ping", json!({}))];
    let blocks = message.get("content").and_then(Value::as_array);
    for (index, block) in blocks.into_iter().flatten().enumerate() {
        let Some(block) = block.as_object() else {
            continue;
        };
        let (shell, deltas) = unfold(block);
        moves.push(event("content_block_start", json!({"index": index, "content_block": shell})));
        for (position, delta) in deltas.into_iter().enumerate() {
            moves.push(event("content_block_delta", json!({"index": index, "delta": delta})));
            // Failures happen after the first part of the answer.
            if index == 0 && position == 0 {
                if let Some(kind) = &course.mid_error {
                    let error = json!({"error": {"type": kind, "message": kind}});
                    moves.push(event("error", error));
                    return moves;
                }
                if course.cut {
                    moves.push(Move::Cut);
                    return moves;
                }
                if !course.hang.is_zero() {
                    moves.push(Move::Wait(course.hang));
                }
            }
        }
        moves.push(event("content_block_stop", json!({"index": index})));
    }
    moves.push(event("message_delta", closing(message)));
    moves.push(event("message_stop", json!({})));
    moves
}

fn event(kind: &str, fields: Value) -> Move {
    let mut data = Fields::new();
    data.insert("type".into(), kind.into());
    if let Value::Object(fields) = fields {
        data.extend(fields);
    }
    Move::Send(format!("event: {kind}\ndata: {}\n\n", compact(&data)))
}

/// The message before any of its content.
fn opening(message: &Fields) -> Fields {
    let mut opening = message.clone();
    opening.insert("content".into(), json!([]));
    opening.insert("stop_reason".into(), Value::Null);
    // Known only at the end.
    opening.remove("context_management");
    if let Some(usage) = opening.get_mut("usage").and_then(Value::as_object_mut) {
        usage.insert("output_tokens".into(), 1.into());
    }
    opening
}

fn closing(message: &Fields) -> Value {
    let usage = message.get("usage").and_then(Value::as_object);
    let reported = |key: &str| usage.and_then(|usage| usage.get(key)).cloned();
    let mut closing = json!({
        "delta": {
            "stop_reason": message.get("stop_reason"),
            "stop_sequence": message.get("stop_sequence"),
        },
        "usage": {
            "input_tokens": reported("input_tokens"),
            "cache_creation_input_tokens": reported("cache_creation_input_tokens"),
            "cache_read_input_tokens": reported("cache_read_input_tokens"),
            "output_tokens": reported("output_tokens"),
        },
    });
    if let Some(managed) = message.get("context_management") {
        closing["context_management"] = managed.clone();
    }
    closing
}

/// A block at its start, and the deltas that complete it.
fn unfold(block: &Fields) -> (Value, Vec<Value>) {
    match kind_of(block) {
        Some("text") => {
            let shell = json!({"type": "text", "text": ""});
            let pieces = pieces(text(block, "text").unwrap_or_default());
            let delta = |piece| json!({"type": "text_delta", "text": piece});
            (shell, pieces.into_iter().map(delta).collect())
        }
        Some("thinking") => {
            let shell = json!({"type": "thinking", "thinking": "", "signature": ""});
            let pieces = pieces(text(block, "thinking").unwrap_or_default());
            let delta = |piece| json!({"type": "thinking_delta", "thinking": piece});
            let signature = json!({
                "type": "signature_delta", "signature": block.get("signature")
            });
            let thoughts = pieces.into_iter().map(delta);
            (shell, thoughts.chain([signature]).collect())
        }
        Some("server_tool_use") if block.get("input") == Some(&json!({})) => (block.clone().into(), Vec::new()),
        Some("tool_use" | "server_tool_use") => {
            let mut shell = block.clone();
            shell.insert("input".into(), json!({}));
            let input = spaced(block.get("input").unwrap_or(&Value::Null));
            let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
            let opening = String::new();
            let pieces = std::iter::once(opening).chain(pieces(&input));
            (shell.into(), pieces.map(delta).collect())
        }
        Some("compaction") => {
            let shell = json!({"type": "compaction", "content": null});
            let mut delta = block.clone();
            delta.insert("type".into(), "compaction_delta".into());
            (shell, vec![delta.into()])
        }
        _ => (block.clone().into(), Vec::new()),
    }
}

/// The text in delta-sized pieces; at least one.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = PIECE.max(letters.len() / MOST_PIECES);
    if letters.is_empty() {
        return vec![String::new()];
    }
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_break_between_characters_and_join_to_the_text() {
        for text in ["", "é", &"ü😀".repeat(999)] {
            let parts = pieces(text);
            assert!(!parts.is_empty() && parts.len() <= MOST_PIECES + 1);
            assert_eq!(parts.concat(), text);
        }
    }

    #[test]
    fn a_cut_stream_ends_after_its_first_delta() {
        let message = json!({"content": [{"type": "text", "text": "hello"}], "usage": {}});
        let course = Course { cut: true, ..Course::default() };
        let moves = moves(message.as_object().expect("an object"), &course);
        assert_eq!(moves.len(), 5);
        assert_eq!(moves.last(), Some(&Move::Cut));
    }
}
