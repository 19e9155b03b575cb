//! Parses YAML into values with lines. Supports only what a configuration needs: the first document, no aliases,
//! limited depth. Plain words are read as in YAML 1.2: `on` is a word, `true` is a boolean.

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::tree::{Data, Member, Node, SyntaxError};

/// Deeper nesting is refused.
const DEEPEST: usize = 60;

/// A list or section in progress.
struct OpenNode {
    line: usize,
    items: Vec<Node>,
    is_table: bool,
}

impl OpenNode {
    /// Keys and values alternate in a section.
    fn close(self) -> Node {
        let OpenNode { line, items, is_table } = self;
        if !is_table {
            return Node { line, data: Data::List(items) };
        }
        let mut entries = Vec::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push(Member { line: key.line, key: key.in_words(), value });
        }
        Node { line, data: Data::Table(entries) }
    }
}

/// The first document; `Nothing` if there is none.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut open: Vec<OpenNode> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| SyntaxError { line: error.marker().line(), why: error.info().to_owned() })?;
        let line = span.start.line();
        let done = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if open.len() >= DEEPEST {
                    return Err(SyntaxError { line, why: format!("it is nested more than {DEEPEST} times") });
                }
                let is_table = matches!(event, Event::MappingStart(..));
                open.push(OpenNode { line, items: Vec::new(), is_table });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(closed) => closed.close(),
                None => continue,
            },
            Event::Scalar(text, style, _, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                Node { line, data: if is_text { Data::Text(text.into_owned()) } else { plain(&text) } }
            }
            Event::Alias(_) => Node { line, data: Data::Other("an alias: write the value out") },
            Event::DocumentEnd | Event::StreamEnd => break,
            _ => continue,
        };
        match open.last_mut() {
            Some(outer) => outer.items.push(done),
            None => return Ok(done),
        }
    }
    Ok(Node { line: 1, data: Data::Nothing })
}

/// The value of a word without quotes.
fn plain(text: &str) -> Data {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Data::Nothing,
        "true" | "True" | "TRUE" => return Data::Switch(true),
        "false" | "False" | "FALSE" => return Data::Switch(false),
        _ => {}
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number =
        digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.contains(|c: char| c.is_ascii_digit());
    if let (true, Ok(number)) = (is_number, text.parse()) {
        return Data::Whole(number);
    }
    match text.parse::<f64>() {
        Ok(_) if is_number => Data::Fraction(text.to_owned()),
        _ => Data::Text(text.to_owned()),
    }
}

/// The front matter of a Markdown file: the text between the first two lines of dashes. Preceded by empty lines, so
/// that line numbers are those of the file.
pub fn front_matter(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let mut matter = String::from("\n");
    for line in lines {
        if line.trim_end() == "---" {
            return Some(matter);
        }
        matter.push_str(line);
        matter.push('\n');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_have_their_kind_and_their_line() {
        let node =
            parse("a: 80\nb:\n  - on\n  - \"true\"\n  - true\nc: {d: -1, e: 1.5}\nf:\ng: !!str 7\n").expect("read");
        let at = |key: &str| node.get(key).map(|entry| (entry.line, entry.value.data.clone())).expect(key);
        assert_eq!(at("a"), (1, Data::Whole(80)));
        let (2, Data::List(items)) = at("b") else { panic!("{node:?}") };
        let words = |text: &str| Data::Text(text.into());
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(
            items.into_iter().map(|item| item.data).collect::<Vec<_>>(),
            [words("on"), words("true"), Data::Switch(true)]
        );
        assert_eq!(node.get("c").and_then(|c| c.value.get("d")).map(|d| d.value.data.clone()), Some(Data::Whole(-1)));
        assert_eq!(
            node.get("c").and_then(|c| c.value.get("e")).map(|e| e.value.kind()),
            Some("a number with a fraction")
        );
        assert_eq!((at("f").1, at("g").1), (Data::Nothing, words("7")));
    }

    #[test]
    fn what_is_broken_has_its_line() {
        assert_eq!(parse("a: 1\nb: [1, 2\nc: 3\n").expect_err("refused").line, 3);
        assert!(parse("a: 1\n b: 2\n").is_err());
        let deep = parse(&"[".repeat(200)).expect_err("refused");
        assert!(deep.why.contains("nested"), "{deep:?}");
        assert_eq!(parse("").map(|node| node.data), Ok(Data::Nothing));
    }

    #[test]
    fn an_alias_is_not_followed() {
        let node = parse("a: &x [1, 2]\nb: *x\n").expect("read");
        assert!(node.get("b").is_some_and(|entry| entry.value.kind().contains("alias")));
    }

    #[test]
    fn front_matter_keeps_its_lines() {
        let node = parse(&front_matter("---\nname: x\nk: 3\n---\n# Text\n---\n").expect("matter")).expect("read");
        assert_eq!(node.get("k").map(|entry| entry.line), Some(3));
        assert_eq!(front_matter("# Text\n---\nname: x\n---\n"), None);
        assert_eq!(front_matter("---\nname: x\n"), None);
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_stops_it(text in "([a-c]|[ \n\t\r]|[-:?,\\[\\]{}#&*!|>'\"%@`~<.]|\u{e4}|0|---\n|\\.\\.\\.\n){0,60}") {
            let _ = parse(&text);
            let _ = front_matter(&text).map(|matter| parse(&matter));
        }
    }
}
