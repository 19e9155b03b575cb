//! Offers to start the daemon if none is running. Only a person at a terminal is asked; a script gets an error.

use std::io::{self, BufRead, IsTerminal, Write};

use ctx_core::ErrorCode;

use crate::arguments::DaemonArguments;
use crate::client::Client;
use crate::commands::run;
use crate::context::Context;
use crate::failure::Failure;

/// Whether a person can read the question and answer it.
pub fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the daemon that was found, or starts one if the user agrees.
pub fn or_start(found: Result<Client, Failure>, context: &Context) -> Result<Client, Failure> {
    match found {
        Err(failure) if failure.code == ErrorCode::NoDaemon => {
            if !agrees(&mut io::stdin().lock(), &mut io::stderr())? {
                return Err(failure);
            }
            run::start(DaemonArguments::default().flags(&context.place)?, context)?;
            context.found()
        }
        found => found,
    }
}

/// Enter means yes; end of input means no.
fn agrees(input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<bool> {
    loop {
        write!(out, "No daemon is running. Start it? [Y/n] ")?;
        out.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            writeln!(out)?;
            return Ok(false);
        }
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_and_yes_agree_and_an_answer_that_is_none_is_asked_for_again() {
        let asked = |answer: &str| {
            let mut out = Vec::new();
            let agreed = agrees(&mut answer.as_bytes(), &mut out).expect("asked");
            (agreed, String::from_utf8(out).expect("text").matches("Start it? [Y/n]").count())
        };
        for yes in ["\n", "y\n", "YES\n"] {
            assert_eq!(asked(yes), (true, 1), "{yes}");
        }
        for no in ["n\n", "No\n", ""] {
            assert_eq!(asked(no), (false, 1), "{no}");
        }
        assert_eq!(asked("what?\nn\n"), (false, 2));
    }
}
