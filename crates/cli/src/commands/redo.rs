//! `ctx redo`: switches the last undone commit on again.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How};
use crate::context::Context;
use crate::failure::Failure;

/// Redo the last undone commit
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx redo
  ctx redo --dry-run")]
pub struct Arguments {
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::history(Action::Redo, None))
    }
}
