//! `ctx summarize-results`: replaces tool results with summaries and keeps the calls.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Results, text};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx summarize-results`.
#[derive(Args, Debug)]
#[command(about = help("summarize-results"))]
#[command(after_help = "Without --text, each result gets its own summary. --text needs a single result.

Examples:
  ctx summarize-results t3
  ctx summarize-results t3/5 --text 'The file defines three traits.'
  ctx summarize-results --result toolu_01A --text 'All 312 tests pass.'")]
pub struct Arguments {
    #[command(flatten)]
    what: Results,
    /// Summary; `-` reads stdin [default: written by the helper model, or extracted: see `ctx helper`]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let Results { ids, select, result } = &self.what;
        let (ids, select, result) = (ids.clone(), select.select(), result.clone());
        Ok(Operation::SummarizeResults { ids, select, result, text: self.text.as_deref().map(text).transpose()? }
            .into())
    }
}
