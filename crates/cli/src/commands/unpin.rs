//! `ctx unpin`: policies may touch it again.

use clap::Args;
use ctx_core::edit::Operation;

use super::change::{How, Ids, Wish};
use crate::context::Context;
use crate::failure::Failure;

/// Unpin frames
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx unpin t1
  ctx unpin t2..t5,t9")]
pub struct Arguments {
    #[command(flatten)]
    what: Ids,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        Ok(Operation::Unpin { ids: self.what.ids.clone() }.into())
    }
}
