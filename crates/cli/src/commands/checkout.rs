//! `ctx checkout`: checks out a branch of edits.

use clap::Args;
use ctx_api::history::Action;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Check out a branch of edits
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx checkout trial
  ctx checkout source                     the branch `unedited`, without edits")]
pub struct Arguments {
    /// Name of the branch
    #[arg(value_name = "NAME", value_parser = non_empty)]
    name: String,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::named(Action::Checkout, &self.name, None))
    }
}
