//! The provider's cache: how long it keeps what a request marks.

const NAME: &[u8] = b"\"cache_control\"";

/// Seconds that the last mark of a request asks for; none where nothing is marked.
pub fn lifetime(body: &[u8]) -> Option<u64> {
    // A quote inside a text is escaped, so this is a name.
    let at = memchr::memmem::rfind(body, NAME)? + NAME.len();
    let value = body.get(at..)?.split(|&byte| byte == b'}').next()?;
    Some(if memchr::memmem::find(value, b"\"1h\"").is_some() { 3600 } else { 300 })
}

#[cfg(test)]
mod tests {
    use super::*;

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
