//! Changes a settings file without touching any other byte, and reverses the changes.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BYTE_ORDER_MARK, Broken, Document, Node, Position, comment};

/// Reverses one change: the original bytes of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    start: usize,
    len: usize,
    original: String,
}

/// A text being changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// The changes so far, newest last.
    pub steps: Vec<Step>,
}

/// Reverses changes, newest first. `None` if they do not fit this text.
pub fn take_back(text: &str, steps: &[Step]) -> Option<String> {
    let mut text = text.to_owned();
    for step in steps.iter().rev() {
        let span = step.start..step.start.checked_add(step.len)?;
        text.get(span.clone())?;
        text.replace_range(span, &step.original);
    }
    Some(text)
}

impl Draft {
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), steps: Vec::new() }
    }

    pub fn replace(&mut self, span: Range<usize>, new: &str) {
        let Some(original) = self.text.get(span.clone()) else { return };
        self.steps.push(Step { start: span.start, len: new.len(), original: original.to_owned() });
        self.text.replace_range(span, new);
    }

    /// Sets the value at a path and creates missing objects. Returns the outermost created one, if any.
    pub fn set(&mut self, path: &[String], value: &Value) -> Result<Option<Vec<String>>, Broken> {
        if self.text.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty() {
            // An empty file has nothing to lose.
            let start = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
            self.replace(start..self.text.len(), "{}\n");
        }
        let text = self.text.clone();
        let document = Document::read(&text)?;
        let mut node = &document.root;
        for (depth, key) in path.iter().enumerate() {
            if node.members.is_none() {
                let name = path.get(..depth).unwrap_or_default().join(".");
                let name = if name.is_empty() { "the whole".to_owned() } else { format!("`{name}`") };
                let position = Position::of(&text, node.span.start);
                return Err(Broken { position, why: format!("{name} is not an object") });
            }
            let Some(member) = node.member(key) else {
                // The rest of the path is created in one step.
                let rest = path.get(depth + 1..).unwrap_or_default();
                let wrap = |inner: Value, key: &String| Value::Object([(key.clone(), inner)].into_iter().collect());
                let whole = rest.iter().rev().fold(value.clone(), wrap);
                self.insert(&document, node, key, &whole);
                let made = path.get(..=depth).filter(|made| made.len() < path.len());
                return Ok(made.map(<[String]>::to_vec));
            };
            node = &member.value;
        }
        if document.get(path).as_ref() != Some(value) {
            let manner = Manner::of(&document);
            let new = manner.written(value, &indent_of_line(&text, node.span.start), manner.is_long);
            self.replace(node.span.clone(), &new);
        }
        Ok(None)
    }

    /// Replaces the value at a path with these bytes.
    pub fn put_back(&mut self, path: &[String], raw: &str) -> Result<(), Broken> {
        let text = self.text.clone();
        if let Some(node) = Document::read(&text)?.find(path) {
            self.replace(node.span.clone(), raw);
        }
        Ok(())
    }

    /// Inserts a member behind the last one.
    fn insert(&mut self, document: &Document, object: &Node, key: &str, value: &Value) {
        let text = document.text;
        let members = object.members.as_deref().unwrap_or_default();
        let close = object.span.end - 1;
        let manner = Manner::of(document);
        let behind_last = members.last().map_or(object.span.start + 1, |last| last.value.span.end);
        let comma = comma_behind(text, behind_last).filter(|_| !members.is_empty());
        // Comments behind the last member stay with it.
        let place = end_of_comments(text, comma.map_or(behind_last, |comma| comma + 1), close);
        let in_line_comment =
            text.get(place..close).is_some_and(|rest| rest.trim_start_matches(' ').starts_with(['\n', '\r']))
                && place > comma.map_or(behind_last, |comma| comma + 1);
        let first_line =
            members.first().map(|first| text.get(object.span.start..first.key_span.start).unwrap_or_default());
        let is_long = in_line_comment || first_line.map_or(manner.is_long, |before| before.contains('\n'));
        let outer = indent_of_line(text, object.span.start);
        let inner = match members.first().filter(|_| first_line.is_some_and(|before| before.contains('\n'))) {
            Some(first) => indent_of_line(text, first.key_span.start),
            None => format!("{outer}{}", manner.unit),
        };
        let name = Value::String(key.to_owned());
        let colon = if manner.is_long || manner.is_airy { ": " } else { ":" };
        let member = format!("{name}{colon}{}", manner.written(value, &inner, is_long));
        let end = if comma.is_some() { "," } else { "" };
        let newline = manner.newline;
        let rest = text.get(place..close).unwrap_or_default();
        let (span, new) = match is_long {
            true if rest.contains('\n') => (place..place, format!("{newline}{inner}{member}{end}")),
            true => (place..close, format!("{newline}{inner}{member}{end}{newline}{outer}")),
            false if members.is_empty() && place == object.span.start + 1 => (place..place, format!("{member}{end}")),
            false => (place..place, format!("{}{member}{end}", if manner.is_airy { " " } else { "" })),
        };
        self.replace(span, &new);
        if comma.is_none() && !members.is_empty() {
            self.replace(behind_last..behind_last, ",");
        }
    }

    /// Removes a member, with its comma and its line. Comments around it stay.
    pub fn remove(&mut self, path: &[String]) -> Result<(), Broken> {
        let text = self.text.clone();
        let document = Document::read(&text)?;
        let Some((key, parents)) = path.split_last() else { return Ok(()) };
        let Some(object) = document.find(parents) else { return Ok(()) };
        let members = object.members.as_deref().unwrap_or_default();
        let Some(index) = members.iter().rposition(|member| member.key == *key) else { return Ok(()) };
        let Some(member) = members.get(index) else { return Ok(()) };
        let own = member.key_span.start..member.value.span.end;
        let next_comma = comma_behind(&text, own.end);
        let before = text.get(..own.start).unwrap_or_default();
        let behind = text.get(own.end..object.span.end - 1).unwrap_or_default();
        let ahead = text.get(object.span.start + 1..own.start).unwrap_or_default();
        let is_blank = |text: &str| text.chars().all(|letter| letter.is_whitespace() || letter == ',');
        if members.len() == 1 && is_blank(ahead) && is_blank(behind) {
            self.replace(object.span.start + 1..object.span.end - 1, "");
            return Ok(());
        }
        let close_comma = next_comma.filter(|comma| text.get(own.end..*comma).is_some_and(is_blank));
        let end = close_comma.map_or(own.end, |comma| comma + 1);
        let (start, end) = around(before, text.get(end..).unwrap_or_default(), end);
        if let (Some(comma), None) = (next_comma, close_comma) {
            self.replace(comma..comma + 1, "");
        }
        self.replace(start..end, "");
        // Removing the last member leaves the comma of the previous one.
        let is_last = index + 1 == members.len();
        let previous = index.checked_sub(1).and_then(|index| members.get(index));
        if let (true, None, Some(previous)) = (is_last, next_comma, previous)
            && let Some(comma) = comma_behind(&text, previous.value.span.end)
        {
            self.replace(comma..comma + 1, "");
        }
        Ok(())
    }
}

