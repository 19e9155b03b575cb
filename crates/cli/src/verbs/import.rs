//! `ctx import`: frames of another conversation.

use clap::Args;
use ctx_core::edit::Operation;

use super::change::{How, Ids, Place, Wish};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Copy frames of another conversation into this one
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx import c3f9a1 t2
  ctx import c3f9a1 t2..t4 --start")]
pub struct Arguments {
    /// The conversation to copy from: an id, or the beginning of one
    #[arg(value_name = "CONV", value_parser = non_empty)]
    from: String,
    #[command(flatten)]
    what: Ids,
    #[command(flatten)]
    to: Place,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        let (from, ids, to) = (self.from.clone(), self.what.ids.clone(), self.to.place());
        Ok(Operation::Import { from, ids, to }.into())
    }
}
