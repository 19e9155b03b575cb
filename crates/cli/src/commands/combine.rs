//! `ctx combine`: merges frames into one.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx combine`.
#[derive(Args, Debug)]
#[command(about = help("combine"))]
#[command(after_help = "Examples:
  ctx combine t2 t3
  ctx combine t2..t5 --after t7")]
pub struct Arguments {
    /// Two or more frames: t2 t3, t2..t5 or t3,t7
    #[arg(value_name = "ID", required = true, value_parser = non_empty)]
    ids: Vec<String>,
    /// Place the result after this frame [default: where the first one is]
    #[arg(long, value_name = "ID", value_parser = non_empty)]
    after: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        Ok(Operation::Combine { ids: self.ids.clone(), after: self.after.clone() }.into())
    }
}
