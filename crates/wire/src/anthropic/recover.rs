//! Recovery when the provider still refuses a thinking block (A65): asks it to drop such blocks itself.

use crate::body::Body;
use crate::json;
use crate::wire::Insertion;

/// The beta that the setting requires.
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// The insertion that makes the provider drop unfit thinking. `None` if thinking is disabled, or the request already
/// has the setting.
pub fn drop_block(body: &Body) -> Option<Insertion> {
    let bytes = body.bytes();
    let (span, _) = body.spans().member(bytes, "thinking")?;
    let mut thinks = false;
    let mut last = None;
    for member in json::members(bytes, span.start)?.flatten() {
        let name = bytes.get(member.key.clone()).unwrap_or_default();
        if json::key_is(name, "block_binding") {
            return None;
        }
        if json::key_is(name, "type") {
            let kind = json::string_value(bytes, member.value.clone());
            thinks = matches!(kind.as_deref(), Some("adaptive" | "enabled"));
        }
        last = Some(member.value.end);
    }
    let setting = br#","block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;
    let at = last.filter(|_| thinks)?;
    Some(Insertion { at, bytes: setting.to_vec(), beta: BINDING_BETA })
}

/// Whether the provider refused thinking that is bound to another conversation.
pub fn is_unbound(status: u16, body: &[u8]) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(body, words).is_some();
    status == 400 && (says(b"bound to a different conversation") || says(b"prefix_mismatch_behavior"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovered(text: &str) -> Option<String> {
        let body = Body::parse(text.as_bytes().to_vec(), &crate::anthropic::Anthropic).expect("a body");
        let Insertion { at, bytes, .. } = drop_block(&body)?;
        Some(format!("{}{}{}", &text[..at], String::from_utf8_lossy(&bytes), &text[at..]))
    }

    #[test]
    fn only_what_thinks_and_has_not_decided_is_asked_to_drop() {
        assert_eq!(
            recovered(r#"{"messages":[],"thinking":{"type":"adaptive" },"x":1}"#).as_deref(),
            Some(
                r#"{"messages":[],"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"} },"x":1}"#
            )
        );
        assert_eq!(recovered(r#"{"messages":[],"thinking":{"type":"disabled"}}"#), None);
        assert_eq!(recovered(r#"{"messages":[],"thinking":{"type":"adaptive","block_binding":{}}}"#), None);
        assert_eq!(recovered(r#"{"messages":[]}"#), None);
    }
}
