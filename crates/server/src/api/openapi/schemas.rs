//! The types of the API as JSON schemas. What is written and what is answered differ a little: a field with a default
//! may be left out by the writer and is always there in the answer.

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

    /// What a reference stands for.
    pub fn looked_up(&self, schema: &Value) -> Value {
        let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix(PLACE));
        let found = name.and_then(|name| self.written.definitions().get(name));
        found.cloned().unwrap_or_else(|| schema.clone())
    }

    /// All types by name. One that is not the same in both directions has two: the written one with `Input` behind
    /// its name, which is put into `document` where it is referred to from something written.
    pub fn finish(mut self) -> (Map<String, Value>, Vec<String>) {
        let mut all = self.answered.take_definitions(true);
        let written = self.written.take_definitions(true);
        // One that refers to one that differs has to be another one too.
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

/// Makes references to these types references to what is written.
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
