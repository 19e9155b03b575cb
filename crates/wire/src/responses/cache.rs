//! The cache as a request asks for it: explicit breakpoints, and the lifetime (P1, P2).

use crate::body::Body;
use crate::compose::spell;
use crate::envelope::Envelope;
use crate::json;
use crate::marks;
use ctx_models::cache::{Breakpoints, HALF_AN_HOUR, ONE_DAY, TWELVE_HOURS};

pub(super) const BREAKPOINT: &[u8] = b"\"prompt_cache_breakpoint\"";

/// Whether the provider sets no breakpoint itself.
pub(super) fn is_explicit(body: &Body) -> bool {
    let options = body.spans().member(body.bytes(), "prompt_cache_options").map(|(span, _)| span);
    let mode = options.and_then(|options| spell::text(body.bytes(), options.start, "mode"));
    mode.as_deref() == Some("explicit")
}

/// The breakpoints of a request.
pub(super) fn breakpoints(body: &Body, envelope: &Envelope) -> Breakpoints {
    Breakpoints { is_explicit: is_explicit(body), ..marks::breakpoints(body, envelope, BREAKPOINT) }
}

/// The lifetime in seconds that a request asks for. Both members stand beside the history, so their names are looked for
/// without reading it.
pub(super) fn lifetime(body: &[u8]) -> Option<u64> {
    let value = |name: &[u8]| {
        let at = memchr::memmem::rfind(body, name)? + name.len();
        let value = body.get(at..)?.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b':')?;
        Some(at + value)
    };
    let ttl = value(b"\"prompt_cache_options\"").and_then(|at| spell::text(body, at, "ttl"));
    let retention =
        || value(b"\"prompt_cache_retention\"").and_then(|at| json::string_value(body, json::value(body, at).ok()?));
    match ttl.or_else(retention)?.as_ref() {
        "30m" => Some(HALF_AN_HOUR),
        "12h" => Some(TWELVE_HOURS),
        "24h" => Some(ONE_DAY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;
    use crate::responses::Responses;
    use serde_json::{Value, json};

    fn request(options: Value) -> (Body, Breakpoints) {
        let mark = json!({"mode": "explicit"});
        let said = |role: &str, text: &str| json!({"role": role, "content": [{"type": "input_text", "text": text}]});
        let mut input =
            vec![said("developer", "Be kind."), said("user", "\"prompt_cache_breakpoint\":{}"), said("user", "b")];
        input[0]["content"][0]["prompt_cache_breakpoint"] = mark.clone();
        input[2]["content"][0]["prompt_cache_breakpoint"] = mark;
        let body = json!({"model": "gpt-5.6-sol", "input": input, "prompt_cache_options": options}).to_string();
        let body = Body::parse(body.into_bytes(), &Responses).expect("a request");
        let envelope = body.envelope(ctx_clients::lexicon());
        assert!(Responses.marks_envelope(&body, &envelope));
        let breakpoints = Responses.breakpoints(&body, &envelope);
        (body, breakpoints)
    }

    #[test]
    fn explicit_breakpoints_are_found_and_their_mode() {
        let (body, found) = request(json!({"mode": "explicit", "ttl": "12h"}));
        assert_eq!(found, Breakpoints { head: true, messages: vec![1], is_explicit: true });
        assert_eq!(Responses.cache_lifetime(body.bytes()), Some(TWELVE_HOURS));
        let (body, found) = request(Value::Null);
        assert_eq!(found, Breakpoints { head: true, messages: vec![1], is_explicit: false });
        assert_eq!(Responses.cache_lifetime(body.bytes()), None);
    }

    #[test]
    fn the_lifetime_is_that_of_the_options_or_of_the_older_member() {
        assert_eq!(lifetime(br#"{"input":[],"prompt_cache_retention": "24h"}"#), Some(ONE_DAY));
        assert_eq!(
            lifetime(br#"{"prompt_cache_retention":"24h","prompt_cache_options":{"ttl":"30m"}}"#),
            Some(HALF_AN_HOUR)
        );
        assert_eq!(lifetime(br#"{"prompt_cache_retention":"in_memory"}"#), None);
        assert_eq!(lifetime(br#"{"prompt_cache_retention":"#), None);
    }
}
