//! Recognises search calls.

use crate::tool::ToolRole;

/// Commands that search.
const COMMANDS: [&str; 10] = ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "find", "fd", "ls"];
/// Commands that may precede the main one.
const BEFORE: [&str; 5] = ["cd", "pushd", "export", "set", "echo"];

/// Whether a call searches, by its tool or by its command.
pub fn is_search(role: ToolRole, command: Option<&str>) -> bool {
    role.searches() || role == ToolRole::Shell && command.is_some_and(searches)
}

/// Matches `rg words`, also after `cd folder &&` or `cd folder;`, and with variables before it.
fn searches(command: &str) -> bool {
    program(command).is_some_and(|(program, verb)| COMMANDS.contains(&program) || program == "git" && verb == "grep")
}

/// The main program of a command, without its folder, and the word behind it.
pub(super) fn program(command: &str) -> Option<(&str, &str)> {
    let is_variable = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
    };
    for part in command.split(['\n', ';']).flat_map(|part| part.split("&&")) {
        let mut words = part.split_whitespace().skip_while(is_variable);
        let Some(program) = words.next() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        if !BEFORE.contains(&program) {
            return Some((program, words.next().unwrap_or_default()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_told_by_tool_and_command() {
        assert!(
            is_search(ToolRole::Search, None) && is_search(ToolRole::Fetch, None) && is_search(ToolRole::Find, None)
        );
        for command in [
            "rg foo src",
            "ls",
            "cd src && rg foo | head",
            "cd /p; grep -r x .",
            "LC_ALL=C A= grep x y",
            "export A=1\ncd b && A=2 /usr/bin/find . -name x",
            " git grep foo",
        ] {
            assert!(is_search(ToolRole::Shell, Some(command)), "{command}");
        }
        for command in ["cargo test", "cd src && make", "git log", "lsof", "make; ls", "cd src", "A=1", ""] {
            assert!(!is_search(ToolRole::Shell, Some(command)), "{command}");
        }
        assert!(!is_search(ToolRole::Read, None) && !is_search(ToolRole::Other, Some("rg foo")));
    }
}
