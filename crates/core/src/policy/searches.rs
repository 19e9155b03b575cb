//! Searches: recognises search calls, and limits the share of their results in the context.

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
    let is_variable = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
    };
    for part in command.split(['\n', ';']).flat_map(|part| part.split("&&")) {
        let mut words = part.split_whitespace().skip_while(is_variable);
        let Some(program) = words.next() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        if !BEFORE.contains(&program) {
            return COMMANDS.contains(&program) || program == "git" && words.next() == Some("grep");
        }
    }
    false
}

/// The number of oldest searches to clear at once when all of them exceed `total` tokens: enough to free half of it,
/// because otherwise each further search would break the cache again. `old`: tokens of the clearable searches, oldest
/// first; `others`: tokens of recent or preserved ones. If `others` alone exceed `total`, nothing is cleared until half
/// of `total` can be.
pub fn beyond(old: &[u64], others: u64, total: u64) -> usize {
    let mut left: u64 = old.iter().sum();
    if left + others <= total || (others > total && left < total / 2) {
        return 0;
    }
    let goes = |tokens: &&u64| {
        let is_over = left + others > total / 2;
        left -= if is_over { **tokens } else { 0 };
        is_over
    };
    old.iter().take_while(goes).count()
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

    #[test]
    fn the_oldest_go_until_all_of_them_are_within_the_budget() {
        assert_eq!(beyond(&[1_500; 4], 7_500, 15_000), 0, "within it");
        assert_eq!(beyond(&[1_500; 6], 7_500, 15_000), 6, "half of it is free again");
        assert_eq!(beyond(&[1_500; 10], 3_000, 15_000), 7);
        assert_eq!(beyond(&[1_000], 14_500, 15_000), 1);
        assert_eq!(beyond(&[2_000; 2], 9_500, 6_000), 2, "the recent ones are too much by themselves");
        assert_eq!(beyond(&[1_900], 9_500, 6_000), 0, "that would cut the cache for one");
        assert_eq!(beyond(&[], 9_500, 6_000), 0);
    }
}
