//! The keys of `ctx.toml` as a JSON Schema.

use serde_json::{Map, Value, json};

use super::context_editing::provider::{MOST_ITEMS, MOST_TOKENS};
use super::keys::{Key, Shape, all};

/// For editors.
pub fn schema() -> Value {
    let keys = all();
    let named: Vec<(Vec<&str>, &Key)> = keys.iter().map(|key| (key.name.split('.').collect(), key)).collect();
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".to_owned(), json!("ctx.toml, the settings of Context Composer"));
    schema.extend(section(named));
    Value::Object(schema)
}

/// Keys with what is left of their names.
fn section(mut keys: Vec<(Vec<&str>, &Key)>) -> Map<String, Value> {
    let mut properties = Map::new();
    // What is not named is not known.
    let mut others = json!(false);
    while let Some((first, key)) = keys.first().and_then(|(names, key)| Some((*names.first()?, *key))) {
        let is_here = |(names, _): &(Vec<&str>, &Key)| names.first() == Some(&first);
        let (here, left): (Vec<_>, Vec<_>) = keys.iter().cloned().partition(is_here);
        let below: Vec<_> = here.into_iter().map(|(names, key)| (names.into_iter().skip(1).collect(), key)).collect();
        let is_key = below.iter().any(|(names, _): &(Vec<&str>, _)| names.is_empty());
        let inner = if is_key { described(key) } else { Value::Object(section(below)) };
        match first {
            "*" => others = inner,
            name => drop(properties.insert(name.to_owned(), inner)),
        }
        keys = left;
    }
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), others),
    ])
}

fn described(key: &Key) -> Value {
    let mut described = match &key.shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Switch => json!({"type": "boolean"}),
        Shape::Whole(range) if *range.end() == u64::MAX => json!({"type": "integer", "minimum": range.start()}),
        Shape::Whole(range) => json!({"type": "integer", "minimum": range.start(), "maximum": range.end()}),
        Shape::Amount(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
        Shape::Texts => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Shape::OneOf(names) => json!({"enum": names}),
        Shape::SomeOf(names) => json!({"type": "array", "items": {"enum": names}}),
        Shape::Trigger(least, by_calls) => {
            let mut ways = vec![
                json!({"type": "integer", "minimum": least, "maximum": MOST_TOKENS}),
                json!({"type": "string", "pattern": "^ *([1-9][0-9]?|100) *% *$"}),
            ];
            if *by_calls {
                let calls = json!({"type": "integer", "minimum": 1, "maximum": MOST_ITEMS});
                ways.push(json!({
                    "type": "object", "properties": {"tool_uses": calls}, "required": ["tool_uses"],
                    "additionalProperties": false,
                }));
            }
            json!({"anyOf": ways})
        }
        Shape::Keep => {
            json!({"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}]})
        }
        Shape::Inputs => json!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}),
    };
    if let Value::Object(described) = &mut described {
        described.insert("description".to_owned(), json!(key.about));
        let is_alike =
            key.default.is_array() == key.example.is_array() && key.default.is_number() == key.example.is_number();
        if !key.default.is_null() && (is_alike || matches!(key.shape, Shape::Trigger(..) | Shape::Inputs)) {
            described.insert("default".to_owned(), key.default.clone());
        }
        described.insert("examples".to_owned(), json!([key.example]));
    }
    described
}
