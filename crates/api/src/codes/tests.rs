use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of all Rust files below a folder, other than tests and the lists of codes.
fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            if !["tests", "codes", "target"].contains(&name) {
                sources(&path, into);
            }
        } else if name.ends_with(".rs") && !["tests.rs", "error_code.rs"].contains(&name) {
            let text = fs::read_to_string(&path).expect("a source file");
            into.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
        }
    }
}

#[test]
fn every_code_is_used() {
    let mut text = String::new();
    sources(&root().join("crates"), &mut text);
    let is_name = |letter: char| letter.is_ascii_alphanumeric();
    let used: BTreeSet<&str> = text
        .split("ErrorCode::")
        .skip(1)
        .map(|after| after.split(|letter| !is_name(letter)).next().unwrap_or(""))
        .collect();
    let unused: Vec<_> = ErrorCode::ALL.iter().filter(|code| !used.contains(format!("{code:?}").as_str())).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn the_documentation_has_every_code_with_its_status_and_meaning_in_the_same_order() {
    let docs = fs::read_to_string(root().join("docs/api.md")).expect("docs/api.md");
    let lines: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |known: &Explanation| {
        let status = known.status.map_or("MCP".to_owned(), |status| status.to_string());
        format!("| `{}` | {status} | {} |", known.code, known.meaning)
    };
    let wanted: Vec<String> = CONTROL.iter().chain(MCP).map(row).collect();
    assert_eq!(lines, wanted);
}

#[test]
fn the_codes_are_listed_by_status_and_then_by_name() {
    assert!(CONTROL.is_sorted_by_key(|known| (known.status, known.code.as_str())));
    for list in [MCP, PROXY, SHELL] {
        assert!(list.is_sorted_by_key(|known| known.code.as_str()));
    }
}

#[test]
fn every_code_has_a_meaning_and_a_sentence_of_advice() {
    for known in [CONTROL, MCP, PROXY, SHELL].into_iter().flatten() {
        let is_sentence = known.advice.ends_with('.') && known.advice.starts_with(char::is_uppercase);
        assert!(is_sentence && !known.meaning.is_empty(), "{}", known.code);
    }
}
