//! The error codes of the command line itself, with their meaning and what to do. Those of the daemon are in its own list.

use ctx_api::explain::{Term, Terms};

/// Code, meaning, advice; by name.
const CODES: &[(&str, &str, &str)] = &[
    ("agent-not-started", "the agent's program could not be started", "Check that it is installed and on the PATH."),
    (
        "blob-damaged",
        "stored content does not match its checksum",
        "Let the agent send the conversation again; run `ctx doctor` for what else is affected.",
    ),
    ("blob-unknown", "a record refers to content that is not stored", "Report it; nothing was stored."),
    ("blob-wrong-hash", "content does not match its announced hash", "Report it; nothing was stored."),
    ("body-too-large", "content is too large to store", "Nothing was stored; shorten it."),
    ("by-hand", "ctx does not change the settings of this agent", "Write the line from the hint yourself."),
    ("cannot-listen", "the daemon cannot listen on this address", "Choose another address with `--listen`."),
    ("cannot-write", "a report could not be written", "Check the path and its permissions."),
    ("changed-meanwhile", "a settings file changed while `ctx` was about to write it", "Run the command again."),
    ("config", "a setting is wrong", "Correct it; `ctx config check` shows the file and the line."),
    ("cut", "the answer ended early", "Run the command again; `ctx status` shows whether the daemon runs."),
    ("daemon", "the daemon answered something unexpected", "Compare `ctx --version` with `ctx status`."),
    ("daemon-not-up", "the daemon was started but does not answer", "Run `ctx up` to see why, or `ctx doctor`."),
    ("editor", "the text editor failed", "Set EDITOR to one that works, or give the text with `--text`."),
    ("empty", "the text is empty", "Write something; to remove the target, use `ctx delete`."),
    ("empty-batch", "the file contains no operation", "Put one JSON operation on each line."),
    ("environment", "an environment variable has a wrong value", "Correct or unset it; the message names it."),
    ("file", "a file could not be read or written", "Check the path and its permissions."),
    ("helper-under-way", "the helper's result is already being committed", "Wait for it, then `ctx undo`."),
    ("home-not-writable", "the home cannot be written to", "Make it writable, or choose another one with `--home`."),
    ("hook", "the hook could not be run", "Check the command in `[context_editing]`."),
    (
        "invalid-json",
        "the JSON is not understood",
        "Correct the line the message names; `ctx batch --help` shows an example.",
    ),
    ("log", "the log could not be started", "Check CTX_LOG."),
    ("mcp", "the MCP server ended with an error", "Start it again; `ctx doctor` checks the daemon."),
    (
        "memory-damaged",
        "the note of what `ctx install` changed cannot be read",
        "Undo the changes in the agent's settings by hand.",
    ),
    ("no-agent", "no agent that can be set up was found on this machine", "Name one: `ctx install codex`."),
    ("no-browser", "no browser could be opened", "Open the printed link yourself."),
    ("no-daemon", "no daemon is running", "Start one with `ctx up`, or the agent with `ctx run`."),
    ("no-editor", "no text was given and no editor is set", "Give `--text`, or set EDITOR."),
    ("no-folder", "there is no such folder", "Name an existing folder."),
    ("no-home", "the home folder is unknown", "Set HOME, or CTX_HOME."),
    ("no-port", "the daemon's port is unknown", "Give `--listen`."),
    (
        "no-project-settings",
        "this agent reads its base URL only from the user's settings",
        "Leave out `--scope project`.",
    ),
    (
        "no-recordings",
        "the folder contains no recorded conversation",
        "Name a folder with Claude Code sessions or exports.",
    ),
    ("no-runtime", "the system does not allow more threads", "Close other programs, or raise the limits."),
    ("no-such-turn", "the conversation has no such turn", "Name a smaller number."),
    (
        "no-terminal",
        "the command asks questions and there is no terminal",
        "Run it in a terminal, or without `--interactive`.",
    ),
    ("no-thread", "the system does not allow another thread", "Close other programs, or raise the limits."),
    (
        "not-a-daemon",
        "something else answers at the daemon's address",
        "Choose another address with `--listen`, or stop that program.",
    ),
    ("not-confirmed", "the question was not answered with yes", "Nothing was changed; run it again with `--yes`."),
    ("not-set-up", "the agent has no settings to change yet", "Set it up first, as the hint says."),
    ("not-stopped", "the daemon could not be stopped", "Stop its process by hand."),
    ("not-trusted", "nothing in this folder is trusted", "Run `ctx trust --list` to see what is."),
    ("not-understood", "the daemon's answer is not understood", "Compare `ctx --version` with `ctx status`."),
    (
        "not-yours",
        "the file or folder belongs to another user or others can write to it",
        "Trust only files that are yours alone.",
    ),
    ("nothing-to-do", "the change would have no effect", "Nothing to do."),
    (
        "nothing-to-trust",
        "the project has no settings to trust",
        "Write a ctx.toml first; without one there is nothing to do.",
    ),
    (
        "other-base-url",
        "the agent's settings point to another address already",
        "Remove that setting, or use `ctx run`.",
    ),
    ("output", "the output could not be written", "Check for a full disk or a closed pipe."),
    (
        "port-taken",
        "another program listens on this port",
        "Stop that program, or choose another port with `--listen`.",
    ),
    ("read-only", "the file or folder is read-only", "Make it writable, or choose another one."),
    ("remote-refused", "other machines could reach this address", "Listen on 127.0.0.1, or add `--allow-remote`."),
    ("settings-broken", "the agent's settings file cannot be read", "Correct the file; nothing was changed."),
    ("signals", "the system does not deliver signals", "Restart the daemon."),
    ("still-running", "the daemon does not end", "Wait for its last request, or stop its process by hand."),
    ("store-absent", "there is no store in this home yet", "Start the daemon once, or choose another home."),
    ("store-compression", "content could not be compressed", "Nothing was stored; there may be too little memory."),
    (
        "store-damaged",
        "the store is damaged",
        "Run `ctx doctor`; to start again, stop the daemon and move the file away.",
    ),
    ("store-database", "the store reported an error", "Run `ctx doctor`."),
    (
        "store-file",
        "a file of the store could not be opened",
        "Check that the folder exists, is yours and is writable.",
    ),
    ("store-from-the-future", "a newer version wrote this store", "Use that version, or another home."),
    ("store-full", "the disk is full", "Nothing was stored; free some space, or purge old conversations."),
    (
        "store-gone",
        "the store's file was removed or replaced while the daemon runs",
        "Put the file back, or restart the daemon.",
    ),
    ("store-in-use", "another daemon uses this store", "Use that daemon, stop it, or choose another home."),
    (
        "store-of-another-program",
        "the file belongs to another program",
        "Choose another home; the file was not touched.",
    ),
    (
        "store-open-to-others",
        "other users can read the home",
        "Choose an empty folder, or make this one private (chmod 700).",
    ),
    ("store-slow", "the disk does not keep up with writing", "Try again in a moment; check what else uses the disk."),
    ("token", "the daemon's token cannot be read or written", "Check the file `token` in the home."),
    ("too-slow", "the daemon does not answer in time", "Try again; `ctx doctor` shows what it is doing."),
    ("trust-by-agent", "an agent cannot trust the project it works in", "Run `ctx trust` in a terminal of your own."),
    (
        "trust-unreadable",
        "the list of trusted projects cannot be read",
        "Delete the file, then run `ctx trust` again in each project.",
    ),
    ("unchanged", "the edited text is the same as before", "Nothing was changed."),
    (
        "unknown-conversation",
        "no conversation has this name, or it was purged",
        "Run `ctx conversations` and use an id.",
    ),
    (
        "unknown-id",
        "no frame, step, message or block has this id",
        "Run `ctx list`, or `ctx list --all` for frames that the client left behind.",
    ),
    ("unknown-policy", "there is no such policy", "Run `ctx lab run --help` for the names."),
    ("unplayable", "the recorded conversation cannot be replayed", "The message says why; try another one."),
    ("upstream", "the upstream cannot be reached", "Check the network and `--upstream`."),
    ("upstream-loop", "the upstream is this daemon itself", "Set `--upstream` to the provider."),
    ("upstream-settings", "the upstream's settings are wrong", "Correct the address or the certificates."),
    ("usage", "the command line is wrong", "Run the command with `--help`."),
];

