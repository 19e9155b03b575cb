//! Holds the seam: above `crates/wire` and `crates/clients` no product file names a wire, a provider or a client but for
//! those listed with a reason, and none reads the JSON of a wire.

mod clients;
mod names;
mod sources;

use sources::{check, of, product};

const CRATES: &[&str] = &["core", "api", "clients", "store", "engine", "service", "lab", "server", "config", "cli"];

/// Files that name a wire, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Records of version 1 know one wire.
    ("engine/src/log/v1.rs", "anthropic::content"),
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

/// The modules of a wire that code names, such as `anthropic::content`.
fn named(code: &str) -> Vec<String> {
    let names = code.lines().flat_map(|line| {
        line.match_indices("ctx_wire::anthropic").map(|(at, _)| {
            let rest = &line[at + "ctx_wire::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
            rest[..end].trim_end_matches(':').split("::").take(2).collect::<Vec<_>>().join("::")
        })
    });
    names.collect()
}

/// The names of one provider's JSON that code uses to read or write JSON: as an index, as a key, as
/// the text of a member, or on a line with `"type"`.
fn read(code: &str) -> Vec<String> {
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
    code.lines()
        .flat_map(|line| NAMES.iter().filter(move |name| is_read(line, name)))
        .map(|name| (*name).to_owned())
        .collect()
}

#[test]
fn no_file_above_the_seam_names_a_wire() {
    check(&of(CRATES.iter().copied()), EXCEPTIONS, named);
}

#[test]
fn no_file_above_the_seam_reads_the_json_of_a_wire() {
    check(&of(READERS.iter().copied()), JSON_EXCEPTIONS, read);
}

#[test]
fn a_wire_is_found_however_it_is_named() {
    assert_eq!(named("use ctx_wire::anthropic::content;"), ["anthropic::content"]);
    assert_eq!(named("let x = ctx_wire::anthropic::tap::Tap::new();"), ["anthropic::tap"]);
    assert_eq!(named("use ctx_wire::anthropic::{content, tap};"), ["anthropic"]);
    assert_eq!(
        named(&product("// ctx_wire::anthropic\n#[cfg(test)]\nmod tests { use ctx_wire::anthropic::X; }")),
        [""; 0]
    );
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
        assert_eq!(read(&product(line)), [""; 0], "{line}");
    }
}
