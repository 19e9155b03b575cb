//! The provider's answers about its editing: capabilities and refusals.

use crate::anthropic::recover::is_unbound;
use crate::provider_edits::{Capability, Kind};
use serde_json::Value;

/// Reads an answer to `GET /v1/models`, or to `GET /v1/models/NAME`.
pub fn capabilities(answer: &[u8]) -> Vec<Capability> {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return Vec::new() };
    let list = answer["data"].as_array();
    let models = list.map_or_else(|| vec![&answer], |list| list.iter().collect());
    models.into_iter().filter_map(capability).collect()
}

fn capability(model: &Value) -> Option<Capability> {
    let supported = |value: &Value| value.as_bool().or_else(|| value["supported"].as_bool());
    let managing = &model["capabilities"]["context_management"];
    let can = match supported(managing) {
        Some(false) => Kind::ALL.map(|kind| (kind, false)).to_vec(),
        _ => Kind::ALL.into_iter().filter_map(|kind| Some((kind, supported(&managing[kind.name()])?))).collect(),
    };
    let window = model["max_input_tokens"].as_u64().filter(|window| *window > 0);
    let told = Capability { model: model["id"].as_str()?.to_owned(), window, can };
    (told.window.is_some() || !told.can.is_empty()).then_some(told)
}

/// The added edits that a refusal may concern: those that it names, else all of them, because gateways have their own
/// wording. None if it clearly concerns something else.
pub fn refused(status: u16, answer: &[u8], added: &[Kind]) -> Vec<Kind> {
    // Gateways answer 422 to a field that they do not know.
    if !matches!(status, 400 | 422) {
        return Vec::new();
    }
    let says = |words: &str| memchr::memmem::find(answer, words.as_bytes()).is_some();
    let is_named =
        |kind: Kind| says(kind.name()) || (kind == Kind::Compact && (says(kind.beta()) || says("compaction")));
    let named: Vec<Kind> = added.iter().copied().filter(|kind| is_named(*kind)).collect();
    if !named.is_empty() {
        return named;
    }
    let is_other = says("prompt is too long") || is_unbound(status, answer);
    if is_other { Vec::new() } else { added.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_tell_what_they_can_in_both_spellings() {
        let told = capabilities(
            br#"{"data":[
              {"id":"claude-a","max_input_tokens":200000,"capabilities":{"context_management":{"supported":true,
                "clear_tool_uses_20250919":{"supported":true},"clear_thinking_20251015":{"supported":false},"compact_20260112":null}}},
              {"id":"claude-b","capabilities":{"context_management":{"clear_tool_uses_20250919":true,"compact_20260112":false}}},
              {"id":"claude-c","capabilities":{"context_management":{"supported":false}}},
              {"id":"claude-d","display_name":"D"},{"no":"id","max_input_tokens":5}],"has_more":false}"#,
        );
        let found: Vec<_> = told.iter().map(|told| (told.model.as_str(), told.window, told.can.as_slice())).collect();
        assert_eq!(
            found,
            [
                ("claude-a", Some(200_000), [(Kind::Thinking, false), (Kind::ToolUses, true)].as_slice()),
                ("claude-b", None, &[(Kind::ToolUses, true), (Kind::Compact, false)]),
                ("claude-c", None, &[(Kind::Thinking, false), (Kind::ToolUses, false), (Kind::Compact, false)]),
            ]
        );
        assert_eq!(capabilities(br#"{"id":"claude-e","max_input_tokens":9}"#).len(), 1);
        assert!(capabilities(b"<html>").is_empty() && capabilities(b"[]").is_empty());
    }

    #[test]
    fn a_refusal_is_of_ours_unless_it_surely_is_not() {
        let ours = [Kind::ToolUses, Kind::Compact];
        for (status, answer, named) in [
            (400, "context_management: Extra inputs are not permitted", &ours[..]),
            (400, "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header", &ours),
            (422, "Unknown field: context_management", &ours),
            (400, "context_management.edits.1: tag 'compact_20260112' does not match", &ours[1..]),
            (400, "Unexpected value(s) `compact-2026-01-12` for the `anthropic-beta` header.", &ours[1..]),
            (400, "`compaction` block must be sent first", &ours[1..]),
            (400, "context_management.edits.0.clear_tool_uses_20250919.trigger: bad", &ours[..1]),
            (422, "Bad Request: unknown parameter", &ours),
            (400, "prompt is too long: 210000 tokens > 200000 maximum", &[]),
            (400, "The block is bound to a different conversation.", &[]),
            (500, "context_management", &[]),
            (429, "context_management: Extra inputs are not permitted", &[]),
        ] {
            assert_eq!(refused(status, answer.as_bytes(), &ours), named, "{answer}");
        }
        assert!(refused(400, b"`clear_thinking_20251015` strategy requires thinking", &[Kind::Thinking]).len() == 1);
        assert!(refused(400, b"context_management", &[]).is_empty());
    }
}
