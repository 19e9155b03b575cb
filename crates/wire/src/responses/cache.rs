//! The cache as a request asks for it: explicit breakpoints, and the lifetime (P1, P2).

use crate::body::{Body, Spans};
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

/// The lifetime in seconds that a request asks for. Both members stand beside the history, on Chat too.
pub(crate) fn lifetime(body: &[u8], spans: &Spans) -> Option<u64> {
    let value = |name: &str| spans.member(body, name).map(|(span, _)| span);
    let ttl = value("prompt_cache_options").and_then(|options| spell::text(body, options.start, "ttl"));
    let retention = || json::string_value(body, value("prompt_cache_retention")?);
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
        assert_eq!(Responses.cache_lifetime(body.bytes(), body.spans()), Some(TWELVE_HOURS));
        let (body, found) = request(Value::Null);
        assert_eq!(found, Breakpoints { head: true, messages: vec![1], is_explicit: false });
        assert_eq!(Responses.cache_lifetime(body.bytes(), body.spans()), None);
    }

    #[test]
    fn the_lifetime_is_that_of_the_options_or_of_the_older_member() {
        let asked = |members: &str| {
            let body = format!(r#"{{"input":["\"prompt_cache_retention\":\"24h\""]{members}}}"#);
            let body = Body::parse(body.into_bytes(), &Responses).expect("a request");
            Responses.cache_lifetime(body.bytes(), body.spans())
        };
        assert_eq!(asked(r#","prompt_cache_retention": "24h""#), Some(ONE_DAY));
        let both = r#","prompt_cache_retention":"24h","prompt_cache_options":{"ttl":"30m"}"#;
        assert_eq!(asked(both), Some(HALF_AN_HOUR));
        assert_eq!(asked(r#","prompt_cache_retention":"in_memory""#), None);
        assert_eq!(asked(""), None, "words in the history ask for nothing");
    }
}
