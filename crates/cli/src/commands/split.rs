//! `ctx split`: splits a frame into several.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx split`.
#[derive(Args, Debug)]
#[command(about = format!("{}: t3.1, t3.2, …", help("split")))]
#[command(after_help = "Examples:
  ctx split t3 --at-step 5,9
  ctx split t3 --each-step
  ctx split t3 --at 4                     splits before t3#4")]
pub struct Arguments {
    /// Frame
    #[arg(value_name = "ID", value_parser = non_empty)]
    id: String,
    #[command(flatten)]
    cuts: Cuts,
    #[command(flatten)]
    pub how: How,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Cuts {
    /// Split before these messages: 4 is t3#4
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    at: Vec<usize>,
    /// Split before these steps: 5 is t3/5
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    at_step: Vec<usize>,
    /// Split before every step
    #[arg(long)]
    each_step: bool,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let Cuts { at, at_step, each_step } = &self.cuts;
        let (at, at_step) = (at.clone(), at_step.clone());
        Ok(Operation::Split { id: self.id.clone(), at, at_step, each_step: *each_step }.into())
    }
}
