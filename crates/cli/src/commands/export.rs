//! `ctx export`: writes a conversation with its history to a file.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::of_conversation;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::busy::Busy;
use crate::output::{self, words};

/// Export a conversation with its history to a file
#[derive(Args, Debug)]
#[command(
    after_help = "The file contains the whole conversation, including deleted and offloaded content, but no request credentials. Only you
can read it. The format is JSON lines with a checksum.

Examples:
  ctx export                              writes ID.ctx
  ctx export --conv c3f9 - | zstd > farm.ctx.zst
  ctx import --file c3f9a1.ctx"
)]
pub struct Arguments {
    /// File to write; `-` writes to stdout [default: ID.ctx]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let to_stdout = arguments.file.as_deref().is_some_and(|file| file.to_str() == Some("-"));
    if to_stdout && arguments.format.json {
        return Err(Failure::usage("--json needs a file, not `-`"));
    }
    let client = context.client()?;
    let id = client.resolve(&arguments.conversation.conversation)?;
    let file = arguments.file.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.ctx")));
    if !to_stdout && !arguments.force && fs::symlink_metadata(&file).is_ok() {
        return Err(output::file::taken(&file));
    }
    let busy = Busy::start("exporting");
    let mut progress = |bytes| busy.say(format!("exporting, {}", words::bytes(bytes)));
    let content = client.download(&of_conversation(&id, "export"), &mut progress)?;
    drop(busy);
    if to_stdout {
        context.output.bytes(&content)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::file::keep(&file, &content, arguments.force)?;
    if arguments.format.json {
        let told = json!({ "conversation": id, "file": file, "bytes": content.len() });
        context.output.json(told.to_string().as_bytes())?;
    } else {
        let size = words::bytes(content.len() as u64);
        let told = crate::output::text::line(&format!("written to {}", file.display()));
        context.output.print(&format!(
            "{}  {told}  {}\n",
            context.output.paint.id(&id),
            context.output.paint.faint(&size)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
