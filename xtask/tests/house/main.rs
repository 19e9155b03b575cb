//! Holds the line between the parts of the house: which crate of ours may stand on which.
//! The same picture in words is in docs/ARCHITECTURE.md.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each crate, from the ground up, with those of ours that its code may use. Tests may use `testkit` and whatever
/// lies below besides.
const HOUSE: &[(&str, &[&str])] = &[
    ("ctx-models", &[]),
    ("ctx-core", &["ctx-models"]),
    ("ctx-api", &["ctx-models", "ctx-core"]),
    ("ctx-clients", &["ctx-core"]),
    ("ctx-wire", &["ctx-models", "ctx-core"]),
    // A wire from outside, for tests: it may use what a wire in `ctx-wire` uses.
    ("testkit-flat", &["ctx-models", "ctx-core", "ctx-wire"]),
    ("ctx-store", &["ctx-core"]),
    ("ctx-team", &["ctx-core", "ctx-store"]),
    ("ctx-engine", &["ctx-models", "ctx-core", "ctx-api", "ctx-clients", "ctx-wire", "ctx-store"]),
    ("ctx-service", &["ctx-models", "ctx-core", "ctx-api", "ctx-clients", "ctx-wire", "ctx-store", "ctx-engine"]),
    (
        "ctx-lab",
        &["ctx-models", "ctx-core", "ctx-api", "ctx-clients", "ctx-wire", "ctx-store", "ctx-engine", "ctx-service"],
    ),
    ("ctx-server", &["ctx-core", "ctx-api", "ctx-clients", "ctx-wire", "ctx-team", "ctx-engine", "ctx-service"]),
    (
        "ctx-config",
        &[
            "ctx-models",
            "ctx-core",
            "ctx-api",
            "ctx-clients",
            "ctx-wire",
            "ctx-store",
            "ctx-team",
            "ctx-engine",
            "ctx-service",
            "ctx-server",
        ],
    ),
    (
        "ctx-cli",
        &[
            "ctx-models",
            "ctx-core",
            "ctx-api",
            "ctx-clients",
            "ctx-wire",
            "ctx-store",
            "ctx-team",
            "ctx-engine",
            "ctx-service",
            "ctx-lab",
            "ctx-server",
            "ctx-config",
        ],
    ),
    // The fake provider judges what the others send, so it shares no code with them.
    ("testkit", &[]),
    ("xtask", &[]),
];

/// Crates that would bring I/O, async, a clock or chance into the pure core. JSON is allowed: operations are JSON.
const NOT_IN_CORE: &[&str] =
    &["axum", "chrono", "http", "hyper", "rand", "rusqlite", "time", "tokio", "tracing", "uuid"];

struct Dependency {
    name: String,
    for_tests: bool,
}

/// The members of the workspace and what each one's Cargo.toml names.
fn members() -> BTreeMap<String, Vec<Dependency>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let dependencies = list(&package["dependencies"])
                .iter()
                .map(|dependency| Dependency {
                    name: text(&dependency["name"]),
                    for_tests: dependency["kind"] == "dev",
                })
                .collect();
            (text(&package["name"]), dependencies)
        })
        .collect()
}

#[test]
fn every_crate_of_the_workspace_has_its_place_in_the_house() {
    let members: BTreeSet<String> = members().into_keys().collect();
    let places: BTreeSet<String> = HOUSE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(members, places);
}

#[test]
fn no_crate_stands_on_one_above_it() {
    let members = members();
    let ours: BTreeSet<&str> = members.keys().map(String::as_str).collect();
    for (floor, (name, allowed)) in HOUSE.iter().enumerate() {
        let below = |other: &str| HOUSE[..floor].iter().any(|(name, _)| *name == other);
        for dependency in members.get(*name).into_iter().flatten() {
            let used = dependency.name.as_str();
            let in_tests = dependency.for_tests && (used == "testkit" || below(used));
            let fine = !ours.contains(used) || allowed.contains(&used) || in_tests;
            assert!(fine, "{name} must not depend on {used}; it may use {allowed:?}");
        }
    }
}

#[test]
fn the_core_uses_nothing_that_does_io() {
    let members = members();
    for dependency in members.get("ctx-core").into_iter().flatten() {
        let fine = dependency.for_tests || !NOT_IN_CORE.contains(&dependency.name.as_str());
        assert!(fine, "ctx-core is pure and must not depend on {}", dependency.name);
    }
}

/// Names that would bring files, threads, locks or a clock into the engine.
const NOT_IN_ENGINE: &[&str] =
    &["std::fs", "std::thread", "std::time", "std::net", "Mutex", "RwLock", "Condvar", "SqliteStore", "confined"];

#[test]
fn the_engine_touches_no_file_thread_lock_or_clock() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/src");
    let mut found = Vec::new();
    look(&folder, &mut found);
    assert_eq!(found, Vec::<String>::new());
}

fn look(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            look(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines.filter(|line| NOT_IN_ENGINE.iter().any(|name| line.contains(name))) {
            found.push(format!("{}: {}", path.display(), line.trim()));
        }
    }
}

/// The most files that may import each other in a circle. More cannot be understood one by one.
const LARGEST_CIRCLE: usize = 5;

#[test]
fn no_import_circle_is_larger_than_five_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    for name in ["core", "wire", "engine", "service"] {
        let circles = imports::circles(&crates.join(name).join("src"));
        let large: Vec<_> = circles.iter().filter(|circle| circle.len() > LARGEST_CIRCLE).collect();
        assert!(large.is_empty(), "{name}: {large:#?}");
    }
}
