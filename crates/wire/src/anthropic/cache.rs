//! The lifetime of the provider's cache, as a request sets it.

use crate::body::Body;
use crate::envelope::Envelope;
use ctx_models::cache::{Breakpoints, FIVE_MINUTES, ONE_HOUR};

/// The member that sets a breakpoint. Routers take it from other formats too.
pub const NAME: &[u8] = b"\"cache_control\"";

/// The lifetime in seconds of a request's last breakpoint; none without a breakpoint.
pub fn lifetime(body: &[u8]) -> Option<u64> {
    // A quote inside a text is escaped, so this is a name.
    let at = last_name(body)? + NAME.len();
    let value = body.get(at..)?.split(|&byte| byte == b'}').next()?;
    Some(if memchr::memmem::find(value, b"\"1h\"").is_some() { ONE_HOUR } else { FIVE_MINUTES })
}

/// The place of the last breakpoint. Most clients set one in their newest message; a search backwards is slow, so the
/// rest is searched forwards.
fn last_name(body: &[u8]) -> Option<usize> {
    const NEWEST: usize = 64 * 1024;
    let newest = body.len().saturating_sub(NEWEST);
    let found = memchr::memmem::rfind(body.get(newest..)?, NAME).map(|at| newest + at);
    let before = body.get(..newest + NAME.len()).unwrap_or(body);
    found.or_else(|| memchr::memmem::find_iter(before, NAME).last())
}

/// Whether the tools or the system prompt have a breakpoint.
pub fn marks_around(body: &Body, envelope: &Envelope) -> bool {
    crate::marks::is_head_marked(body, envelope, NAME)
}

/// The cache breakpoints of a request.
pub fn marks(body: &Body, envelope: &Envelope) -> Breakpoints {
    crate::marks::breakpoints(body, envelope, NAME)
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
        assert_eq!(find(&marked, &marked, ""), Breakpoints { head: true, messages: vec![1], ..Breakpoints::default() });
        assert_eq!(
            find(&bare, &bare, &format!(",{mark}")),
            Breakpoints { messages: vec![1], ..Breakpoints::default() }
        );
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
        let padding = " ".repeat(64 * 1024 - 20);
        assert_eq!(lifetime(format!("[{short},{long}{padding}]").as_bytes()), Some(3600), "far from the end");
        assert_eq!(lifetime(format!("[{long},{short}{padding}{padding}]").as_bytes()), Some(300));
    }
}
