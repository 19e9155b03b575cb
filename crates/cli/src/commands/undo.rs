//! `ctx undo`: switches the newest active commit off.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How};
use crate::context::Context;
use crate::failure::Failure;

/// Undo the newest commit
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx undo
  ctx undo --dry-run")]
pub struct Arguments {
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::history(Action::Undo, None))
    }
}
