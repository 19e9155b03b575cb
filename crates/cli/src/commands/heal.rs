//! `ctx heal`: removes content that the provider refuses and names.

use clap::Args;

use super::change::{ChangeRequest, How};
use crate::context::Context;
use crate::failure::Failure;

/// Repair a conversation that the provider refuses
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx heal --dry-run                      show the problem and the repair
  ctx heal")]
pub struct Arguments {
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(ChangeRequest::Heal)
    }
}
