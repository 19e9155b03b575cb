use std::collections::BTreeSet;

use serde_json::Value;

use super::super::routes;

fn document() -> Value {
    super::document::of(&routes())
}

/// Every value under this key, at any depth.
fn under<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, inner)| {
            found.extend((name == key).then_some(inner));
            under(inner, key, found);
        }),
        Value::Array(list) => list.iter().for_each(|inner| under(inner, key, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_type_is_used() {
    let document = document();
    let mut references = Vec::new();
    under(&document, "$ref", &mut references);
    let references: BTreeSet<&str> = references.into_iter().filter_map(Value::as_str).collect();
    for reference in &references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    // Queries are inlined as parameters, and some statuses belong to no operation.
    let aside = |name: &str| name.ends_with("Query") || name == "After" || name.starts_with("Refused");
    for name in document["components"]["schemas"].as_object().expect("types").keys() {
        assert!(aside(name) || references.contains(format!("#/components/schemas/{name}").as_str()), "{name}");
    }
}

#[test]
fn every_operation_says_what_it_takes_and_gives() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let name = format!("{method} {path}");
            assert!(ids.insert(operation["operationId"].as_str().expect("an id").to_owned()), "{name}: twice");
            let answer = &operation["responses"]["200"];
            assert!(!answer["description"].as_str().expect("words").is_empty(), "{name}");
            for status in ["401", "403", "500"] {
                assert!(operation["responses"][status].is_object(), "{name}: {status}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{name}: {parameter}");
            }
            // Actions on a job, a person, a key or a login need only its name.
            let is_bare = ["/helper/", "/logins/"].iter().any(|start| path.starts_with(start))
                || ["/remove", "/revoke"].iter().any(|end| path.ends_with(end));
            let takes = method == "post" && !is_bare;
            assert_eq!(takes, operation["requestBody"].is_object(), "{name}");
        }
    }
}

/// Participles that do not end in "ed".
const PARTICIPLES: [&str; 16] = [
    "Built", "Found", "Given", "Held", "Kept", "Known", "Left", "Made", "Said", "Seen", "Sent", "Shown", "Spent",
    "Told", "Unmade", "Written",
];

#[test]
fn every_published_type_has_a_noun_for_a_name() {
    let document = document();
    let is_word = |name: &str| !name.chars().skip(1).any(char::is_uppercase);
    let is_participle = |name: &&String| is_word(name) && name.ends_with("ed") || PARTICIPLES.contains(&name.as_str());
    let names = document["components"]["schemas"].as_object().expect("types").keys();
    assert_eq!(names.filter(is_participle).collect::<Vec<_>>(), [""; 0]);
}

/// The page's client is generated from it.
#[test]
fn the_page_is_built_from_this_description() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/openapi.json");
    let document = format!("{:#}\n", document());
    if std::env::var_os("CTX_BLESS").is_some() {
        std::fs::write(file, &document).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(committed == document, "web/openapi.json is not what the code says: run this test with CTX_BLESS=1");
}
