//! `ctx batch`: applies several operations as one commit, all or nothing.

use std::path::PathBuf;

use clap::Args;

use super::change::{ChangeRequest, How, read};
use super::plan::file::{self, Only};
use crate::context::Context;
use crate::failure::Failure;

/// Apply several operations as one commit
#[derive(Args, Debug)]
#[command(
    after_help = "Each line is one operation in JSON, as in the control API; \"reason\" is optional. Blank lines and lines that start
with # are skipped. A plan for `ctx plan` works too.

Examples:
  ctx batch tidy.jsonl
  ctx batch tidy.jsonl --dry-run          show the effect and the risk of each line
  echo '{\"op\":\"delete\",\"ids\":[\"t3\"]}' | ctx batch -"
)]
pub struct Arguments {
    /// File of operations; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Apply only these operations, counted from 1: 1,3 or 2..4
    #[arg(long, value_name = "N,N")]
    only: Option<Only>,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        let only = self.only.clone().map(|only| only.0).unwrap_or_default();
        Ok(ChangeRequest::Plan { plan: file::read(&read(&self.file)?)?, only })
    }
}
