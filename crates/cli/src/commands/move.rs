//! `ctx move`: moves frames.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Ids, Place};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx move`.
#[derive(Args, Debug)]
#[command(about = help("move"))]
#[command(after_help = "Examples:
  ctx move t5 --after t2
  ctx move t3,t4 --end")]
#[command(mut_group("Place", |place| place.required(true)))]
pub struct Arguments {
    #[command(flatten)]
    what: Ids,
    #[command(flatten)]
    to: Place,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(Operation::Move { ids: self.what.ids.clone(), to: self.to.place() }.into())
    }
}
