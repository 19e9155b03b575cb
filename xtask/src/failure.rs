//! The failure of a task: the problem and its remedy.

use std::fmt;

pub type Outcome<T = ()> = Result<T, Failure>;

#[derive(Debug)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    exit_code: u8,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Failure { what: what.into(), hint: None, exit_code: 1 }
    }

    pub fn usage(what: impl Into<String>) -> Self {
        Failure { what: what.into(), hint: Some("`cargo xtask help` lists the chores".into()), exit_code: 2 }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "failed: {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}
