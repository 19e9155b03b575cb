//! `ctx compact`: replaces content with a summary.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Selection, text};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx compact`.
#[derive(Args, Debug)]
#[command(about = help("compact"))]
#[command(after_help = "Examples:
  ctx compact t3
  ctx compact t3 --text 'The parser was fixed; all tests pass.'
  ctx compact --auto --reason 'before the review'")]
pub struct Arguments {
    /// Frames, steps or parts: t3, t3/5..9; several: t2..t5 or t3,t7
    #[arg(value_name = "ID", required_unless_present_any = ["tool", "larger_than", "older_than", "superseded", "auto"], value_parser = non_empty)]
    ids: Vec<String>,
    #[command(flatten)]
    select: Selection,
    /// Summary; `-` reads stdin [default: written by the helper model, or extracted: see `ctx helper`]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Clear everything that automatic editing may clear, in any mode
    #[arg(long, conflicts_with_all = ["ids", "text", "tool", "larger_than", "older_than", "superseded", "dry_run", "when"])]
    auto: bool,
    /// With --auto: reason, for the history and the ledger
    #[arg(long, value_name = "TEXT", value_parser = non_empty)]
    reason: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        if self.auto {
            return Ok(ChangeRequest::Clear { reason: self.reason.clone() });
        }
        if self.reason.is_some() {
            return Err(Failure::usage("`--reason` needs `--auto`").hint("use `--note` for other edits"));
        }
        let (ids, select) = (self.ids.clone(), self.select.select());
        Ok(Operation::Compact { ids, select, text: self.text.as_deref().map(text).transpose()? }.into())
    }
}
