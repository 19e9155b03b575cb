//! `ctx tag`: names commits.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How, Names};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Tag a commit, or list the tags
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx tag before-the-tests
  ctx tag good 3f9a1b2c4d
  ctx tag --delete good")]
pub struct Arguments {
    /// Name of the tag
    #[arg(value_name = "NAME", value_parser = non_empty)]
    name: Option<String>,
    /// Commit [default: the head]
    #[arg(value_name = "COMMIT", value_parser = non_empty)]
    commit: Option<String>,
    /// Delete this tag; the commit stays
    #[arg(long, short, value_name = "NAME", conflicts_with = "name", value_parser = non_empty)]
    delete: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(match (&self.name, &self.delete) {
            (Some(name), _) => ChangeRequest::named(Action::Tag, name, self.commit.as_ref()),
            (None, Some(name)) => ChangeRequest::named(Action::RemoveTag, name, None),
            (None, None) => ChangeRequest::Look(Names::Tags),
        })
    }
}
