//! The skill `/compose-context`: instructions for the agent.

use crate::setup::shell::quoted;
use crate::setup::skill::{Wording, worded};

pub use crate::setup::skill::NAME;

/// The commands that the agent may run without asking. Excluded: `run` starts any program, `purge` deletes for good,
/// `stop` ends a shared daemon, and others write files.
pub const ALLOWED: [&str; 10] =
    ["list", "show", "search", "status", "history", "diff", "preview", "batch", "undo", "revert"];

/// The text for an agent that calls the program by this name or path.
pub fn text(program: &str) -> String {
    let command = quoted(program);
    let allowed: Vec<String> = ALLOWED.iter().map(|verb| format!("Bash({command} {verb}:*)")).collect();
    let head = "argument-hint: what to drop, summarise, compact, ...\nallowed-tools: ";
    let wording = Wording {
        head: &format!("{head}{}\n", allowed.join(", ")),
        request: "The user asks: $ARGUMENTS\n\n",
        newest: "The newest frame is this one.",
        quoting: "Do not use here-documents or pipes: they need a permission. ",
        conversation: "No `--force`, no `--conv`: edit this conversation only.",
    };
    worded(&wording, program)
}

#[cfg(test)]
mod tests {
    use ctx_core::edit::Operation;

    use super::*;

    #[test]
    fn every_operation_in_it_is_one() {
        let text = text("ctx");
        let mut found = 0;
        for part in text.split('`').chain(text.split('\'')) {
            for line in part.lines().map(str::trim).filter(|line| line.starts_with("{\"op\":") && line.ends_with('}')) {
                serde_json::from_str::<Operation>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
                found += 1;
            }
        }
        assert!(found >= 10, "{found}");
    }

    #[test]
    fn the_client_replaces_nothing_in_it_but_the_arguments() {
        let text = text("/opt/my ctx");
        assert_eq!(text.matches('$').count(), 1, "only $ARGUMENTS");
        assert!(!text.contains("!`"), "nothing is run when it is read");
        assert!(!text.contains("{ctx}") && !text.contains("{allowed}"));
        assert!(text.contains("Bash('/opt/my ctx' batch:*)"), "{text}");
    }

    #[test]
    fn whoever_changes_something_says_which_head_it_saw() {
        let text = text("ctx");
        let changes: Vec<&str> = text.lines().filter(|line| line.contains("ctx batch - ")).collect();
        assert!(changes.len() >= 2 && changes.iter().all(|line| line.contains("--expect HEAD")), "{changes:?}");
    }

    #[test]
    fn it_is_short() {
        // About four characters per token.
        assert!(text("ctx").len() < 6_000, "{}", text("ctx").len());
    }
}
