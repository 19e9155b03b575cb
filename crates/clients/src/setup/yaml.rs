//! YAML settings: keys of a root that is a block mapping, one line each. Everything else stays unchanged.

use std::ops::Range;

use saphyr_parser::{Event, Parser};
use serde_json::Value;

use super::jsonc::splice::Draft;
use super::jsonc::{Broken, Position};
use super::line;
use super::syntax::Entry;

/// A key of the root and its value.
struct Member {
    key: String,
    key_span: Range<usize>,
    /// `None` for a value of several lines or of another kind.
    value: Option<(Value, Range<usize>)>,
}

/// Finds a key of the root.
pub fn find(text: &str, path: &[String]) -> Result<Option<Entry>, Broken> {
    let Some(member) = member(text, path)? else { return Ok(None) };
    let Some((value, span)) = member.value else { return Ok(Some(Entry { value: None, raw: String::new() })) };
    Ok(Some(Entry { value: Some(value), raw: text.get(span).unwrap_or_default().to_owned() }))
}

/// Sets a key of the root, in its line or in a new last one.
pub fn set(draft: &mut Draft, path: &[String], value: &Value) -> Result<(), Broken> {
    let text = draft.text.clone();
    let line = format!("{}: {}", path.concat(), written(value));
    match member(&text, path)? {
        Some(Member { value: Some((_, span)), .. }) => draft.replace(span, &written(value)),
        Some(Member { key_span, .. }) => {
            let why = format!("ctx cannot change this value; add `{line}` yourself and keep the existing content");
            return Err(Broken { position: Position::of(&text, key_span.start), why });
        }
        None => line::insert(draft, text.len(), &line),
    }
    match find(&draft.text, path)?.and_then(|entry| entry.value) {
        Some(now) if now == *value => Ok(()),
        _ => Err(Broken { position: Position::of(&text, 0), why: format!("`{line}` cannot be added to this file") }),
    }
}

/// Replaces the value of a key with these bytes.
pub fn put_back(draft: &mut Draft, path: &[String], raw: &str) -> Result<(), Broken> {
    if let Some(Member { value: Some((_, span)), .. }) = member(&draft.text, path)? {
        draft.replace(span, raw);
    }
    Ok(())
}

/// Removes a key with its line.
pub fn remove(draft: &mut Draft, path: &[String]) -> Result<(), Broken> {
    if let Some(Member { key_span, .. }) = member(&draft.text, path)? {
        line::remove(draft, key_span.start..key_span.start);
    }
    Ok(())
}

fn member(text: &str, path: &[String]) -> Result<Option<Member>, Broken> {
    Ok(members(text)?.into_iter().rfind(|member| path.len() == 1 && path.contains(&member.key)))
}

/// The members of the root.
fn members(text: &str) -> Result<Vec<Member>, Broken> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let byte = |index: usize| places.get(index).copied().unwrap_or(text.len());
    let mut reader = Reader { text, ..Reader::default() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| reader.broken(byte(error.marker().index()), error.info()))?;
        let span = byte(span.start.index())..byte(span.end.index());
        match reader.depth {
            0 => reader.root(&event, &span)?,
            _ => reader.inside(event, span),
        }
    }
    Ok(reader.members)
}

/// Reads the members of the root. A value is a text or a list of texts; anything else is ignored.
#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    members: Vec<Member>,
    /// 1 in the root, more in its values.
    depth: usize,
    documents: usize,
    key: Option<(String, Range<usize>)>,
    /// A list in progress, and its start.
    list: Option<(Vec<Value>, usize)>,
}

impl Reader<'_> {
    fn broken(&self, at: usize, why: &str) -> Broken {
        Broken { position: Position::of(self.text, at), why: why.to_owned() }
    }

    /// Whether a range is not empty and within one line.
    fn is_in_line(&self, span: &Range<usize>) -> bool {
        self.text.get(span.clone()).is_some_and(|raw| !raw.contains('\n') && !raw.is_empty())
    }

    fn root(&mut self, event: &Event<'_>, span: &Range<usize>) -> Result<(), Broken> {
        let is_flow = self.text.get(span.start..).is_some_and(|rest| rest.starts_with('{'));
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.broken(span.start, "it contains more than one document"));
                }
            }
            Event::MappingStart(..) if !is_flow => self.depth = 1,
            Event::Scalar(text, ..) if text.is_empty() || text == "~" => {}
            Event::SequenceStart(..) | Event::MappingStart(..) | Event::Scalar(..) | Event::Alias(_) => {
                return Err(self.broken(span.start, "it is not a mapping of `name: value` lines"));
            }
            _ => {}
        }
        Ok(())
    }

    fn inside(&mut self, event: Event<'_>, span: Range<usize>) {
        match event {
            Event::SequenceStart(..) => {
                self.depth += 1;
                self.list = (self.depth == 2).then(|| (Vec::new(), span.start));
            }
            Event::MappingStart(..) => {
                self.depth += 1;
                self.list = None;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.depth -= 1;
                let list = self.list.take().map(|(items, start)| (Value::Array(items), start..span.end));
                let is_flow = |span: &Range<usize>| self.text.get(span.start..).is_some_and(|raw| raw.starts_with('['));
                let list = list.filter(|(_, span)| is_flow(span) && self.is_in_line(span));
                if self.depth == 1 {
                    self.value(list);
                }
            }
            Event::Scalar(text, ..) if self.depth == 1 && self.key.is_none() => self.key = Some((text.into(), span)),
            Event::Scalar(text, ..) if self.depth == 1 => {
                let span = span.start..span.start + scalar(self.text.get(span).unwrap_or_default()).len();
                let value = self.is_in_line(&span).then(|| (Value::from(text.into_owned()), span));
                self.value(value);
            }
            Event::Scalar(text, ..) if self.depth == 2 => {
                self.list.iter_mut().for_each(|(items, _)| items.push(text.as_ref().into()));
            }
            Event::Alias(_) if self.depth == 1 => self.value(None),
            _ => {}
        }
    }

    fn value(&mut self, value: Option<(Value, Range<usize>)>) {
        if let Some((key, key_span)) = self.key.take() {
            self.members.push(Member { key, key_span, value });
        }
    }
}

