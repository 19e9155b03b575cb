//! `ctx ui`: prints the link to the page.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::platform::browser;

/// Print the link to the page
#[derive(Args, Debug)]
#[command(
    after_help = "The link contains the daemon's token: anyone who has it can read and edit every conversation. On a gateway it
contains nothing, and you sign in on the page.

Examples:
  ctx ui
  ctx ui --open"
)]
pub struct Arguments {
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Link to this conversation
    #[arg(long = "conv", value_name = "ID", value_parser = non_empty)]
    conversation: Option<String>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    // Also verifies that the daemon is running.
    let status = client.status()?;
    let conversation = arguments.conversation.as_deref().map(|name| client.resolve(name)).transpose()?;
    let link = client.page_link(conversation.as_deref());
    if arguments.format.json {
        context.output.json(json!({ "link": link }).to_string().as_bytes())?;
    } else {
        context.output.print(&format!("{link}\n"))?;
    }
    if !status.page {
        context.note("this build has no page; the link explains how to add it");
    }
    if arguments.open {
        browser::open(&link)?;
    }
    Ok(ExitCode::SUCCESS)
}
