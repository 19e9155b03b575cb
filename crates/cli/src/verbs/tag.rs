//! `ctx tag`: a name for a commit.

use clap::Args;

use super::change::{How, Wish};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Give a commit a name
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx tag before-the-tests
  ctx tag good 3f9a1b2c4d")]
pub struct Arguments {
    /// Its name
    #[arg(value_name = "NAME", value_parser = non_empty)]
    name: String,
    /// The commit [default: the newest]
    #[arg(value_name = "COMMIT", value_parser = non_empty)]
    commit: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        Ok(Wish::named("tag", &self.name, self.commit.as_ref()))
    }
}