/// The formatting of this file.
struct Manner {
    newline: &'static str,
    unit: String,
    /// One member per line.
    is_long: bool,
    /// A space after colons and commas.
    is_airy: bool,
}

impl Manner {
    fn of(document: &Document) -> Self {
        let text = document.text;
        let newline = match text.find('\n') {
            Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
            _ => "\n",
        };
        let first = document.root.members.as_deref().unwrap_or_default().first();
        let before = |start| text.get(document.root.span.start..start).unwrap_or_default();
        let is_long = first.is_none_or(|first| before(first.key_span.start).contains('\n'));
        let unit = first.filter(|_| is_long).map(|first| indent_of_line(text, first.key_span.start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or_else(|| "  ".to_owned());
        let is_airy = first.is_none_or(|first| text.get(first.key_span.end..first.value.span.start) != Some(":"));
        Self { newline, unit, is_long, is_airy }
    }

    fn written(&self, value: &Value, indent: &str, is_long: bool) -> String {
        if !is_long {
            return value.to_string();
        }
        let mut written = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut written, formatter);
        if value.serialize(&mut serializer).is_err() {
            return value.to_string();
        }
        String::from_utf8_lossy(&written).replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The indentation of the line at this position.
fn indent_of_line(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let line = line.trim_start_matches(BYTE_ORDER_MARK);
    line.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect()
}

/// The position of the following comma, past white space and comments.
fn comma_behind(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        match rest.bytes().next()? {
            b',' => return Some(at),
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => match comment(rest) {
                Ok(length @ 1..) => at += length,
                _ => return None,
            },
        }
    }
}

/// The end of the last comment in the range, or `from` without one.
fn end_of_comments(text: &str, from: usize, to: usize) -> usize {
    let (mut at, mut end) = (from, from);
    while at < to {
        match comment(text.get(at..to).unwrap_or_default()) {
            Ok(length @ 1..) => {
                at += length;
                end = at;
            }
            _ => at += 1,
        }
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    end
}

/// The white space to remove with a member: its own line, or the spaces on one side. Keeps a line break if something
/// follows on the line, which a comment above would swallow.
fn around(before: &str, behind: &str, end: usize) -> (usize, usize) {
    let spaces = before.len() - before.trim_end_matches([' ', '\t']).len();
    let start = before.len() - spaces;
    let above = before.get(..start).unwrap_or_default();
    let gap = behind.len() - behind.trim_start_matches([' ', '\t']).len();
    let is_line_end = behind.get(gap..).is_some_and(|rest| rest.starts_with(['\n', '\r']));
    let is_line_start = above.is_empty() || above.ends_with(['\n', '\r']);
    match (is_line_start, is_line_end) {
        (true, true) if above.ends_with("\r\n") => (start - 2, end),
        (true, true) => (start.saturating_sub(1), end),
        (false, _) if spaces > 0 => (start, end),
        _ => (before.len(), end + gap),
    }
}
