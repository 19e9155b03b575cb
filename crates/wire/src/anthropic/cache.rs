//! The lifetime of the provider's cache, as a request sets it.

use crate::body::Body;
use crate::envelope::Envelope;
use ctx_models::cache::{Breakpoints, FIVE_MINUTES, ONE_HOUR};

const NAME: &[u8] = b"\"cache_control\"";

/// The lifetime in seconds of a request's last breakpoint; none without a breakpoint.
pub fn lifetime(body: &[u8]) -> Option<u64> {
    // A quote inside a text is escaped, so this is a name.
    let at = memchr::memmem::rfind(body, NAME)? + NAME.len();
    let value = body.get(at..)?.split(|&byte| byte == b'}').next()?;
    Some(if memchr::memmem::find(value, b"\"1h\"").is_some() { ONE_HOUR } else { FIVE_MINUTES })
}

/// Whether the tools or the system prompt have a breakpoint.
pub fn marks_around(body: &Body, envelope: &Envelope) -> bool {
    let pieces = envelope.system.iter().chain(envelope.tools.iter().flatten());
    let mut bytes = pieces.filter_map(|piece| body.bytes().get(piece.at.clone()));
    bytes.any(|bytes| memchr::memmem::find_iter(bytes, NAME).any(|at| is_set(bytes, at)))
}

/// Whether the value is a breakpoint; `null` is not.
fn is_set(bytes: &[u8], at: usize) -> bool {
    let value = bytes.get(at + NAME.len()..).unwrap_or_default();
    value.iter().copied().find(|byte| !byte.is_ascii_whitespace() && *byte != b':') == Some(b'{')
}

/// The cache breakpoints of a request.
pub fn marks(body: &Body, envelope: &Envelope) -> Breakpoints {
    let (bytes, messages) = (body.bytes(), &body.spans().messages);
    let mut marks = Breakpoints::default();
    for at in memchr::memmem::find_iter(bytes, NAME).filter(|at| is_set(bytes, *at)) {
        let behind = messages.partition_point(|message| message.end <= at);
        let inside = messages.get(behind).is_some_and(|message| message.start <= at);
        let mut pieces = envelope.system.iter().chain(envelope.tools.iter().flatten());
        if inside {
            marks.messages.push(behind);
        } else if pieces.any(|piece| piece.at.contains(&at)) {
            marks.head = true;
        } else {
            // The provider sets one at the end itself.
            marks.messages.extend(messages.len().checked_sub(1));
        }
    }
    marks.messages.sort_unstable();
    marks.messages.dedup();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_they_stand() {
        let mark = r#""cache_control" : {"type":"ephemeral"}"#;
        let text = |mark: &str| format!(r#"{{"type":"text","text":"\"cache_control\":{{}}"{mark}}}"#);
        let (bare, marked) = (text(""), text(&format!(",{mark}")));
        let find = |system: &str, last: &str, top: &str| {
            let body = format!(
                r#"{{"model":"m","system":[{system}],"messages":[{{"role":"user","content":[{bare}]}},{{"role":"user","content":[{last}]}}]{top}}}"#
            );
            let body = Body::parse(body.into_bytes(), &crate::anthropic::Anthropic).expect("a request");
            let envelope = crate::anthropic::envelope::read(body.bytes(), body.spans(), ctx_clients::lexicon());
            let marks = marks(&body, &envelope);
            assert_eq!(marks_around(&body, &envelope), marks.head);
            marks
        };
        assert_eq!(find(&bare, &bare, ""), Breakpoints::default());
        assert_eq!(find(&marked, &marked, ""), Breakpoints { head: true, messages: vec![1] });
        assert_eq!(find(&bare, &bare, &format!(",{mark}")), Breakpoints { head: false, messages: vec![1] });
        assert_eq!(find(&bare, &bare, r#","cache_control":null"#), Breakpoints::default());
    }

    #[test]
    fn the_last_mark_tells_how_long_it_lives() {
        let long = r#"{"text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}"#;
        let short = r#"{"text":"\"cache_control\": {\"ttl\":\"1h\"}","cache_control":{"type":"ephemeral"}}"#;
        assert_eq!(lifetime(format!("[{short},{long}]").as_bytes()), Some(3600));
        assert_eq!(lifetime(format!("[{long},{short}]").as_bytes()), Some(300));
        assert_eq!(lifetime(br#"{"text":"\"cache_control\":{\"ttl\":\"1h\"}"}"#), None);
        assert_eq!(lifetime(br#""cache_control""#), Some(300));
    }
}
