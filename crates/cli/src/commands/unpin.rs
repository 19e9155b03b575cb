//! `ctx unpin`: allows automatic editing of content again.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Ids};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx unpin`.
#[derive(Args, Debug)]
#[command(about = help("unpin"))]
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
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(Operation::Unpin { ids: self.what.ids.clone() }.into())
    }
}
