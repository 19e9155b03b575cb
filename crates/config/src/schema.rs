//! The JSON schema of `ctx.toml`, derived from the sections: published for editors, and the list of all keys.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::check;
use crate::sections::{Config, defaults};

/// The schema of a whole file.
pub static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    schema["title"] = json!("ctx.toml, the settings of Context Composer");
    tidy(&mut schema, Some(&defaults()));
    schema
});

/// A key of `ctx.toml`.
pub struct Key {
    /// With its section; `*` stands for a user-defined name.
    pub name: String,
    pub schema: &'static Value,
    /// The default value.
    pub default: Value,
}

impl Key {
    /// The help text.
    pub fn about(&self) -> &'static str {
        self.schema["description"].as_str().unwrap_or_default()
    }

    /// Whether a value must not be shown, because it may contain a password.
    pub fn hides(&self, value: &Value) -> bool {
        let has_user = || self.name.ends_with("url") && value.as_str().is_some_and(|url| url.contains('@'));
        !value.is_null() && (self.schema["writeOnly"] == json!(true) || has_user())
    }
}

/// All keys, in the order of the sections.
pub fn keys() -> Vec<Key> {
    fn walk(schema: &'static Value, names: &mut Vec<String>, default: &Value, keys: &mut Vec<Key>) {
        if !check::is_section(schema) {
            let default = default.clone();
            return keys.push(Key { name: names.join("."), schema, default });
        }
        let named = schema["properties"].as_object().into_iter().flatten().map(|(name, inner)| (name.as_str(), inner));
        let chosen = check::chosen(schema).map(|inner| ("*", inner));
        for (name, inner) in named.chain(chosen) {
            names.push(name.to_owned());
            walk(inner, names, &default[name], keys);
            names.pop();
        }
    }
    let mut keys = Vec::new();
    walk(&SCHEMA, &mut Vec::new(), &defaults(), &mut keys);
    keys
}

/// Reduces the schema of schemars to what a reader of the file needs: unset is not `null`, sections are closed, a
/// choice is an `enum`; and adds the defaults.
fn tidy(schema: &mut Value, default: Option<&Value>) {
    let Value::Object(members) = schema else { return };
    members.remove("format");
    members.remove("default");
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            members.insert("type".to_owned(), one);
        }
    }
    unwrap_choice(members);
    if let Some(items @ Value::Object(_)) = members.get_mut("items") {
        tidy(items, None);
        items.as_object_mut().map(|items| items.remove("description"));
    }
    let of = |name: &str| default.and_then(|default| default.get(name));
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.iter_mut().for_each(|(name, inner)| tidy(inner, of(name)));
    }
    if members.contains_key("properties") {
        members.remove("writeOnly");
        members.entry("additionalProperties").or_insert(json!(false));
    }
    if let Some(inner) = members.get_mut("additionalProperties") {
        tidy(inner, of("*"));
    }
    if let Some(default) = default.filter(|default| !check::is_section(schema) && check::fits(schema, default)) {
        schema["default"] = default.clone();
    }
}

/// Unwraps alternatives with only one besides `null`, and turns constants into an `enum`.
fn unwrap_choice(members: &mut Map<String, Value>) {
    for name in ["anyOf", "oneOf"] {
        let Some(Value::Array(mut choices)) = members.remove(name) else { continue };
        choices.retain(|one| one["type"] != "null");
        choices.iter_mut().for_each(|one| tidy(one, None));
        let constants: Option<Vec<Vec<Value>>> = choices.iter().map(constants).collect();
        match (constants, choices.as_mut_slice()) {
            (Some(constants), _) => drop(members.insert("enum".to_owned(), json!(constants.concat()))),
            (None, [Value::Object(only)]) => members.extend(std::mem::take(only)),
            _ => drop(members.insert(name.to_owned(), json!(choices))),
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
        members.remove("type");
    }
}

/// The values of a schema that allows only constants.
fn constants(schema: &Value) -> Option<Vec<Value>> {
    let list = schema.get("enum").and_then(Value::as_array).cloned();
    list.or_else(|| schema.get("const").map(|one| vec![one.clone()]))
}

#[cfg(test)]
mod tests;
