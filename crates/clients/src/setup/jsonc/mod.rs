//! JSON as in settings files: possibly with a byte order mark, comments and trailing commas. This module finds
//! positions; [`splice`] changes values and nothing else.

pub mod splice;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use serde_json::Value;

pub const BYTE_ORDER_MARK: char = '\u{feff}';
/// The maximum nesting, so that the parser cannot run out of stack.
const DEEPEST: usize = 128;

/// A value and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub span: Range<usize>,
    /// The members of an object; `None` for everything else.
    pub members: Option<Vec<Member>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: Node,
}

#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub text: &'a str,
    pub root: Node,
    /// The position of the first deviation from strict JSON.
    pub relaxed: Option<Position>,
}

/// Counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

impl Position {
    pub fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let column = line.trim_start_matches(BYTE_ORDER_MARK).chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

/// Why a text cannot be parsed or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {why}")]
pub struct Broken {
    pub position: Position,
    pub why: String,
}

impl Node {
    /// The named member; the last one counts, as for every parser.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members.as_ref()?.iter().rfind(|member| member.key == key)
    }
}

impl<'a> Document<'a> {
    pub fn read(text: &'a str) -> Result<Self, Broken> {
        let mut reader = Reader { text, at: 0, relaxed: None };
        if text.starts_with(BYTE_ORDER_MARK) {
            reader.at = BYTE_ORDER_MARK.len_utf8();
        }
        reader.trivia()?;
        let root = reader.value(0)?;
        reader.trivia()?;
        if reader.at < text.len() {
            return Err(reader.broken("nothing may follow the first value"));
        }
        let relaxed = reader.relaxed.map(|at| Position::of(text, at));
        Ok(Self { text, root, relaxed })
    }

    pub fn raw(&self, node: &Node) -> &'a str {
        self.text.get(node.span.clone()).unwrap_or_default()
    }

    pub fn find(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, key| node.member(key).map(|member| &member.value))
    }

    /// The value at a path. `None` also for a value with comments inside, which `ctx` never writes.
    pub fn get(&self, path: &[String]) -> Option<Value> {
        serde_json::from_str(self.raw(self.find(path)?)).ok()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    relaxed: Option<usize>,
}

impl Reader<'_> {
    fn broken(&self, why: impl Into<String>) -> Broken {
        Broken { position: Position::of(self.text, self.at), why: why.into() }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn trivia(&mut self) -> Result<(), Broken> {
        loop {
            let comment = comment(self.rest()).map_err(|why| self.broken(why))?;
            match (self.peek(), comment) {
                (Some(b' ' | b'\t' | b'\n' | b'\r'), _) => self.at += 1,
                (_, 1..) => {
                    self.relaxed.get_or_insert(self.at);
                    self.at += comment;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Broken> {
        if depth > DEEPEST {
            return Err(self.broken("it is nested too deeply"));
        }
        let start = self.at;
        let members = match self.peek() {
            Some(b'{') => Some(self.object(depth)?),
            Some(b'[') => {
                self.array(depth)?;
                None
            }
            Some(b'"') => {
                self.string()?;
                None
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                None
            }
            _ => {
                let word = ["true", "false", "null"].into_iter().find(|word| self.rest().starts_with(word));
                let Some(word) = word else { return Err(self.broken("a value is missing here")) };
                self.at += word.len();
                None
            }
        };
        Ok(Node { span: start..self.at, members })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Broken> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.trivia()?;
            if self.take(b'}') {
                return Ok(members);
            }
            if self.peek() != Some(b'"') {
                return Err(self.broken("a name in double quotes or `}` is expected here"));
            }
            let key_span = self.string()?;
            // A name with a broken escape never matches; it stays as spelled.
            let quoted = self.text.get(key_span.clone()).unwrap_or_default();
            let key = serde_json::from_str(quoted).unwrap_or_else(|_| quoted.trim_matches('"').to_owned());
            self.trivia()?;
            if !self.take(b':') {
                return Err(self.broken("`:` is expected here"));
            }
            self.trivia()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_span, value });
            if self.next(b'}')? {
                return Ok(members);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Broken> {
        self.at += 1;
        loop {
            self.trivia()?;
            if self.take(b']') {
                return Ok(());
            }
            self.value(depth + 1)?;
            if self.next(b']')? {
                return Ok(());
            }
        }
    }

    /// Whether the end follows an element. Notes a comma before the end.
    fn next(&mut self, end: u8) -> Result<bool, Broken> {
        self.trivia()?;
        let comma = self.at;
        if self.take(b',') {
            self.trivia()?;
            if self.peek() == Some(end) {
                self.relaxed.get_or_insert(comma);
            }
            return Ok(self.take(end));
        }
        if self.take(end) {
            Ok(true)
        } else {
            Err(self.broken(format!("`,` or `{}` is expected here", char::from(end))))
        }
    }

    fn string(&mut self) -> Result<Range<usize>, Broken> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => {
                    let escape = self.text.as_bytes().get(self.at + 1).copied();
                    let hex = || self.text.as_bytes().get(self.at + 2..self.at + 6);
                    self.at += match escape {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') if hex().is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => 6,
                        _ => return Err(self.broken("invalid escape")),
                    };
                }
                Some(0..0x20) => return Err(self.broken("this character must be escaped in a string")),
                Some(_) => self.at += 1,
                None => {
                    self.at = start;
                    return Err(self.broken("this string does not end"));
                }
            }
        }
    }

    fn number(&mut self) -> Result<(), Broken> {
        self.take(b'-');
        let zero = self.take(b'0');
        if !zero && self.digits() == 0 {
            return Err(self.broken("a digit is expected here"));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.broken("a digit is expected here"));
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(self.broken("a digit is expected here"));
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        digits
    }
}

/// The length of the comment at the start of a text, 0 without one. Excludes the end of the line.
fn comment(text: &str) -> Result<usize, &'static str> {
    if text.starts_with("//") {
        return Ok(text.find(['\n', '\r']).unwrap_or(text.len()));
    }
    if let Some(inner) = text.strip_prefix("/*") {
        return inner.find("*/").map(|end| end + 4).ok_or("this comment does not end");
    }
    Ok(0)
}
