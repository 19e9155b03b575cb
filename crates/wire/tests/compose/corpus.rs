//! Recorded conversations, where there are any: they stay where they are.

use std::path::Path;

/// All of them, or none with a word on why.
pub fn bodies() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/conversations");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there are no recorded conversations");
        return Vec::new();
    };
    let mut files: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), std::fs::read(&path).expect("a readable file"))).collect()
}
