use super::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates").to_owned()
}

/// The source files of a folder that are no tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            if name != "tests" {
                sources(&path, into);
            }
        } else if name.ends_with(".rs") && !name.contains("test") {
            into.push(path);
        }
    }
}

/// The codes that the source gives to `Refusal::new`, `ControlError::new` and constants of codes.
fn used_in(folders: &[&str], but: &str) -> BTreeSet<String> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| sources(&crates().join(folder), &mut files));
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| but.is_empty() || !file.starts_with(crates().join(but))) {
        let text = std::fs::read_to_string(file).expect("a source file");
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for maker in ["Refusal::new(", "ControlError::new(", "pub const NOTHING: &str ="] {
            for after in text.split(maker).skip(1) {
                let given = after.trim_start();
                match given.strip_prefix('"') {
                    Some(literal) => drop(found.insert(literal.split('"').next().unwrap_or_default().to_owned())),
                    // Codes that are passed on.
                    None => assert!(
                        ["NOTHING", "refusal.code", "code"].iter().any(|known| given.starts_with(known)),
                        "{}: write the code as a literal: {}",
                        file.display(),
                        given.lines().next().unwrap_or_default()
                    ),
                }
            }
        }
    }
    found
}

fn listed(codes: impl Iterator<Item = &'static str>) -> BTreeSet<String> {
    let all: Vec<String> = codes.map(str::to_owned).collect();
    let set: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "a code stands in the list twice");
    set
}

#[test]
fn every_code_that_is_used_is_in_the_list_and_every_code_of_the_list_is_used() {
    let used = used_in(&["core/src", "engine/src", "service/src", "server/src"], "server/src/mcp");
    assert_eq!(used, listed(API.iter().map(|code| code.code)));
}

#[test]
fn the_codes_of_the_mcp_server_are_in_the_list_too() {
    let api = listed(API.iter().map(|code| code.code));
    let used: BTreeSet<String> = used_in(&["server/src/mcp"], "").difference(&api).cloned().collect();
    assert_eq!(used, listed(MCP.iter().map(|other| other.code)));
}

#[test]
fn the_documentation_has_every_code_with_its_status_and_meaning() {
    let docs = crates().parent().expect("the root").join("docs/api.md");
    let docs = std::fs::read_to_string(docs).expect("docs/api.md");
    let lines: BTreeSet<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
    let api = API.iter().map(|code| format!("| `{}` | {} | {} |", code.code, code.status.as_u16(), code.meaning));
    let mcp = MCP.iter().map(|other| format!("| `{}` | MCP | {} |", other.code, other.meaning));
    let wanted: Vec<String> = api.chain(mcp).collect();
    let missing: Vec<&String> = wanted.iter().filter(|line| !lines.contains(line.as_str())).collect();
    assert!(missing.is_empty(), "docs/api.md lacks:\n{missing:#?}");
    let old: Vec<&&str> = lines.iter().filter(|line| !wanted.iter().any(|wanted| wanted == *line)).collect();
    assert!(old.is_empty(), "docs/api.md has codes that are not:\n{old:#?}");
    let in_order: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(in_order, wanted, "docs/api.md has them in another order");
}

#[test]
fn the_codes_stand_by_status_and_then_by_name() {
    let places: Vec<(u16, &str)> = API.iter().map(|code| (code.status.as_u16(), code.code)).collect();
    assert!(places.is_sorted(), "{places:#?}");
    assert!(MCP.is_sorted_by_key(|other| other.code) && PROXY.is_sorted_by_key(|other| other.code));
}

#[test]
fn the_codes_of_the_proxy_are_in_the_list_too() {
    let text = std::fs::read_to_string(crates().join("server/src/proxy/errors.rs")).expect("the errors");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let literals: BTreeSet<&str> = text.split('"').skip(1).step_by(2).collect();
    let is_code =
        |word: &&&str| word.contains('-') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let is_listed = |code: &str| PROXY.iter().any(|other| other.code == code) || API.iter().any(|api| api.code == code);
    let missing: Vec<_> =
        literals.iter().filter(is_code).filter(|code| !code.starts_with("x-") && !is_listed(code)).collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
    let old: Vec<_> = PROXY.iter().filter(|other| !literals.contains(other.code)).collect();
    assert!(old.is_empty(), "no longer given: {old:?}");
}
