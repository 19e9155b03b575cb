//! Deferred tools: definitions that the model reads only after the provider's tool search has found them (A45).

use super::around::is_chosen;
use super::spell;
use crate::body::Body;
use crate::envelope::{Envelope, Piece};
use crate::json;
use std::borrow::Cow;

/// The provider's tool search: the model calls it, the provider runs it.
pub(super) const SEARCH: &str = r#"{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}"#;

/// The name of [`SEARCH`].
pub(super) const SEARCH_NAME: &str = "tool_search_tool_regex";

/// The tools that may be deferred: loaded ones of the client, without a cache breakpoint, which the request does not
/// demand. None if the client defers no tool itself: provider or model may not know how.
pub(in crate::anthropic) fn deferrable(body: &Body, envelope: &Envelope) -> Vec<usize> {
    let (bytes, tools) = (body.bytes(), envelope.tools.as_deref().unwrap_or_default());
    if !tools.iter().any(|tool| tool.deferred) {
        return Vec::new();
    }
    let is_marked = |tool: &Piece| spell::member(bytes, tool.at.start, "cache_control").is_some();
    let may = |tool: &Piece| {
        let is_once = tools.iter().filter(|other| other.name == tool.name).count() == 1;
        !tool.deferred && !tool.server && is_once && !is_marked(tool) && !is_chosen(body, &tool.name)
    };
    (0..tools.len()).filter(|at| may(&tools[*at])).collect()
}

/// Whether a definition is a tool search of the provider.
pub(super) fn is_search(tool: &[u8], at: usize) -> bool {
    spell::text(tool, at, "type").is_some_and(|kind| kind.starts_with("tool_search_tool_"))
}

/// Whether a tool is not loaded.
pub(super) fn is_deferred(tool: &[u8]) -> bool {
    spell::member(tool, 0, "defer_loading").is_some_and(|member| &tool[member.value] == b"true")
}

/// Whether a synthetic tool stands for the client's own definition, deferred: it has a name and nothing else.
pub(super) fn is_stub(tool: &[u8]) -> bool {
    let count = json::members(tool, 0).into_iter().flatten().count();
    count == 2 && is_deferred(tool) && spell::text(tool, 0, "name").is_some()
}

/// The client's definition, deferred and without its cache breakpoint.
pub(super) fn defer(own: &[u8]) -> String {
    let text = String::from_utf8_lossy(own);
    let bytes = text.as_bytes();
    let members: Vec<json::Member> = json::members(bytes, 0).into_iter().flatten().flatten().collect();
    let replaced = |member: &json::Member| {
        ["cache_control", "defer_loading"].iter().any(|name| json::key_is(&bytes[member.key.clone()], name))
    };
    let kept: Vec<Cow<'_, str>> =
        members.iter().filter(|member| !replaced(member)).map(|member| Cow::Borrowed(&text[member.whole()])).collect();
    let members: Vec<Cow<'_, str>> = kept.into_iter().chain([Cow::Borrowed(r#""defer_loading":true"#)]).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_keeps_its_members_but_not_its_breakpoint() {
        let own = r#"{ "name" : "Agent", "cache_control":{"type":"ephemeral"}, "defer_loading":false,"input_schema":{"a":[1,{}]}}"#;
        assert_eq!(defer(own.as_bytes()), r#"{"name" : "Agent","input_schema":{"a":[1,{}]},"defer_loading":true}"#);
    }

    #[test]
    fn a_loaded_tool_may_be_deferred_if_the_client_defers_others() {
        let read = |later: &str, choice: &str| {
            let body = format!(
                r#"{{"model":"m","messages":[],"tools":[{{"name":"A","input_schema":{{}}}},{{"name":"B","input_schema":{{}},"cache_control":{{"type":"ephemeral"}}}},{{"type":"web_search_1","name":"C"}},{{"name":"D","input_schema":{{}}{later}}}]{choice}}}"#
            );
            let body = Body::parse(body.into_bytes(), &crate::anthropic::Anthropic).expect("a request");
            let envelope = crate::anthropic::envelope::read(body.bytes(), body.spans(), ctx_clients::lexicon());
            deferrable(&body, &envelope)
        };
        assert_eq!(read(r#","defer_loading":true"#, ""), [0]);
        assert_eq!(read("", ""), [] as [usize; 0], "the provider may have no tool search");
        assert_eq!(read(r#","defer_loading":true"#, r#","tool_choice":{"type":"tool","name":"A"}"#), [] as [usize; 0]);
    }

    #[test]
    fn a_stub_has_a_name_and_nothing_that_defines_a_tool() {
        assert!(is_stub(br#"{"name":"Agent","defer_loading":true}"#));
        for other in [
            r#"{"name":"Agent"}"#,
            r#"{"name":"Agent","defer_loading":false}"#,
            r#"{"name":"Agent","input_schema":{},"defer_loading":true}"#,
            r#"{"type":"web_search_1","name":"web_search","defer_loading":true}"#,
        ] {
            assert!(!is_stub(other.as_bytes()), "{other}");
        }
        assert!(is_search(SEARCH.as_bytes(), 0) && SEARCH.contains(SEARCH_NAME));
    }
}
