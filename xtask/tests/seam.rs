//! Holds the seam: above `crates/wire` no product file names a wire, but for those that use a feature of one provider,
//! and none reads the JSON of one.

use std::path::{Path, PathBuf};

const CRATES: &[&str] = &["core", "api", "clients", "store", "engine", "service", "lab", "server", "config", "cli"];

/// Files that name a wire, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Records of version 1 know one wire.
    ("engine/src/log/v1.rs", "anthropic::content"),
    // The provider's own context editing.
    ("engine/src/log.rs", "anthropic::context_management"),
    ("engine/src/compose/outgoing.rs", "anthropic::context_management"),
    ("engine/src/provider/added.rs", "anthropic::context_management"),
    ("engine/src/ports/provider.rs", "anthropic::context_management"),
    ("engine/src/provider/mod.rs", "anthropic::context_management"),
    ("service/src/provider/known.rs", "anthropic::context_management"),
    ("service/src/provider/state.rs", "anthropic::context_management"),
    ("server/src/proxy/hold.rs", "anthropic::context_management"),
    ("config/src/live.rs", "anthropic::context_management"),
    ("config/src/sections/provider.rs", "anthropic::context_management"),
    ("config/src/merge.rs", "anthropic::context_management"),
];

/// Crates that ask the wire for content.
const READERS: &[&str] = &["core", "api", "engine", "service", "lab", "server", "config", "cli"];

/// Members and types of one provider's JSON. Some are names of a `Kind` too, which may be stored, shown and compared.
const NAMES: &[&str] = &["tool_use", "tool_result", "tool_use_id", "cache_control", "thinking"];

/// Files that read or write such JSON, and why.
const JSON_EXCEPTIONS: &[(&str, &str)] = &[
    // People edit the blocks as they are sent; the API does not say on which wire that is.
    ("cli/src/commands/edit/editor.rs", "cache_control"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_test = name == "tests" || name.ends_with("tests.rs") || name == "testing.rs";
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if name.ends_with(".rs") && !is_test {
            found.push(path);
        }
    }
}

/// The modules of a wire that a file names outside its tests, such as `anthropic::content`.
fn named(text: &str) -> Vec<String> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| {
        line.match_indices("ctx_wire::anthropic").map(|(at, _)| {
            let rest = &line[at + "ctx_wire::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
            rest[..end].trim_end_matches(':').split("::").take(2).collect::<Vec<_>>().join("::")
        })
    });
    names.collect()
}

/// The names of one provider's JSON that a file uses to read or write JSON outside its tests: as an index, as a key, as
/// the text of a member, or on a line with `"type"`.
fn read(text: &str) -> Vec<String> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    let is_read = |line: &str, name: &str| {
        let quoted = format!("\"{name}\"");
        line.match_indices(&quoted).any(|(at, _)| {
            let before = &line[..at];
            let is_index = before.strip_suffix('[').is_some_and(|before| {
                before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '?'))
            });
            let keys = ["get(", "get_mut(", "remove(", "insert(", "contains_key(", "Some("];
            is_index || keys.iter().any(|key| before.ends_with(key)) || line.contains("\"type\"")
        })
    };
    lines.flat_map(|line| NAMES.iter().filter(move |name| is_read(line, name))).map(|name| (*name).to_owned()).collect()
}

/// Fails for whatever `found` finds in the sources of some crates that is no exception, and for exceptions that it does
/// not find.
fn check(names: &[&str], exceptions: &[(&str, &str)], found: fn(&str) -> Vec<String>) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").join("crates");
    let mut unused: Vec<&(&str, &str)> = exceptions.iter().collect();
    let mut wrong = Vec::new();
    for name in names {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        for file in files {
            let place = file.strip_prefix(&crates).expect("below").to_string_lossy().replace('\\', "/");
            for word in found(&std::fs::read_to_string(&file).expect("a source file")) {
                let is_allowed = |exception: &&(&str, &str)| **exception == (place.as_str(), word.as_str());
                match exceptions.iter().find(is_allowed) {
                    Some(exception) => unused.retain(|other| *other != exception),
                    None => wrong.push(format!("{place} names {word}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "ask the wire instead:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "these exceptions are no longer needed: {unused:?}");
}

#[test]
fn no_file_above_the_seam_names_a_wire() {
    check(CRATES, EXCEPTIONS, named);
}

#[test]
fn no_file_above_the_seam_reads_the_json_of_a_wire() {
    check(READERS, JSON_EXCEPTIONS, read);
}

#[test]
fn a_wire_is_found_however_it_is_named() {
    assert_eq!(named("use ctx_wire::anthropic::content;"), ["anthropic::content"]);
    assert_eq!(named("let x = ctx_wire::anthropic::tap::Tap::new();"), ["anthropic::tap"]);
    assert_eq!(named("use ctx_wire::anthropic::{content, tap};"), ["anthropic"]);
    assert_eq!(named("// ctx_wire::anthropic\n#[cfg(test)]\nuse ctx_wire::anthropic::X;"), [""; 0]);
}

#[test]
fn json_is_found_however_it_is_read_and_kinds_are_left_alone() {
    for line in [
        r#"let id = block["tool_use_id"].as_str();"#,
        r#"fields.shift_remove("cache_control");"#,
        r#"value.get("thinking")?"#,
        r#"Some("tool_use") => self.ask(block),"#,
        r#"if block["type"] == "tool_result" {"#,
    ] {
        assert_eq!(read(line).len(), 1, "{line}");
    }
    for line in [
        r#"blocks.find(|block| block.kind == "tool_use")"#,
        r#""thinking" if block.text.is_empty() => String::new(),"#,
        r#"const KINDS: [&str; 2] = ["tool_use", "tool_result"];"#,
        r#"// block["tool_use_id"]"#,
    ] {
        assert_eq!(read(line), [""; 0], "{line}");
    }
}