/// Everything that `ctx explain` knows: the daemon's rules and codes, and ours where it has none of that name.
pub fn terms() -> Terms {
    let Terms { mut terms } = ctx_server::explain::known();
    let is_new = |code: &str| !terms.iter().any(|term| term.name == code);
    let own = CODES.iter().filter(|(code, ..)| is_new(code));
    let own: Vec<Term> = own.map(|(code, meaning, advice)| Term::code(code, meaning, advice)).collect();
    terms.extend(own);
    Terms { terms }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => sources(&path, into),
                false => into.push(path),
            }
        }
    }

    /// The literals behind these words in the source, tests aside.
    fn codes_behind(words: &[&str], files: &[PathBuf]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for file in files.iter().filter(|file| !file.ends_with("codes.rs") && !file.ends_with("tests.rs")) {
            let text = std::fs::read_to_string(file).expect("a source file");
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for after in words.iter().flat_map(|word| text.split(word).skip(1)) {
                let literal = after.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
                found.extend(literal.map(str::to_owned));
            }
        }
        found
    }

    #[test]
    fn every_code_that_the_command_line_can_give_is_in_the_table_and_no_other() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
        let mut files = Vec::new();
        sources(&crates.join("cli/src"), &mut files);
        sources(&crates.join("config/src"), &mut files);
        sources(&crates.join("clients/src/setup"), &mut files);
        sources(&crates.join("clients/src/claude_code/install"), &mut files);
        let words = [
            "Failure::new(",
            "ConfigError::new(",
            "SetupError::new(",
            "Self::new(",
            "with_advice(",
            "pub const NOT_WRITABLE: &str =",
        ];
        let mut used = codes_behind(&words, &files);
        used.extend(codes_behind(&["=>"], &[crates.join("cli/src/failure.rs"), crates.join("store/src/error.rs")]));
        used.retain(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        assert_eq!(used, CODES.iter().map(|(code, ..)| (*code).to_owned()).collect::<BTreeSet<_>>());
        assert!(CODES.is_sorted());
    }
}
