//! `ctx revert`: switches a commit off, as another commit.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Revert any commit
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx revert                              the newest commit
  ctx revert 3f9a --cascade")]
pub struct Arguments {
    /// Commit, start of its id, or tag [default: the newest]
    #[arg(value_name = "COMMIT", value_parser = non_empty)]
    commit: Option<String>,
    /// Also revert later commits that depend on it
    #[arg(long)]
    cascade: bool,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::History {
            action: Action::Revert,
            target: self.commit.clone(),
            name: None,
            cascade: self.cascade,
        })
    }
}
