//! Values with their lines, whatever the language of the file. TOML and YAML become this, and one reader understands it.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::super::file::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: usize,
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Text(String),
    Whole(i128),
    /// With a fraction, as it is written.
    Fraction(String),
    Switch(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
    Nothing,
    /// What no setting can be, in words.
    Other(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub line: usize,
    pub value: Node,
}

impl Node {
    pub fn of_toml(value: &Value<'_>, line: &dyn Fn(Range<usize>) -> usize) -> Node {
        let data = match value.get_ref() {
            DeValue::String(text) => Data::Text(text.to_string()),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                i128::from_str_radix(&digits, number.radix())
                    .map_or(Data::Other("a number that is too large"), Data::Whole)
            }
            DeValue::Float(number) => Data::Fraction(number.as_str().to_owned()),
            DeValue::Boolean(switch) => Data::Switch(*switch),
            DeValue::Datetime(_) => Data::Other("a date"),
            DeValue::Array(items) => Data::List(items.iter().map(|item| Node::of_toml(item, line)).collect()),
            DeValue::Table(table) => Data::Table(entries(table, line)),
        };
        Node { line: line(value.span()), data }
    }

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

    pub fn get(&self, key: &str) -> Option<&Entry> {
        match &self.data {
            Data::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// As it could be written in one line.
    pub fn in_words(&self) -> String {
        match &self.data {
            Data::Text(text) => text.clone(),
            Data::Whole(number) => number.to_string(),
            Data::Fraction(number) => number.clone(),
            Data::Switch(switch) => switch.to_string(),
            Data::List(items) => items.iter().map(Node::in_words).collect::<Vec<_>>().join(", "),
            Data::Table(entries) => {
                let pairs = entries.iter().map(|entry| format!("{} = {}", entry.key, entry.value.in_words()));
                pairs.collect::<Vec<_>>().join(", ")
            }
            Data::Nothing => String::new(),
            Data::Other(what) => (*what).to_owned(),
        }
    }
}

pub fn entries(table: &DeTable<'_>, line: &dyn Fn(Range<usize>) -> usize) -> Vec<Entry> {
    let entry = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &Value<'_>)| Entry {
        key: key.get_ref().to_string(),
        line: line(key.span()),
        value: Node::of_toml(value, line),
    };
    table.iter().map(entry).collect()
}
