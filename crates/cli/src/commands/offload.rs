//! `ctx offload`: moves content to a file and leaves a note with its path.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, SelectedContent, text};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx offload`.
#[derive(Args, Debug)]
#[command(about = help("offload"))]
#[command(after_help = "Examples:
  ctx offload t3 --summary 'The log of the failed build'
  ctx offload --tool Bash --larger-than 5000
  ctx restore t3                          undo it")]
pub struct Arguments {
    #[command(flatten)]
    what: SelectedContent,
    /// Summary for the note; `-` reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let (ids, select) = (self.what.ids.clone(), self.what.select.select());
        let summary = self.summary.as_deref().map(text).transpose()?;
        Ok(Operation::Offload { ids, select, summary }.into())
    }
}
