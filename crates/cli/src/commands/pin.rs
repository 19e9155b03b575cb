//! `ctx pin`: exempts content from automatic editing.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Ids};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx pin`.
#[derive(Args, Debug)]
#[command(about = help("pin"))]
#[command(after_help = "Examples:
  ctx pin t1
  ctx pin t2..t5,t9")]
pub struct Arguments {
    #[command(flatten)]
    what: Ids,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(Operation::Pin { ids: self.what.ids.clone() }.into())
    }
}
