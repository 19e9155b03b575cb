//! `ctx compact`: a summary takes the place of what it sums up.

use clap::Args;
use ctx_core::edit::Operation;

use super::change::{How, Selected, Wish, text};
use crate::context::Context;
use crate::failure::Failure;

/// Replace frames or steps by a short summary
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx compact t3
  ctx compact t3 --text 'The parser was fixed; all tests pass.'
  ctx show t2 --full | summarise | ctx compact t2 --text -")]
pub struct Arguments {
    #[command(flatten)]
    what: Selected,
    /// The summary; `-` reads it from stdin. Without it the helper writes one (`ctx helper status`), or else ctx
    /// itself takes the telling lines
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        let (ids, select) = (self.what.ids.clone(), self.what.select.select());
        Ok(Operation::Compact { ids, select, text: self.text.as_deref().map(text).transpose()? }.into())
    }
}
