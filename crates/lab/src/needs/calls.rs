//! The parts of calls, for any tool.

use serde_json::Value;

/// Fields with text that a call writes or replaces: it was written, not looked up.
const WRITTEN: [&str; 11] = [
    "content",
    "new_string",
    "new_str",
    "old_string",
    "old_str",
    "file_text",
    "new_source",
    "insert_text",
    "patch",
    "diff",
    "edits",
];

/// Fields with a shell command.
const COMMAND: [&str; 3] = ["command", "cmd", "script"];

pub(super) fn is_written(key: &str) -> bool {
    WRITTEN.contains(&key)
}

pub(super) fn is_command(key: &str) -> bool {
    COMMAND.contains(&key)
}

pub(super) fn word<'v>(input: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| input.get(key)).and_then(Value::as_str)
}

/// The file of a call.
pub(super) fn path(input: &Value) -> Option<&str> {
    word(input, &["file_path", "path", "notebook_path", "filename"])
}

/// The shell command of a call, if it is one.
pub(super) fn shell<'v>(tool: &str, input: &'v Value) -> Option<&'v str> {
    let tool = tool.to_ascii_lowercase();
    let is_shell = ["bash", "shell", "terminal", "execute", "command"].iter().any(|word| tool.contains(word));
    word(input, &COMMAND).filter(|_| is_shell)
}

/// A command without its here-documents (`<<EOF`).
pub(super) fn without_documents(command: &str) -> String {
    let mut kept = String::new();
    let mut until: Option<&str> = None;
    for line in command.lines() {
        match until {
            Some(end) if line.trim() == end => until = None,
            Some(_) => {}
            None => {
                kept.push_str(line);
                kept.push('\n');
                let mark = line.split_once("<<").map(|(_, mark)| mark.trim_start_matches(['-', '<', ' ']));
                let mark = mark.map(|mark| mark.trim_start_matches(['\'', '"', '\\']));
                let mark =
                    mark.map(|mark| mark.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next());
                until = mark.flatten().filter(|mark| mark.starts_with(|letter: char| letter.is_ascii_alphabetic()));
            }
        }
    }
    kept
}

/// Words of commands that may change any file.
pub(super) const CHANGING: [&str; 12] =
    ["checkout", "stash", "reset", "restore", "apply", "pull", "merge", "rebase", "fmt", "format", "generate", "patch"];

/// Programs that change no file.
const LOOKING: [&str; 22] = [
    "awk", "cat", "cd", "cut", "date", "diff", "echo", "file", "find", "gh", "grep", "head", "jq", "ls", "nl", "pwd",
    "rg", "sort", "stat", "tail", "tree", "wc",
];

/// Whether a command changes no file, judging by its programs.
pub(super) fn only_looks(command: &str) -> bool {
    let command =
        ["2>&1", "2>/dev/null", "2> /dev/null"].iter().fold(command.to_owned(), |left, part| left.replace(part, ""));
    let looks = |simple: &str| {
        let mut words = simple.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => true,
            (Some("git"), Some(verb)) => ["blame", "diff", "log", "ls-files", "show", "status"].contains(&verb),
            (Some("go"), Some(verb)) => ["build", "test", "vet"].contains(&verb),
            (Some("sed"), _) => !simple.contains(" -i"),
            (Some(program), _) => LOOKING.contains(&program),
        }
    };
    !command.contains(['>', '`']) && !command.contains("$(") && command.split(['|', ';', '&', '\n']).all(looks)
}
