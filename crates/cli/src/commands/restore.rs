//! `ctx restore`: restores offloaded content.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Ids};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx restore`.
#[derive(Args, Debug)]
#[command(about = help("restore"))]
#[command(after_help = "Examples:
  ctx restore t3
  ctx restore t2..t5 --note 'needed again'")]
pub struct Arguments {
    #[command(flatten)]
    what: Ids,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(Operation::Restore { ids: self.what.ids.clone() }.into())
    }
}
