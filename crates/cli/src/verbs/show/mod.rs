//! `ctx show ID`: one frame, step, message or block, readable or exactly as it is.

pub mod readable;

use std::process::ExitCode;

use clap::Args;
use ctx_composer::view::Shown;

use crate::arguments::{AtArguments, ConversationArguments, JsonArguments, non_empty};
use crate::client::{encoded, of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;

/// Lines of a thinking block, a call or a result that are shown when it is folded.
const FOLDED_LINES: usize = 8;

/// Show what an id stands for
#[derive(Args, Debug)]
#[command(after_help = "Ids:
  system  tools  tools/Bash   the system prompt, the tools, one tool
  t3  t3/5  t3/5..9           a frame, one of its steps, several
  t3#2  t3#2.1                a message of a frame, a block of it

Examples:
  ctx show t3
  ctx show t3/5 --full
  ctx show 't3#2.1' --raw | jq .input")]
pub struct Arguments {
    /// What to show (`ctx list --steps` shows all ids)
    #[arg(value_name = "ID", value_parser = non_empty)]
    id: String,
    /// Print the blocks as they stand in the request, one JSON value after the other
    #[arg(long, conflicts_with_all = ["full", "lines", "json"])]
    raw: bool,
    /// Fold nothing
    #[arg(long, conflicts_with = "lines")]
    full: bool,
    /// Lines to show of what is folded
    #[arg(long, value_name = "N", default_value_t = FOLDED_LINES)]
    lines: usize,
    #[command(flatten)]
    at: AtArguments,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = arguments.at.of(&format!("frames/{}", encoded(&arguments.id, "/")));
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Shown = understood(&answer)?;
    if arguments.raw {
        let blocks = shown.messages.iter().flat_map(|message| &message.blocks);
        for block in blocks.filter(|block| block.is_sent()) {
            if let Some(raw) = &block.raw {
                context.output.json(raw.get().as_bytes())?;
            }
        }
    } else {
        let most = if arguments.full { usize::MAX } else { arguments.lines };
        context.output.print(&readable::render(&shown, most, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}
