//! The list is complete and true: what it names is read, and what is read it names.

use std::fs;

use super::super::ConfigFile;
use super::super::context_editing::tree::{Data, Node, entries};
use super::super::schema::schema;
use super::*;

/// A chosen name for each `*`.
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
    assert!(file.unknown.is_empty(), "{:?}", file.unknown);
    assert_eq!(file.context_editing.wrong(&file.path), Vec::<String>::new());
}

#[test]
fn every_key_of_the_list_is_read() {
    let lines: Vec<String> = all().iter().map(|key| format!("{} = {}\n", chosen(&key.name), key.example)).collect();
    check_is_good(&lines.concat());
}

#[test]
fn every_key_that_is_read_is_in_the_list() {
    let all = all();
    let is_listed = |word: &str| all.iter().any(|key| key.name.split('.').any(|name| name == word));
    // Values, and what only the YAML file says.
    let others = ["main", "subagents", "all", "runtime_signals"];
    let mut found = 0;
    for code in [
        include_str!("../file.rs"),
        include_str!("../helper.rs"),
        include_str!("../models.rs"),
        include_str!("../context_editing/layer.rs"),
        include_str!("../context_editing/provider.rs"),
    ] {
        for line in code.lines().filter(|line| line.contains("=>")) {
            let Some(word) = line.trim().strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
            assert!(is_listed(word) || others.contains(&word), "`{word}` is read and not in the list");
            found += 1;
        }
    }
    assert!(found > 70, "{found}");
}

#[test]
fn the_schema_for_editors_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ctx.schema.json");
    let schema = format!("{:#}\n", schema());
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
    let schema = schema();
    for key in all() {
        let names: Vec<&str> = key.name.split('.').collect();
        let described = part(&schema, &names).unwrap_or_else(|| panic!("{}", key.name));
        assert_eq!(described["description"], key.about);
        for depth in 0..names.len() {
            let section = part(&schema, &names[..depth]).expect("a section");
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
    let schema = schema();
    let mut found = 0;
    for page in ["automatic.md", "guide.md", "money.md"] {
        let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).expect("a page");
        for example in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            check_is_good(example);
            let document = toml::de::DeTable::parse(example).expect("TOML");
            check_is_in(&schema, &Node { line: 0, data: Data::Table(entries(document.get_ref(), &|_| 0)) }, page);
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
