//! `ctx compact`: a summary takes the place of what it sums up.

use clap::Args;
use ctx_core::edit::Operation;

use super::change::{How, Selected, Wish, text};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Replace frames or steps by a short summary
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx compact t3
  ctx compact t3 --text 'The parser was fixed; all tests pass.'
  ctx show t2 --full | summarise | ctx compact t2 --text -
  ctx compact --auto --reason 'before the review'   clear what the automatic editor may clear")]
pub struct Arguments {
    #[command(flatten)]
    what: Selected,
    /// The summary; `-` reads it from stdin. Without it the helper writes one (`ctx helper status`), or else ctx
    /// itself takes the telling lines
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Clear now all that the automatic editor may clear, whatever its mode: see `ctx status`
    #[arg(long, conflicts_with_all = ["ids", "text", "tool", "larger_than", "older_than", "superseded", "dry_run", "when"])]
    auto: bool,
    /// Why, for the history and the ledger
    #[arg(long, value_name = "TEXT", requires = "auto", value_parser = non_empty)]
    reason: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        if self.auto {
            return Ok(Wish::Clear { reason: self.reason.clone() });
        }
        let (ids, select) = (self.what.ids.clone(), self.what.select.select());
        Ok(Operation::Compact { ids, select, text: self.text.as_deref().map(text).transpose()? }.into())
    }
}
