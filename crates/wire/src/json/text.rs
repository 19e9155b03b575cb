//! Decodes JSON strings.

use super::scan::{Member, Span};
use std::borrow::Cow;

/// Decodes a string without its quotes. Never fails: invalid parts (a lone surrogate, a broken escape, bytes that are
/// not UTF-8) become U+FFFD.
pub fn decode(raw: &[u8]) -> Cow<'_, str> {
    match memchr::memchr(b'\\', raw) {
        None => lossy(raw),
        Some(first) => Cow::Owned(unescape(raw, first)),
    }
}

/// Validating a long text as a whole is many times faster than searching for errors in it.
fn lossy(raw: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed)
}

/// The text of the string at `span`, which includes the quotes; `None` if it is not a string.
pub fn string_value(bytes: &[u8], span: Span) -> Option<Cow<'_, str>> {
    let raw = bytes.get(span)?;
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(decode(inner))
}

/// The key of a member.
pub fn key<'a>(bytes: &'a [u8], member: &Member) -> Cow<'a, str> {
    decode(bytes.get(member.key.clone()).unwrap_or_default())
}

/// Whether a raw key (without quotes) spells `name`, considering escapes.
pub fn key_is(raw: &[u8], name: &str) -> bool {
    raw == name.as_bytes() || (raw.contains(&b'\\') && decode(raw) == name)
}

fn unescape(raw: &[u8], first: usize) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&lossy(&rest[..at]));
        let (text, used) = escape(&rest[at..]);
        out.push(text);
        rest = &rest[at + used..];
        next = memchr::memchr(b'\\', rest);
    }
    out.push_str(&lossy(rest));
    out
}

/// The character of the escape at the start of `rest`, and its length.
fn escape(rest: &[u8]) -> (char, usize) {
    let simple = match rest.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'u') => return unicode(rest),
        Some(_) => return (char::REPLACEMENT_CHARACTER, 2),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn unicode(rest: &[u8]) -> (char, usize) {
    let unit = |at: usize| -> Option<u32> {
        let digits = std::str::from_utf8(rest.get(at..at + 4)?).ok()?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let Some(high) = unit(2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if (0xD800..0xDC00).contains(&high)
        && rest.get(6..8) == Some(b"\\u")
        && let Some(low @ 0xDC00..0xE000) = unit(8)
    {
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decodes_what_a_full_parser_decodes(text in any::<String>(), ascii in any::<bool>()) {
            let spelled = if ascii {
                let mut s = String::new();
                for unit in text.encode_utf16() { s += &format!("\\u{unit:04x}"); }
                s
            } else {
                let quoted = serde_json::to_string(&text).unwrap();
                quoted[1..quoted.len() - 1].to_owned()
            };
            prop_assert_eq!(decode(spelled.as_bytes()), text);
        }

        #[test]
        fn never_panics_on_any_bytes(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
            decode(&raw);
        }
    }

    #[test]
    fn a_lone_surrogate_becomes_a_replacement_character() {
        assert_eq!(decode(b"a\\ud83dz"), "a\u{FFFD}z");
        assert_eq!(decode(b"\\ud83d\\ude00"), "\u{1F600}");
        assert_eq!(decode(b"\\"), "\u{FFFD}");
    }
}