/// The scalar at the start of a text. The parser's range of a quoted one may include a trailing comment.
fn scalar(text: &str) -> &str {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let Some(quote) = quote else { return text.split(" #").next().unwrap_or(text).trim_end() };
    let mut is_escaped = false;
    let mut end = text.len();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if is_escaped {
            is_escaped = false;
        } else if letter == quote {
            match letters.peek() {
                Some((_, next)) if quote == '\'' && *next == quote => is_escaped = true,
                _ => {
                    end = at + 1;
                    break;
                }
            }
        } else {
            is_escaped = quote == '"' && letter == '\\';
        }
    }
    text.get(..end).unwrap_or(text)
}

/// A value in YAML: an address as it is, everything else as JSON, which YAML accepts too.
fn written(value: &Value) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | ':');
    match value {
        Value::String(text) if text.starts_with("http") && text.chars().all(is_plain) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::jsonc::splice::take_back;
    use super::*;
    use proptest::prelude::*;

    fn path(name: &str) -> [String; 1] {
        [name.to_owned()]
    }

    #[test]
    fn a_key_is_added_replaced_and_removed_and_nothing_else_changes() {
        for (text, with) in [
            ("", "U: http://h:1/v1\n"),
            ("# only this\n", "# only this\nU: http://h:1/v1\n"),
            ("a: 1\nb:\n  - c: |\n      text\n", "a: 1\nb:\n  - c: |\n      text\nU: http://h:1/v1\n"),
            ("U: \"a\\\"b\" # \"\n", "U: http://h:1/v1 # \"\n"),
            ("U: 'it''s' # 'x'\nb: 1\n", "U: http://h:1/v1 # 'x'\nb: 1\n"),
            ("---\r\nä: ö\r\nU: 'http://x' # mine\r\nz: {U: 2}", "---\r\nä: ö\r\nU: http://h:1/v1 # mine\r\nz: {U: 2}"),
        ] {
            let mut draft = Draft::of(text);
            set(&mut draft, &path("U"), &"http://h:1/v1".into()).expect(text);
            assert_eq!(draft.text, with);
            assert_eq!(take_back(&draft.text, &draft.steps).as_deref(), Some(text));
            remove(&mut draft, &path("U")).expect("removed");
            assert!(find(&draft.text, &path("U")).expect("read").is_none(), "{}", draft.text);
        }
    }

    #[test]
    fn a_list_in_one_line_is_a_value_and_a_longer_one_is_left_alone() {
        let list = serde_json::json!(["A=http://h"]);
        let mut draft = Draft::of("a: 1\n");
        set(&mut draft, &path("set-env"), &list).expect("set");
        assert_eq!(draft.text, "a: 1\nset-env: [\"A=http://h\"]\n");
        assert_eq!(
            find(&draft.text, &path("set-env")).expect("read").and_then(|entry| entry.value),
            Some(list.clone())
        );
        let mut draft = Draft::of("a: 1\nset-env:\n  - B=2\n");
        let why = set(&mut draft, &path("set-env"), &list).expect_err("refused").to_string();
        assert!(why.starts_with("line 2, column 1: ") && why.contains("`set-env: [\"A=http://h\"]`"), "{why}");
    }

    #[test]
    fn other_roots_and_broken_files_are_refused() {
        for (text, line) in
            [("- a\n", 1), ("{a: 1}\n", 1), ("word\n", 1), ("a: 1\n---\nb: 2\n", 2), ("a: [1\nb: 2\n", 2)]
        {
            let refused = set(&mut Draft::of(text), &path("U"), &"http://h".into()).expect_err(text);
            assert_eq!(refused.position.line, line, "{text:?}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_refused_or_taken_back_exactly(text in "([a-c]|[ \n\r]|[-:,\\[\\]{}#|>'\"]|U: |\u{e4}|---\n){0,40}") {
            let mut draft = Draft::of(&text);
            if set(&mut draft, &path("U"), &"http://h".into()).is_ok() {
                prop_assert_eq!(take_back(&draft.text, &draft.steps), Some(text));
            }
        }
    }
}
