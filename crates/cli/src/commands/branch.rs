//! `ctx branch`: creates, lists and deletes branches of edits.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How, Names};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Create and check out a branch of edits, or list the branches
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx branch                              list them; * marks the one checked out
  ctx branch trial --at 3f9a1b2c4d
  ctx branch --delete trial")]
pub struct Arguments {
    /// Name of the new branch
    #[arg(value_name = "NAME", value_parser = non_empty)]
    name: Option<String>,
    /// Start at this commit [default: the head]
    #[arg(long, value_name = "COMMIT", requires = "name", value_parser = non_empty)]
    at: Option<String>,
    /// Delete this branch; its commits stay
    #[arg(long, short, value_name = "NAME", conflicts_with = "name", value_parser = non_empty)]
    delete: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(match (&self.name, &self.delete) {
            (Some(name), _) => ChangeRequest::named(Action::Branch, name, self.at.as_ref()),
            (None, Some(name)) => ChangeRequest::named(Action::RemoveBranch, name, None),
            (None, None) => ChangeRequest::Look(Names::Branches),
        })
    }
}
