//! `ctx rollback`: switches off everything after a commit.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Restore the state after a commit
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx rollback 3f9a1b2c4d
  ctx rollback source                     reverts all edits")]
pub struct Arguments {
    /// Commit, start of its id, tag or branch; `source` is the agent's own request
    #[arg(value_name = "COMMIT", value_parser = non_empty)]
    commit: String,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::history(Action::Rollback, Some(&self.commit)))
    }
}
