//! `ctx add`: adds a frame with your own text.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_api::operations::help;
use ctx_core::edit::Operation;
use ctx_core::message::Role;

use super::change::{ChangeRequest, How, Place, read, text, without_last_newline};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx add`.
#[derive(Args, Debug)]
#[command(about = help("add"))]
#[command(after_help = "Examples:
  ctx add --text 'Use tabs in this project.' --start
  ctx add --file STYLE.md --start --title 'House style'
  git diff | ctx add --text - --after t2 --title 'My changes'")]
#[command(group = clap::ArgGroup::new("content").args(["text", "file"]).required(true))]
pub struct Arguments {
    /// Text; `-` reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Role of the message
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = role())]
    role: Role,
    /// Title in the list
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
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let (to, title) = (self.to.place(), self.title.clone());
        let text = match &self.file {
            Some(file) => without_last_newline(read(file)?),
            None => text(self.text.as_deref().unwrap_or_default())?,
        };
        Ok(Operation::Add { text, role: self.role, to, title }.into())
    }
}
