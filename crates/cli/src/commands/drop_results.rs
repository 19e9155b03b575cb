//! `ctx drop-results`: replaces tool results with a placeholder and keeps the calls.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How, Results};
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx drop-results`.
#[derive(Args, Debug)]
#[command(about = help("drop-results"))]
#[command(after_help = "Examples:
  ctx drop-results t3 --tool Read
  ctx drop-results --larger-than 2000 --older-than 5")]
pub struct Arguments {
    #[command(flatten)]
    what: Results,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let Results { ids, select, result } = &self.what;
        Ok(Operation::DropResults { ids: ids.clone(), select: select.select(), result: result.clone() }.into())
    }
}
