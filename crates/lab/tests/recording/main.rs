//! Reading recordings.

mod bodies;
mod broken;
mod cline;
mod recorded;
mod sessions;
mod stored;
mod wires;

use ctx_lab::recording::{GatheredRecordings, Recording, read};
use serde_json::Value;
use std::path::Path;

fn read_all(folder: &Path) -> GatheredRecordings {
    read(&[folder.to_owned()])
}

/// Reads these files in a new folder.
fn read_files(files: &[(&str, &str)]) -> (GatheredRecordings, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    (read_all(folder.path()), folder)
}

fn names(gathered: &GatheredRecordings) -> Vec<&str> {
    gathered.recordings.iter().map(|recording| recording.name.as_str()).collect()
}

fn answers(recording: &Recording) -> Vec<usize> {
    recording.turns.iter().map(|turn| turn.answer).collect()
}

/// Role and blocks of each message: `t` text, `r` result, `c` call, `h` thinking.
fn outline(recording: &Recording) -> Vec<String> {
    let shape = |message: &Value| {
        let role = if message["role"] == "assistant" { "a" } else { "u" };
        let Some(blocks) = message["content"].as_array() else { return format!("{role}:\"") };
        let letters = blocks.iter().map(|block| match block["type"].as_str() {
            Some("text") => 't',
            Some("tool_result") => 'r',
            Some("tool_use") => 'c',
            Some("thinking") => 'h',
            _ => '?',
        });
        format!("{role}:{}", letters.collect::<String>())
    };
    messages(recording).iter().map(shape).collect()
}

fn messages(recording: &Recording) -> Vec<Value> {
    recording.messages.iter().map(|message| serde_json::from_str(message.get()).expect("JSON")).collect()
}
