//! Checks a value against the schema of its key, and describes errors. Only the keywords that the sections use are
//! supported.

use ctx_core::edit::refusal::nearest;
use serde_json::Value;

use crate::tree::{Data, Node};

/// Whether a schema describes a section rather than a value.
pub fn is_section(schema: &Value) -> bool {
    schema["properties"].is_object() || chosen(schema).is_some()
}

/// The schema of members with user-defined names.
pub fn chosen(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|inner| inner.is_object())
}

/// Whether a value is allowed.
pub fn fits(schema: &Value, value: &Value) -> bool {
    let list = |name: &str| schema[name].as_array();
    let limit = |name: &str| schema[name].as_f64();
    let in_range =
        |number: f64| number >= limit("minimum").unwrap_or(f64::MIN) && number <= limit("maximum").unwrap_or(f64::MAX);
    if let Some(ways) = list("anyOf") {
        return ways.iter().any(|way| fits(way, value));
    }
    if let Some(values) = list("enum") {
        return values.contains(value);
    }
    match (schema["type"].as_str(), value) {
        (None, value) => schema["const"] == *value,
        (Some("boolean"), Value::Bool(_)) => true,
        (Some("integer"), Value::Number(number)) => number.is_u64() && number.as_f64().is_some_and(in_range),
        (Some("number"), Value::Number(number)) => number.as_f64().is_some_and(in_range),
        (Some("string"), Value::String(text)) => {
            let least = limit("minLength").is_none_or(|least| text.trim().len() as f64 >= least);
            let most = limit("maxLength").is_none_or(|most| text.len() as f64 <= most && !text.contains('\0'));
            least && most && (schema["pattern"].is_null() || is_share(text))
        }
        (Some("array"), Value::Array(items)) => items.iter().all(|item| fits(&schema["items"], item)),
        (Some("object"), Value::Object(members)) => {
            let required = list("required").map_or(0, Vec::len);
            let fits = |(name, value): (&String, &Value)| fits(&schema["properties"][name], value);
            members.len() == required && members.iter().all(fits)
        }
        _ => false,
    }
}

/// The only pattern of the sections: `"60%"`.
fn is_share(text: &str) -> bool {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<u64>().ok());
    number.is_some_and(|percent| (1..=100).contains(&percent))
}

/// Describes a value that does not fit: the line, and the end of a sentence about the key.
pub fn complaint(schema: &Value, node: &Node) -> (usize, String) {
    let items = match &node.data {
        Data::List(items) if schema["items"].is_object() => items.as_slice(),
        _ => &[],
    };
    let wrong_item = items.iter().find(|item| !fits(&schema["items"], &item.as_json()));
    let (at, inner) = wrong_item.map_or((node, schema), |item| (item, &schema["items"]));
    let words = match (&at.data, inner["enum"].as_array()) {
        (Data::Text(text), Some(values)) => {
            let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!("cannot be `{text}`{}; allowed: {}", did_you_mean(text, "", &names), names.join(", "))
        }
        _ if schema["anyOf"].is_array() => format!("must be {}", expected(schema)),
        (Data::Text(_), None) if inner["type"] == "string" => {
            let what = if wrong_item.is_some() { expected(schema) } else { "a text".to_owned() };
            match &inner["maxLength"] {
                Value::Number(most) => format!("must be {what} of {} to {most} bytes", inner["minLength"]),
                _ => format!("must be {what}; one is empty"),
            }
        }
        _ => format!("must be {}, not {}", expected(schema), found(inner, at)),
    };
    (at.line, words)
}

/// The allowed values of a key, in words.
pub fn expected(schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    let names = |schema: &Value| -> Option<String> {
        let values = schema["enum"].as_array()?;
        Some(values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
    };
    let range = match (&schema["minimum"], &schema["maximum"]) {
        (least, Value::Number(most)) => format!(" from {least} to {most}"),
        _ => String::new(),
    };
    match (schema["type"].as_str(), names(schema), names(&schema["items"])) {
        (_, Some(names), _) => format!("one of {names}"),
        (_, _, Some(names)) => format!("a list of {names}"),
        (Some("boolean"), ..) => "true or false".to_owned(),
        (Some("integer"), ..) => format!("a whole number{range}"),
        (Some("number"), ..) => format!("a number{range}"),
        (Some("array"), ..) => "a list of names".to_owned(),
        (Some("string"), ..) => "a text in quotes".to_owned(),
        _ => "a section".to_owned(),
    }
}

/// The kind of a value; shows the value only for numbers where a number belongs, because other values may be secrets.
fn found(schema: &Value, node: &Node) -> String {
    match &node.data {
        Data::Whole(_) | Data::Fraction(_) if schema["type"] == "integer" || schema["type"] == "number" => {
            node.in_words()
        }
        _ => node.kind().to_owned(),
    }
}

/// A suggestion for a misspelt name, prefixed with `section`.
pub fn did_you_mean(name: &str, section: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    near.first().map(|near| format!(" (did you mean `{section}{near}`?)")).unwrap_or_default()
}
