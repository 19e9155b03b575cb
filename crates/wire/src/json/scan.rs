//! A strict, iterative scanner. Depth costs one byte per level on the heap, never stack.

use memchr::memchr2;

/// A byte range in the scanned text.
pub type Span = std::ops::Range<usize>;

/// Why a text is not JSON: a position, and the expected token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}: expected {expected}")]
pub struct Syntax {
    pub at: usize,
    pub expected: &'static str,
}

fn fail<T>(at: usize, expected: &'static str) -> Result<T, Syntax> {
    Err(Syntax { at, expected })
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The span of the value at `at`, after leading white space.
pub fn value(bytes: &[u8], at: usize) -> Result<Span, Syntax> {
    let start = skip_space(bytes, at);
    let end = match bytes.get(start) {
        Some(b'{' | b'[') => container_end(bytes, start)?,
        _ => scalar_end(bytes, start)?,
    };
    Ok(start..end)
}

/// The end of the string that opens at `at`.
fn string_end(bytes: &[u8], at: usize) -> Result<usize, Syntax> {
    let mut from = at + 1;
    loop {
        match bytes.get(from..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            Some(found) if bytes[from + found] == b'"' => return Ok(from + found + 1),
            Some(found) => from += found + 2,
            None => return fail(bytes.len(), "the end of a string"),
        }
    }
}

fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, Syntax> {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first() {
        Some(b'"') => string_end(bytes, at),
        Some(b't') if rest.starts_with(b"true") => Ok(at + 4),
        Some(b'n') if rest.starts_with(b"null") => Ok(at + 4),
        Some(b'f') if rest.starts_with(b"false") => Ok(at + 5),
        Some(b'-' | b'0'..=b'9') => number_end(bytes, at),
        _ => fail(at, "a value"),
    }
}

fn number_end(bytes: &[u8], at: usize) -> Result<usize, Syntax> {
    let digits = |mut i: usize| -> Result<usize, Syntax> {
        let first = i;
        while bytes.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        if i == first { fail(i, "a digit") } else { Ok(i) }
    };
    let mut i = digits(at + usize::from(bytes[at] == b'-'))?;
    if bytes.get(i) == Some(&b'.') {
        i = digits(i + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(i) {
        i += 1;
        if let Some(b'+' | b'-') = bytes.get(i) {
            i += 1;
        }
        i = digits(i)?;
    }
    Ok(i)
}

/// The end of the object or array that opens at `start`.
fn container_end(bytes: &[u8], start: usize) -> Result<usize, Syntax> {
    let mut open = vec![bytes[start]];
    let mut at = start + 1;
    let mut fresh = true; // nothing stands in the innermost container yet
    while let Some(&kind) = open.last() {
        at = skip_space(bytes, at);
        let close = if kind == b'{' { b'}' } else { b']' };
        match bytes.get(at) {
            Some(&byte) if byte == close => {
                open.pop();
                at += 1;
                fresh = false;
                continue;
            }
            Some(b',') if !fresh => at = skip_space(bytes, at + 1),
            Some(_) if fresh => {}
            _ => return fail(at, "a comma or the end of an object or array"),
        }
        if kind == b'{' {
            at = key_end(bytes, at)?.1;
        }
        match bytes.get(at) {
            Some(&byte @ (b'{' | b'[')) => {
                open.push(byte);
                at += 1;
                fresh = true;
            }
            _ => {
                at = scalar_end(bytes, at)?;
                fresh = false;
            }
        }
    }
    Ok(at)
}

/// From the quote of a key: the key's span without quotes, and the start of its value.
fn key_end(bytes: &[u8], at: usize) -> Result<(Span, usize), Syntax> {
    if bytes.get(at) != Some(&b'"') {
        return fail(at, "a key");
    }
    let end = string_end(bytes, at)?;
    let colon = skip_space(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return fail(colon, "a colon");
    }
    Ok((at + 1..end - 1, skip_space(bytes, colon + 1)))
}

/// One member of an object: the whole of it, its key without quotes, its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub key: Span,
    pub value: Span,
}

impl Member {
    /// From the opening quote of the key to the end of the value.
    pub fn whole(&self) -> Span {
        self.key.start - 1..self.value.end
    }
}

/// Walks the members of an object. Stops at the first syntax error.
pub struct Members<'a>(Items<'a>);

/// Walks the elements of an array. Stops at the first syntax error.
pub struct Elements<'a>(Items<'a>);

struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
    close: u8,
    fresh: bool,
    done: bool,
}

/// The members of the object that opens at `at`; `None` if none does.
pub fn members(bytes: &[u8], at: usize) -> Option<Members<'_>> {
    Items::open(bytes, at, b'{', b'}').map(Members)
}

