//! The environment of tests: their time limit, and the recorded conversations.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether to run many more cases: `cargo xtask test --long`, or `CTX_LONG=1`.
pub fn is_long() -> bool {
    std::env::var("CTX_LONG").is_ok_and(|value| value != "0")
}

/// The first seed of a random test: `CTX_FIRST` if it is set, otherwise 0, or a new one each time in a long run. It is
/// printed, so that the run can be repeated.
pub fn first_seed() -> u64 {
    let given = std::env::var("CTX_FIRST").ok().and_then(|first| first.parse().ok());
    let first = given.unwrap_or_else(|| if is_long() { fresh_seed() } else { 0 });
    if is_long() {
        println!("seeds from {first} on; CTX_FIRST={first} repeats this run");
    }
    first
}

/// Different each time. Short enough to type.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) % 1_000_000_000
}

/// The recorded conversations next to the project, each a request body with its name. Without them, this says so; in CI
/// they are required.
pub fn recorded_conversations() -> Vec<(String, Vec<u8>)> {
    let files = recorded_files("corpus").into_iter();
    files.map(|(name, path)| (name, std::fs::read(&path).expect("a readable file"))).collect()
}

/// The recorded requests of another client, such as `codex`, in the order of their names.
pub fn recorded_bodies(client: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = json_files("corpus-wires", "bodies");
    files.retain(|(name, _)| name.starts_with(client));
    files.into_iter().map(|(name, path)| (name, std::fs::read(&path).expect("a readable file"))).collect()
}

/// The files of one set of recorded conversations, in the order of their names.
pub fn recorded_files(set: &str) -> Vec<(String, PathBuf)> {
    json_files(set, "conversations")
}

fn json_files(set: &str, folder: &str) -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(set).join(folder);
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    files.sort();
    if files.is_empty() {
        println!("SKIPPED: there are no recorded conversations in {}", folder.display());
        assert!(std::env::var_os("CI").is_none(), "recorded conversations are missing: {}", folder.display());
    }
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), path)).collect()
}
