//! `ctx retitle`: changes a title in the list; the model does not see it.

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;

use super::change::{ChangeRequest, How};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx retitle`.
#[derive(Args, Debug)]
#[command(about = help("retitle"))]
#[command(after_help = "Examples:
  ctx retitle t3 --title 'Fix the parser'
  ctx retitle t3 --auto")]
pub struct Arguments {
    /// Frame
    #[arg(value_name = "ID", value_parser = non_empty)]
    id: String,
    /// New title
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["summary", "auto"], conflicts_with = "auto")]
    title: Option<String>,
    /// Let the helper model write a title, or extract one
    #[arg(long)]
    auto: bool,
    /// Summary in one sentence
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let (id, title, summary) = (self.id.clone(), self.title.clone(), self.summary.clone());
        Ok(Operation::Retitle { id, title, summary, auto: self.auto }.into())
    }
}