/// The elements of the array that opens at `at`; `None` if none does.
pub fn elements(bytes: &[u8], at: usize) -> Option<Elements<'_>> {
    Items::open(bytes, at, b'[', b']').map(Elements)
}

impl<'a> Items<'a> {
    fn open(bytes: &'a [u8], at: usize, open: u8, close: u8) -> Option<Self> {
        let at = skip_space(bytes, at);
        (bytes.get(at) == Some(&open)).then_some(Items { bytes, at: at + 1, close, fresh: true, done: false })
    }

    /// Moves to the next item; `None` at the end of the container.
    fn next_start(&mut self) -> Option<Result<usize, Syntax>> {
        if self.done {
            return None;
        }
        self.at = skip_space(self.bytes, self.at);
        match self.bytes.get(self.at) {
            Some(&byte) if byte == self.close => {
                self.at += 1;
                self.done = true;
                None
            }
            Some(b',') if !self.fresh => {
                self.at = skip_space(self.bytes, self.at + 1);
                Some(Ok(self.at))
            }
            Some(_) if self.fresh => {
                self.fresh = false;
                Some(Ok(self.at))
            }
            _ => Some(self.stop(Syntax { at: self.at, expected: "a comma or the end of an object or array" })),
        }
    }

    fn stop<T>(&mut self, error: Syntax) -> Result<T, Syntax> {
        self.done = true;
        Err(error)
    }

    fn value(&mut self, at: usize) -> Result<Span, Syntax> {
        match value(self.bytes, at) {
            Ok(span) => {
                self.at = span.end;
                Ok(span)
            }
            Err(error) => self.stop(error),
        }
    }
}

impl<'a> Elements<'a> {
    /// Continues in an array, with `at` just behind an element.
    pub fn resume(bytes: &'a [u8], at: usize) -> Self {
        Elements(Items { bytes, at, close: b']', fresh: false, done: false })
    }

    /// The current position; behind the closing bracket after `None`.
    pub fn position(&self) -> usize {
        self.0.at
    }
}

impl<'a> Members<'a> {
    /// Continues in an object, with `at` just behind a member.
    pub fn resume(bytes: &'a [u8], at: usize) -> Self {
        Members(Items { bytes, at, close: b'}', fresh: false, done: false })
    }

    /// The current position; behind the closing brace after `None`.
    pub fn position(&self) -> usize {
        self.0.at
    }

    /// The next key; its value is not scanned yet. The caller reports its end with [`Self::past`].
    pub fn next_key(&mut self) -> Option<Result<(Span, usize), Syntax>> {
        let start = match self.0.next_start()? {
            Ok(start) => start,
            Err(error) => return Some(Err(error)),
        };
        match key_end(self.0.bytes, start) {
            Ok(found) => Some(Ok(found)),
            Err(error) => Some(self.0.stop(error)),
        }
    }

    /// Continues behind a value that the caller has scanned.
    pub fn past(&mut self, end: usize) {
        self.0.at = end;
    }
}

impl Iterator for Elements<'_> {
    type Item = Result<Span, Syntax>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.next_start()? {
            Ok(start) => Some(self.0.value(start)),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member, Syntax>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_key()? {
            Ok((key, start)) => Some(self.0.value(start).map(|value| Member { key, value })),
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(text: &str) -> bool {
        let bytes = text.as_bytes();
        value(bytes, 0).is_ok_and(|span| skip_space(bytes, span.end) == bytes.len())
    }

    #[test]
    fn agrees_with_a_full_parser_on_what_is_json() {
        for text in [
            "{}",
            "[]",
            " [ ] ",
            "[1,2]",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"a\" : [ {} , null ] }",
            "{a:1}",
            "[1 2]",
            "\"\\\"\"",
            "\"\\\\\"",
            "\"open",
            "-",
            "-1.5e+10",
            "1.",
            "1e",
            ".5",
            "tru",
            "true",
            "nul",
            "{\"a\":}",
            "{\"a\"1}",
            "[[[]]",
            "[}",
            "{]",
            "",
            "12345678901234567890123",
            "{\"a\":1 \"b\":2}",
            "[\"a\" , \"b\"\n]",
        ] {
            assert_eq!(is_json(text), serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_million_levels_do_not_overflow_the_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(is_json(&deep));
        assert!(!is_json(&"[".repeat(1_000_000)));
    }

    #[test]
    fn an_error_says_where_and_what() {
        assert_eq!(value(b"{\"a\" 1}", 0), Err(Syntax { at: 5, expected: "a colon" }));
        assert_eq!(value(b"[\"abc", 0).unwrap_err().at, 5);
    }
}
