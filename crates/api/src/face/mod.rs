//! The readers of a hint, and what each calls a command.

mod page;
mod tools;

use ctx_core::Hint;
use ctx_core::hint::{Command, Part};

/// The header in which a client names the reader of its hints.
pub const HEADER: &str = "ctx-client";

/// The reader of a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Face {
    /// A person at a command line.
    Shell,
    /// A person before the page, or a program without a face of its own.
    #[default]
    Page,
    /// An agent with the tools of the MCP server.
    Tools,
}

impl Face {
    /// The reader that a request names in its header.
    pub fn named(header: Option<&[u8]>) -> Face {
        let known = [Face::Shell, Face::Tools].into_iter();
        known.into_iter().find(|face| header == Some(face.name().as_bytes())).unwrap_or_default()
    }

    /// The value of the header.
    pub fn name(self) -> &'static str {
        match self {
            Face::Shell => "shell",
            Face::Page => "page",
            Face::Tools => "tools",
        }
    }

    /// A hint in the words of this reader.
    pub fn words(self, hint: &Hint) -> String {
        let mut words = String::new();
        for part in hint.parts() {
            let starts = words.is_empty() || words.ends_with(". ") || words.ends_with("? ");
            match part {
                Part::Command(command, given) if self != Face::Shell => {
                    words.push_str(&self.command(*command, given, starts))
                }
                Part::Argument(argument) if self != Face::Shell => words.push_str(&argument.to_string()),
                part => words.push_str(&part.to_string()),
            }
        }
        words
    }

    fn command(self, command: Command, given: &str, starts: bool) -> String {
        let name = match self {
            Face::Page => page::name(command),
            Face::Tools => tools::name(command),
            Face::Shell => None,
        };
        match name {
            Some(name) if starts && self == Face::Page => capital(&name),
            Some(name) => name,
            None => terminal(self, command, given),
        }
    }
}

/// A command that only a terminal has.
fn terminal(face: Face, command: Command, given: &str) -> String {
    let whole = command.with(given.to_owned()).to_string();
    match face {
        Face::Page if command != Command::Version => format!("{whole} in a terminal"),
        _ => whole,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use ctx_core::hint;
    use ctx_core::hint::Argument;

    use super::*;

    #[test]
    fn each_reader_is_told_in_words_of_its_own() {
        for (hint, shell, page, tools) in [
            (
                hint![Command::History, " shows the commit that removed it; ", Command::Revert, " restores it."],
                "`ctx history` shows the commit that removed it; `ctx revert` restores it.",
                "The history shows the commit that removed it; *Revert* restores it.",
                "ctx_status shows the commit that removed it; ctx_undo with `action` revert restores it.",
            ),
            (
                hint!["Did you mean t1? ", Command::List, " shows the ids."],
                "Did you mean t1? `ctx list` shows the ids.",
                "Did you mean t1? The list of frames shows the ids.",
                "Did you mean t1? ctx_list shows the ids.",
            ),
            (
                hint!["Write some text, or use ", Command::Delete, "."],
                "Write some text, or use `ctx delete`.",
                "Write some text, or use *Delete*.",
                "Write some text, or use the operation `delete`.",
            ),
            (
                hint!["Give one of ", Argument::new("after").with("ID"), " and ", Argument::new("larger-than"), "."],
                "Give one of `--after ID` and `--larger-than`.",
                "Give one of `after` ID and `larger_than`.",
                "Give one of `after` ID and `larger_than`.",
            ),
            (
                hint!["Is the disk full? ", Command::Doctor, " checks the store."],
                "Is the disk full? `ctx doctor` checks the store.",
                "Is the disk full? `ctx doctor` in a terminal checks the store.",
                "Is the disk full? `ctx doctor` checks the store.",
            ),
            (
                hint![Command::Steps, " shows them."],
                "`ctx list --steps` shows them.",
                "The list of steps shows them.",
                "ctx_list with `steps_of` shows them.",
            ),
        ] {
            assert_eq!([Face::Shell, Face::Page, Face::Tools].map(|face| face.words(&hint)), [shell, page, tools]);
        }
    }

    #[test]
    fn a_request_names_its_reader_and_others_get_the_words_of_the_page() {
        for face in [Face::Shell, Face::Page, Face::Tools] {
            assert_eq!(Face::named(Some(face.name().as_bytes())), face);
        }
        assert_eq!(Face::named(None), Face::Page);
        assert_eq!(Face::named(Some(b"another")), Face::Page);
    }

    #[test]
    fn the_shell_reads_what_a_hint_displays() {
        let hint = hint!["Run ", Command::Show.with("t3 --raw"), " with ", Argument::new("conv"), "."];
        assert_eq!(Face::Shell.words(&hint), hint.to_string());
    }
}
