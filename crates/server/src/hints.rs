//! Hints are written for the command line, where most of them are read. Whoever has no shell gets the same advice in
//! words of their own: the page and other programs in those of the page, the MCP server in those of its tools.

use ctx_api::error::{CLIENT, SHELL};
use http::HeaderMap;

pub fn is_for_shell(headers: &HeaderMap) -> bool {
    headers.get(CLIENT).is_some_and(|client| client == SHELL)
}

/// A hint in which everything in backquotes that `word` knows is put in its words. It is told whether a sentence starts.
pub fn translated(hint: &str, word: impl Fn(&str, bool) -> Option<String>) -> String {
    // Every second part stands in backquotes, unless one is left open.
    if hint.matches('`').count() % 2 == 1 {
        return hint.to_owned();
    }
    let mut out = String::with_capacity(hint.len());
    for (at, part) in hint.split('`').enumerate() {
        if at % 2 == 0 {
            out.push_str(part);
            continue;
        }
        let starts = out.is_empty() || out.ends_with(". ") || out.ends_with("? ");
        match word(part, starts) {
            Some(word) => out.push_str(&word),
            None => out.extend(["`", part, "`"]),
        }
    }
    out
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A flag as the field of JSON that it stands for; what it takes follows it.
pub fn field(flag: &str) -> Option<String> {
    let flag = flag.strip_prefix("--")?;
    let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
    let space = if value.is_empty() { "" } else { " " };
    Some(format!("`{}`{space}{value}", name.replace('-', "_")))
}

/// A hint for the page, and for programs that are no shell.
pub fn for_page(hint: &str) -> String {
    translated(hint, |command, starts| {
        let word = on_page(command).map(|word| if starts { capital(&word) } else { word });
        field(command).or(word)
    })
}

/// What a command is called on the page.
fn on_page(command: &str) -> Option<String> {
    let (verb, rest) = command.strip_prefix("ctx ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")))?;
    Some(match verb {
        "list" if rest.contains("--steps") => "the list of steps".to_owned(),
        "list" => "the list of frames".to_owned(),
        "show" => "the details".to_owned(),
        "conversations" => "the list of conversations".to_owned(),
        "history" => "the history".to_owned(),
        "timeline" | "why-miss" => "the timeline".to_owned(),
        "waiting" => "the list of pending changes".to_owned(),
        "help" => "the list of operations".to_owned(),
        // Where only a terminal helps, it is said.
        "doctor" | "up" | "stop" | "run" | "ui" | "export" | "config" | "helper" | "phase" | "status" | "install" => {
            format!("`{command}` in a terminal")
        }
        _ if verb.starts_with("--") => return None,
        operation => format!("*{}*", capital(&operation.replace('-', " "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_not_told_to_type_commands() {
        for (shell, page) in [
            (
                "`ctx history` shows what removed it; `ctx revert` brings it back.",
                "The history shows what removed it; *Revert* brings it back.",
            ),
            ("Did you mean t1? `ctx list` shows the ids.", "Did you mean t1? The list of frames shows the ids."),
            ("Give some text, or use `ctx delete`.", "Give some text, or use *Delete*."),
            ("Give one of `--after ID` and `--larger-than`.", "Give one of `after` ID and `larger_than`."),
            (
                "Is the disk full? `ctx doctor` checks the store.",
                "Is the disk full? `ctx doctor` in a terminal checks the store.",
            ),
            ("Name `t3`.", "Name `t3`."),
            ("an odd ` quote", "an odd ` quote"),
        ] {
            assert_eq!(for_page(shell), page);
        }
    }
}
