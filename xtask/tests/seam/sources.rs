//! The product sources of the crates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Crates that know providers and clients: the seam itself, prices and cache rules, and the fake providers.
const BELOW_THE_SEAM: &[&str] = &["wire", "clients", "models", "testkit"];

/// A file by its path below `crates`, with its code: neither tests nor comments.
pub struct Source {
    pub name: String,
    pub code: String,
}

/// The sources of every crate above the seam.
pub fn above_the_seam() -> Vec<Source> {
    let crates = std::fs::read_dir(root()).expect("a folder").flatten();
    let names: Vec<String> = crates.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    of(names.iter().map(String::as_str).filter(|name| !BELOW_THE_SEAM.contains(name)))
}

/// The sources of these crates.
pub fn of<'n>(crates: impl IntoIterator<Item = &'n str>) -> Vec<Source> {
    let mut files = Vec::new();
    for name in crates {
        let before = files.len();
        find(&root().join(name).join("src"), &mut files);
        assert!(files.len() > before, "{name} has no sources");
    }
    let source = |path: &PathBuf| Source {
        name: path.strip_prefix(root()).expect("below").to_string_lossy().replace('\\', "/"),
        code: product(&std::fs::read_to_string(path).expect("a source file")),
    };
    files.iter().map(source).collect()
}

/// Fails for every word that `found` finds and that is no exception, and for exceptions that it does not find.
pub fn check(sources: &[Source], exceptions: &[(&str, &str)], found: impl Fn(&str) -> Vec<String>) {
    let mut unused: BTreeSet<&(&str, &str)> = exceptions.iter().collect();
    let mut wrong = BTreeSet::new();
    for Source { name, code } in sources {
        for word in found(code) {
            match exceptions.iter().find(|exception| **exception == (name.as_str(), word.as_str())) {
                Some(exception) => drop(unused.remove(exception)),
                None => drop(wrong.insert(format!("{name} names {word}"))),
            }
        }
    }
    let wrong = wrong.into_iter().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "ask the wire or the client instead:\n{wrong}");
    assert!(unused.is_empty(), "these exceptions are no longer needed: {unused:?}");
}

/// The part of a file that is neither a test nor a comment.
pub fn product(text: &str) -> String {
    let ends = ["#[cfg(test)]\nmod tests", "#[cfg(all(test, unix))]\nmod tests"];
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").join("crates")
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_test = name == "tests" || name.ends_with("tests.rs") || name == "testing.rs";
        if path.is_dir() && !is_test {
            find(&path, found);
        } else if name.ends_with(".rs") && !is_test {
            found.push(path);
        }
    }
}
