//! Values with their lines, parsed from TOML or YAML.

use std::ops::Range;

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: usize,
    pub data: Data,
}

/// The value itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Text(String),
    Whole(i128),
    /// With a fraction, as written.
    Fraction(String),
    Switch(bool),
    List(Vec<Node>),
    Table(Vec<Member>),
    Nothing,
    /// A value that no setting can have, described.
    Other(&'static str),
}

/// A member of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: String,
    pub line: usize,
    pub value: Node,
}

/// Why a text cannot be parsed, and the line. It quotes nothing of the text, which may contain secrets.
#[derive(Debug, PartialEq)]
pub struct SyntaxError {
    pub line: usize,
    pub why: String,
}

/// The text of a file.
pub fn text(bytes: Vec<u8>) -> Result<String, SyntaxError> {
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        SyntaxError { line, why: "it is not UTF-8 text".to_owned() }
    })
}

impl Node {
    /// A document without members.
    pub const EMPTY: Node = Node { line: 1, data: Data::Table(Vec::new()) };

    /// Parses TOML.
    pub fn of_toml(text: &str) -> Result<Node, SyntaxError> {
        let line =
            |span: Range<usize>| text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1;
        let document = DeTable::parse(text).map_err(|error| {
            // Only its first line, because the rest quotes the file.
            let why = error.message().lines().next().unwrap_or("this is not TOML").to_owned();
            SyntaxError { line: error.span().map_or(1, line), why }
        })?;
        Ok(Node { line: 1, data: table(document.get_ref(), &line) })
    }

    /// The kind of the value, in words.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Text(_) => "a text",
            Data::Whole(_) => "a number",
            Data::Fraction(_) => "a number with a fraction",
            Data::Switch(_) => "true or false",
            Data::List(_) => "a list",
            Data::Table(_) => "a section",
            Data::Nothing => "nothing",
            Data::Other(what) => what,
        }
    }

    /// A member of a table.
    pub fn get(&self, key: &str) -> Option<&Member> {
        match &self.data {
            Data::Table(members) => members.iter().find(|member| member.key == key),
            _ => None,
        }
    }

    /// The value under a dotted name.
    pub fn under(&self, name: &str) -> Option<&Node> {
        name.split('.').try_fold(self, |node, key| node.get(key).map(|member| &member.value))
    }

    /// The value as JSON; `null` if no setting can have it.
    pub fn as_json(&self) -> Value {
        match &self.data {
            Data::Text(text) => json!(text),
            Data::Whole(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => json!(number),
                (_, Ok(number)) => json!(number),
                _ => Value::Null,
            },
            Data::Fraction(number) => {
                number.replace('_', "").parse::<f64>().map_or(Value::Null, |number| json!(number))
            }
            Data::Switch(switch) => json!(switch),
            Data::List(items) => items.iter().map(Node::as_json).collect(),
            Data::Table(members) => members.iter().map(|member| (member.key.clone(), member.value.as_json())).collect(),
            Data::Nothing | Data::Other(_) => Value::Null,
        }
    }

    /// The text of a plain value, or the kind of another.
    pub fn in_words(&self) -> String {
        match &self.data {
            Data::Text(text) | Data::Fraction(text) => text.clone(),
            Data::Whole(number) => number.to_string(),
            Data::Switch(switch) => switch.to_string(),
            _ => self.kind().to_owned(),
        }
    }
}

fn node(value: &Spanned<DeValue<'_>>, line: &dyn Fn(Range<usize>) -> usize) -> Node {
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            i128::from_str_radix(&digits, number.radix()).map_or(Data::Other("a number that is too large"), Data::Whole)
        }
        DeValue::Float(number) => Data::Fraction(number.as_str().to_owned()),
        DeValue::Boolean(switch) => Data::Switch(*switch),
        DeValue::Datetime(_) => Data::Other("a date"),
        DeValue::Array(items) => Data::List(items.iter().map(|item| node(item, line)).collect()),
        DeValue::Table(inner) => table(inner, line),
    };
    Node { line: line(value.span()), data }
}

fn table(table: &DeTable<'_>, line: &dyn Fn(Range<usize>) -> usize) -> Data {
    let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Member {
        key: key.get_ref().to_string(),
        line: line(key.span()),
        value: node(value, line),
    };
    Data::Table(table.iter().map(member).collect())
}
