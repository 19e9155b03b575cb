//! Every key has its help and an example, and the published schema is current.

use std::fs;

use super::*;
use crate::ConfigFile;
use crate::tree::{Data, Node};

/// A sample name for each `*`.
fn chosen(name: &str) -> String {
    name.replace("projects.*", "projects.\"/home/me/project\"")
        .replace("artifacts.*", "artifacts.plans")
        .replace("models.*", "models.\"m\"")
        .replace("upstream.*", "upstream.other")
}

fn read(text: &str) -> ConfigFile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ctx.toml");
    fs::write(&path, text).expect("written");
    ConfigFile::read(&path).expect("read").expect("a file")
}

#[track_caller]
fn check_is_good(text: &str) {
    let file = read(text);
    assert!(file.layer.ignored.is_empty(), "{:?}", file.layer.ignored);
    assert_eq!(file.layer.all_wrong(&file.path), Vec::<String>::new());
}

#[test]
fn every_key_has_an_example_that_is_read() {
    let line = |key: &Key| format!("{} = {}\n", chosen(&key.name), key.schema["examples"][0]);
    let lines: Vec<String> = keys().iter().map(line).collect();
    assert!(lines.len() > 80, "{}", lines.len());
    check_is_good(&lines.concat());
}

#[test]
fn the_schema_for_editors_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ctx.schema.json");
    let schema = format!("{:#}\n", *SCHEMA);
    if std::env::var_os("CTX_BLESS").is_some() {
        fs::write(file, &schema).expect("the file can be written");
    }
    let committed = fs::read_to_string(file).unwrap_or_default();
    assert!(committed == schema, "docs/ctx.schema.json is not what the code says: run this test with CTX_BLESS=1");
}

/// The part of the schema for a key.
fn part<'s>(schema: &'s Value, names: &[&str]) -> Option<&'s Value> {
    let [first, rest @ ..] = names else { return Some(schema) };
    let inner = schema["properties"].get(*first).or_else(|| schema.get("additionalProperties"));
    inner.filter(|inner| inner.is_object()).and_then(|inner| part(inner, rest))
}

#[test]
fn every_section_of_the_schema_is_closed_and_every_default_fits() {
    let schema = &*SCHEMA;
    for key in keys() {
        let names: Vec<&str> = key.name.split('.').collect();
        let described = part(schema, &names).unwrap_or_else(|| panic!("{}", key.name));
        assert_eq!(described["description"], key.about());
        assert!(!key.about().is_empty(), "{}", key.name);
        for depth in 0..names.len() {
            let section = part(schema, &names[..depth]).expect("a section");
            assert!(section["additionalProperties"] == json!(false) || section["additionalProperties"].is_object());
        }
        if let (Some(default), "integer") =
            (described["default"].as_u64(), described["type"].as_str().unwrap_or_default())
        {
            assert!(default >= described["minimum"].as_u64().unwrap_or_default(), "{}", key.name);
        }
    }
}

#[test]
fn what_the_pages_show_can_be_written() {
    let schema = &*SCHEMA;
    let mut found = 0;
    for page in ["automatic.md", "guide.md", "money.md"] {
        let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).expect("a page");
        for example in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            check_is_good(example);
            check_is_in(schema, &Node::of_toml(example).expect("TOML"), page);
            found += 1;
        }
    }
    assert!(found >= 3, "{found}");
}

fn check_is_in(schema: &Value, node: &Node, page: &str) {
    let (Data::Table(entries), true) = (&node.data, schema["properties"].is_object()) else { return };
    for entry in entries {
        let inner = part(schema, &[&entry.key]).unwrap_or_else(|| panic!("{page}: {}", entry.key));
        check_is_in(inner, &entry.value, page);
    }
}
