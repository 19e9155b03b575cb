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

    /// What stands under a name with dots, and its line.
    pub fn under(&self, name: &str) -> Option<(usize, &Node)> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let entry = self.get(first)?;
        match rest {
            Some(rest) => entry.value.under(rest),
            None => Some((entry.line, &entry.value)),
        }
    }

    pub fn as_json(&self) -> serde_json::Value {
        use serde_json::json;
        match &self.data {
            Data::Text(text) => json!(text),
            Data::Whole(number) => {
                i64::try_from(*number).map_or_else(|_| json!(number.to_string()), |number| json!(number))
            }
            Data::Fraction(number) => number.parse::<f64>().map_or_else(|_| json!(number), |number| json!(number)),
            Data::Switch(switch) => json!(switch),
            Data::List(items) => items.iter().map(Node::as_json).collect(),
            Data::Table(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.as_json())).collect(),
            Data::Nothing => serde_json::Value::Null,
            Data::Other(what) => json!(what),
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
