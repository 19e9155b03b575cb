//! The types of the API as JSON schemas. Input and output differ: a field with a default is optional in a request and
//! always present in an answer.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::Of;

const PLACE: &str = "#/components/schemas/";

pub struct Schemas {
    written: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Schemas {
        let settings = || {
            let place = format!("{}/", PLACE.trim_start_matches('#').trim_end_matches('/'));
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = place.into();
                settings.meta_schema = None;
            })
        };
        Schemas {
            written: settings().for_deserialize().into_generator(),
            answered: settings().for_serialize().into_generator(),
        }
    }
}

impl Schemas {
    pub fn written(&mut self, of: Of) -> Value {
        of(&mut self.written).to_value()
    }

    pub fn answered(&mut self, of: Of) -> Value {
        of(&mut self.answered).to_value()
    }

    /// The target of a reference.
    pub fn looked_up(&self, schema: &Value) -> Value {
        let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix(PLACE));
        let found = name.and_then(|name| self.written.definitions().get(name));
        found.cloned().unwrap_or_else(|| schema.clone())
    }

    /// All types by name. A type that differs between input and output has two schemas; the input one has the suffix
    /// `Input`, and is added to `document` where input refers to it.
    pub fn finish(mut self) -> (Map<String, Value>, Vec<String>) {
        let mut all = self.answered.take_definitions(true);
        let written = self.written.take_definitions(true);
        // A type that refers to such a type differs too.
        let mut differ: Vec<String> = Vec::new();
        loop {
            let more = written.iter().filter(|(name, schema)| {
                let refers = |other: &String| schema.to_string().contains(&format!("\"{PLACE}{other}\""));
                !differ.contains(name)
                    && all.get(*name).is_some_and(|other| other != *schema || differ.iter().any(refers))
            });
            let more: Vec<String> = more.map(|(name, _)| name.clone()).collect();
            if more.is_empty() {
                break;
            }
            differ.extend(more);
        }
        for (name, mut schema) in written {
            rename(&mut schema, &differ);
            let name = if differ.contains(&name) { format!("{name}Input") } else { name };
            all.insert(name, schema);
        }
        (all, differ)
    }
}

/// Redirects references to these types to their input schemas.
pub fn rename(value: &mut Value, names: &[String]) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(reference) if key == "$ref" => {
                        if reference.strip_prefix(PLACE).is_some_and(|name| names.iter().any(|other| other == name)) {
                            reference.push_str("Input");
                        }
                    }
                    inner => rename(inner, names),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| rename(inner, names)),
        _ => {}
    }
}

/// A schema by its name.
pub fn reference(name: &str) -> Value {
    Schema::new_ref(format!("{PLACE}{name}")).to_value()
}
