//! `ctx branch`: a line of edits of its own over the same conversation.

use clap::Args;

use super::change::{How, Wish};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Begin another line of edits and go there
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx branch trial
  ctx branch trial --at 3f9a1b2c4d")]
pub struct Arguments {
    /// Its name
    #[arg(value_name = "NAME", value_parser = non_empty)]
    name: String,
    /// From this commit on [default: the newest]
    #[arg(long, value_name = "COMMIT", value_parser = non_empty)]
    at: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        Ok(Wish::named("branch", &self.name, self.at.as_ref()))
    }
}
