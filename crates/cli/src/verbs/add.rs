//! `ctx add`: a frame that nobody said.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_core::edit::Operation;
use ctx_core::message::Role;

use super::change::{How, Place, Wish, text};
use crate::context::Context;
use crate::failure::Failure;

/// Add a frame
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx add --text 'Use tabs in this project.' --start
  git diff | ctx add --text - --after t2 --title 'My changes'")]
pub struct Arguments {
    /// What it says; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// Who says it
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = role())]
    role: Role,
    /// Its title in the list
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    to: Place,
    #[command(flatten)]
    pub how: How,
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(["user", "assistant"])
        .map(|name| if name == "assistant" { Role::Assistant } else { Role::User })
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        let (to, title) = (self.to.place(), self.title.clone());
        Ok(Operation::Add { text: text(&self.text)?, role: self.role, to, title }.into())
    }
}
