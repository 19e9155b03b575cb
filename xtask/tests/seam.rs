//! Holds the seam: above `crates/wire` no product file names a wire, but for those that use a feature of one provider.

use std::path::{Path, PathBuf};

const CRATES: &[&str] = &["core", "clients", "store", "composer", "lab", "server", "cli"];

/// Files that name a wire, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Records of version 1 know one wire.
    ("composer/src/log/v1.rs", "anthropic::content"),
    // The provider's own context editing.
    ("composer/src/log.rs", "anthropic::context_management"),
    ("composer/src/edit/sent.rs", "anthropic::context_management"),
    ("composer/src/provider/added.rs", "anthropic::context_management"),
    ("composer/src/provider/known.rs", "anthropic::context_management"),
    ("composer/src/provider/mod.rs", "anthropic::context_management"),
    ("server/src/proxy/hold.rs", "anthropic::context_management"),
    ("cli/src/config/context_editing/live.rs", "anthropic::context_management"),
    ("cli/src/config/context_editing/provider.rs", "anthropic::context_management"),
    ("cli/src/config/context_editing/voices.rs", "anthropic::context_management"),
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

#[test]
fn no_file_above_the_seam_names_a_wire() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").join("crates");
    let mut unused: Vec<&(&str, &str)> = EXCEPTIONS.iter().collect();
    let mut wrong = Vec::new();
    for name in CRATES {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        for file in files {
            let place = file.strip_prefix(&crates).expect("below").to_string_lossy().replace('\\', "/");
            for module in named(&std::fs::read_to_string(&file).expect("a source file")) {
                let is_allowed = |exception: &&(&str, &str)| **exception == (place.as_str(), module.as_str());
                match EXCEPTIONS.iter().find(is_allowed) {
                    Some(exception) => unused.retain(|other| *other != exception),
                    None => wrong.push(format!("{place} names {module}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "ask the wire instead:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "these exceptions are no longer needed: {unused:?}");
}

#[test]
fn a_wire_is_found_however_it_is_named() {
    assert_eq!(named("use ctx_wire::anthropic::content;"), ["anthropic::content"]);
    assert_eq!(named("let x = ctx_wire::anthropic::tap::Tap::new();"), ["anthropic::tap"]);
    assert_eq!(named("use ctx_wire::anthropic::{content, tap};"), ["anthropic"]);
    assert_eq!(named("// ctx_wire::anthropic\n#[cfg(test)]\nuse ctx_wire::anthropic::X;"), [""; 0]);
}
