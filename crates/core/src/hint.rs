//! Advice that goes with an error. A command has another name for each reader: a person in a terminal types `ctx history`,
//! the page has a list, an agent has a tool. A hint therefore holds commands and arguments as values, and `ctx_api::face`
//! writes them for the reader.

use std::borrow::Cow;
use std::fmt;

/// A hint of texts, commands and arguments in sequence.
#[macro_export]
macro_rules! hint {
    ($($part:expr),+ $(,)?) => { $crate::hint::Hint::from_iter([$($crate::hint::Part::from($part)),+]) };
}

/// The remedy for an error. Its `Display` is that of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint(Vec<Part>);

/// A part of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words that fit every reader.
    Text(Cow<'static, str>),
    /// Something to do or to look at, and the arguments of the command.
    Command(Command, Cow<'static, str>),
    /// Something to give with the same request.
    Argument(Argument),
    /// A field of the JSON that the reader wrote.
    Field(Argument),
}

/// An argument of an operation or a request, by the name of its flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Such as `larger-than`.
    pub flag: &'static str,
    /// An example or a placeholder.
    pub value: Option<String>,
}

/// Declares the commands with their words.
macro_rules! commands {
    ($($command:ident = $words:literal,)*) => {
        /// Something to do or to look at, by its command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Command {
            $(#[doc = concat!("`ctx ", $words, "`")] $command,)*
        }

        impl Command {
            /// All commands.
            pub const ALL: &[Command] = &[$(Command::$command),*];

            /// The words behind `ctx`.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Command::$command => $words,)*
                }
            }
        }
    };
}

commands! {
    Add = "add",
    Branch = "branch",
    Checkout = "checkout",
    Combine = "combine",
    Config = "config check",
    Conversations = "conversations",
    Delete = "delete",
    Doctor = "doctor",
    DropResults = "drop-results",
    Edit = "edit",
    Export = "export",
    Helper = "helper status",
    History = "history",
    Import = "import",
    List = "list",
    Misses = "why-miss",
    Move = "move",
    Operations = "help",
    Page = "ui",
    Phase = "phase",
    Redo = "redo",
    Revert = "revert",
    Rollback = "rollback",
    Run = "run",
    Sent = "sent",
    Show = "show",
    Split = "split",
    Status = "status",
    Steps = "list --steps",
    Stop = "stop",
    SummarizeResults = "summarize-results",
    Timeline = "timeline",
    Undo = "undo",
    Up = "up",
    Version = "--version",
    Waiting = "waiting",
}

impl Command {
    /// The command with its arguments.
    pub fn with(self, arguments: impl Into<Cow<'static, str>>) -> Part {
        Part::Command(self, arguments.into())
    }
}

impl Argument {
    /// An argument without a value.
    pub const fn new(flag: &'static str) -> Argument {
        Argument { flag, value: None }
    }

    /// The argument with an example or a placeholder.
    pub fn with(self, value: impl Into<String>) -> Argument {
        Argument { value: Some(value.into()), ..self }
    }
}

impl Hint {
    /// The parts in sequence.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Whether there is no advice.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hint behind some words.
    pub fn after(mut self, words: impl Into<Part>) -> Hint {
        self.0.insert(0, words.into());
        self
    }

    /// The hint with its texts rewritten.
    pub fn map_text(self, rewrite: impl Fn(&str) -> String) -> Hint {
        let rewritten = |part| match part {
            Part::Text(text) => Part::Text(rewrite(&text).into()),
            other => other,
        };
        self.0.into_iter().map(rewritten).collect()
    }

    /// The hint for a reader who wrote JSON: its arguments are fields.
    pub fn with_fields(self) -> Hint {
        let field = |part| match part {
            Part::Argument(argument) => Part::Field(argument),
            other => other,
        };
        self.0.into_iter().map(field).collect()
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Text(text) => f.write_str(text),
            Part::Command(command, given) if given.is_empty() => write!(f, "`ctx {}`", command.words()),
            Part::Command(command, given) => write!(f, "`ctx {} {given}`", command.words()),
            Part::Argument(Argument { flag, value: None }) => write!(f, "`--{flag}`"),
            Part::Argument(Argument { flag, value: Some(value) }) => write!(f, "`--{flag} {value}`"),
            Part::Field(argument) => argument.fmt(f),
        }
    }
}

/// The argument as a field of JSON.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.flag.replace('-', "_"))?;
        self.value.iter().try_for_each(|value| write!(f, " {value}"))
    }
}

impl FromIterator<Part> for Hint {
    fn from_iter<T: IntoIterator<Item = Part>>(parts: T) -> Hint {
        Hint(parts.into_iter().collect())
    }
}

impl<T: Into<Part>> From<T> for Hint {
    fn from(part: T) -> Hint {
        match part.into() {
            Part::Text(text) if text.is_empty() => Hint::default(),
            part => Hint(vec![part]),
        }
    }
}

impl From<&'static str> for Part {
    fn from(text: &'static str) -> Part {
        debug_assert!(!text.contains("`ctx ") && !text.contains("`--"), "use a command or an argument: {text}");
        Part::Text(text.into())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text.into())
    }
}

impl From<Command> for Part {
    fn from(command: Command) -> Part {
        command.with("")
    }
}

impl From<Argument> for Part {
    fn from(argument: Argument) -> Part {
        Part::Argument(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_commands_and_flags_in_a_terminal_and_fields_with_fields() {
        let hint = hint![
            "Give one of ",
            Argument::new("after").with("ID"),
            " and ",
            Argument::new("larger-than"),
            "; ",
            Command::Show.with("t3 --raw"),
            " shows it."
        ];
        assert_eq!(hint.to_string(), "Give one of `--after ID` and `--larger-than`; `ctx show t3 --raw` shows it.");
        assert_eq!(
            hint.with_fields().to_string(),
            "Give one of `after` ID and `larger_than`; `ctx show t3 --raw` shows it."
        );
        assert!(Hint::from("").is_empty());
    }
}
