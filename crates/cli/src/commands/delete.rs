//! `ctx delete`: removes content from the request until the commit is reverted.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, SelectedContent};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx delete`.
#[derive(Args, Debug)]
#[command(about = help("delete"))]
#[command(after_help = "Examples:
  ctx delete t2..t5
  ctx delete t3/5..9 tools/WebSearch
  ctx delete --tool Read --larger-than 2000 --older-than 5")]
pub struct Arguments {
    #[command(flatten)]
    what: SelectedContent,
    /// Also delete protected parts
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let (ids, select) = (self.what.ids.clone(), self.what.select.select());
        Ok(Operation::Delete { ids, select, force: self.force }.into())
    }
}
