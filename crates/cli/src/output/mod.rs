//! Output to a terminal or a pipe: colours, tables, safe text. The content belongs to the verbs.

pub mod bar;
pub mod busy;
pub mod date;
pub mod difference;
pub mod file;
pub mod markdown;
pub mod paint;
pub mod table;
pub mod text;
pub mod words;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

pub use self::paint::Paint;
use crate::env::{self, Environment};

/// The output and its capabilities.
#[derive(Clone, Debug)]
pub struct Output {
    pub paint: Paint,
    pub for_errors: Paint,
    /// Columns of the terminal; none in a pipe, where nothing is cut.
    pub width: Option<usize>,
    width_for_errors: Option<usize>,
    is_terminal: bool,
}

impl Output {
    pub fn of_process(environment: &Environment) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let paint = |is_terminal| paint_for(environment, is_terminal);
        let is_terminal = out.is_terminal();
        let columns = |(terminal_size::Width(columns), _)| usize::from(columns);
        let width = terminal_size::terminal_size_of(&out).map(columns);
        let width_for_errors = terminal_size::terminal_size_of(&err).map(columns);
        Self {
            paint: paint(is_terminal),
            for_errors: paint(err.is_terminal()),
            width: width.filter(|_| is_terminal),
            width_for_errors: width_for_errors.filter(|_| err.is_terminal()),
            is_terminal,
        }
    }

    /// Without colours or cutting.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self {
            paint: Paint::plain(),
            for_errors: Paint::plain(),
            width: None,
            width_for_errors: None,
            is_terminal: false,
        }
    }

    /// A terminal with colours.
    #[cfg(test)]
    pub fn coloured() -> Self {
        Self { paint: Paint::coloured(), ..Self::plain() }
    }

    /// A terminal of this many columns, without colours.
    #[cfg(test)]
    pub fn narrow(width: usize) -> Self {
        Self { width: Some(width), ..Self::plain() }
    }

    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints text for people. Verbs make foreign text safe where they insert it; this is a second barrier, which lets
    /// only our own colours through. On a terminal, long lines are wrapped between words.
    pub fn print(&self, text: &str) -> io::Result<()> {
        write(wrapped(&text::printable(text), self.width).as_bytes())
    }

    /// The same without wrapping: for content that is copied, such as code.
    pub fn print_lines(&self, text: &str) -> io::Result<()> {
        write(text::printable(text).as_bytes())
    }

    /// Prints text for people to stderr.
    pub fn print_error(&self, text: &str) {
        eprint!("{}", wrapped(text, self.width_for_errors));
    }

    /// Prints JSON unchanged, and ends the line. On a terminal, control characters are replaced by equivalent JSON
    /// escapes.
    pub fn json(&self, json: &[u8]) -> io::Result<()> {
        let mut bytes = self.harmless(json).into_owned();
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        write(&bytes)
    }

    /// Prints these exact bytes, which are JSON. On a terminal, control characters are replaced as in [`Output::json`].
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        write(&self.harmless(bytes))
    }

    fn harmless<'b>(&self, json: &'b [u8]) -> Cow<'b, [u8]> {
        match self.is_terminal {
            true => Cow::Owned(text::json(&String::from_utf8_lossy(json)).into_owned().into_bytes()),
            false => Cow::Borrowed(json),
        }
    }
}

fn wrapped(text: &str, width: Option<usize>) -> Cow<'_, str> {
    width.map_or(Cow::Borrowed(text), |width| Cow::Owned(text::wrap_page(text, width)))
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Colours only for terminals that support them, and unless the user disables them.
fn paint_for(environment: &Environment, is_terminal: bool) -> Paint {
    let is_dull = environment.get(env::NO_COLOR).is_some()
        || environment.text(env::TERM).is_some_and(|terminal| terminal == "dumb");
    if is_terminal && !is_dull { Paint::coloured() } else { Paint::plain() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_and_for_those_who_want_them() {
        let coloured =
            |is_terminal, variables: &[(&str, &str)]| paint_for(&Environment::of(variables), is_terminal).is_coloured();
        assert!(coloured(true, &[("TERM", "xterm-256color")]) && coloured(true, &[]));
        assert!(coloured(true, &[("NO_COLOR", "")]), "an empty one says nothing");
        assert!(!coloured(true, &[("NO_COLOR", "1")]) && !coloured(true, &[("TERM", "dumb")]));
        assert!(!coloured(false, &[]), "a pipe gets none");
    }

    #[test]
    fn a_pipe_gets_the_exact_bytes_and_a_terminal_none_that_it_obeys() {
        let bytes = "{\"a\":\"\u{1b}]0;x\u{7}\u{9b}2J\u{202e}é\"}\n".as_bytes();
        assert_eq!(Output::plain().harmless(bytes), bytes);
        let terminal = Output { is_terminal: true, ..Output::plain() };
        let shown = String::from_utf8(terminal.harmless(bytes).into_owned()).expect("text");
        assert_eq!(shown, "{\"a\":\"\\u001b]0;x\\u0007\\u009b2J\\u202eé\"}\n");
        let broken = terminal.harmless(b"\xff\x1b[2J").into_owned();
        assert!(!broken.contains(&0x1b), "{broken:?}");
    }
}
