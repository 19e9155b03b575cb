//! `ctx show ID…`: shows frames, steps, messages or blocks, formatted or raw.

mod raw;
pub mod readable;

use std::process::ExitCode;

use clap::Args;
use ctx_api::show::ContentView;
use ctx_core::ErrorCode;

use crate::arguments::{AtArguments, ConversationArguments, JsonArguments, non_empty};
use crate::client::{encoded, of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;

/// Lines to show of a folded thinking block, call or result.
const FOLDED_LINES: usize = 8;

/// Show frames, steps, messages or blocks
#[derive(Args, Debug)]
#[command(after_help = "Ids:
  system  tools  tools/Bash   the system prompt, the tools, one tool
  t3  t3/5  t3/5..9           a frame, a step, a range of steps
  t3#2  t3#2.1                a message, a block
  t2..t5  t3,t7               several frames

Examples:
  ctx show t3/5 --full
  ctx show t2..t4 tools/Bash
  ctx show 't3#2.1' --raw | jq .input")]
pub struct Arguments {
    /// Ids; `ctx list --steps` lists them
    #[arg(value_name = "ID", required = true, value_parser = non_empty)]
    ids: Vec<String>,
    /// Print the exact JSON as sent, one message, block or tool per line
    #[arg(long, conflicts_with_all = ["full", "lines", "json"])]
    raw: bool,
    /// Show long content in full
    #[arg(long, conflicts_with = "lines")]
    full: bool,
    /// Lines to show of long content
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
    let client = context.client()?;
    let conversation = &arguments.conversation.conversation;
    let ids: Vec<&str> = arguments.ids.iter().flat_map(|ids| ids.split(',')).map(str::trim).collect();
    if ids.contains(&"") {
        let message = format!("`{}` has a comma without an id next to it.", arguments.ids.join(" "));
        return Err(Failure::new(ErrorCode::UnknownId, message).hint("write `t3,t7`"));
    }
    // Fetch all of them first: a partial answer before a refusal does not help.
    let answers = ids.into_iter().map(|id| {
        let question = arguments.at.of(&format!("frames/{}", encoded(id, "/")));
        client.get(&of_conversation(conversation, &question))
    });
    let answers: Vec<_> = answers.collect::<Result<_, _>>()?;
    for (number, answer) in answers.iter().enumerate() {
        if arguments.format.json {
            context.output.json(answer)?;
            continue;
        }
        let shown: ContentView = understood(answer)?;
        if arguments.raw {
            print_raw(&shown, context)?;
            continue;
        }
        if number > 0 {
            context.output.print("\n")?;
        }
        let most = if arguments.full { usize::MAX } else { arguments.lines };
        context.output.print_lines(&readable::render(&shown, most, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_raw(shown: &ContentView, context: &Context) -> Result<(), Failure> {
    let raw = raw::of(shown);
    raw.values.iter().try_for_each(|value| context.output.json(value.as_bytes()))?;
    if !raw.missing.is_empty() {
        let missing = raw.missing.join(", ");
        context.note(&format!("{missing}: not valid JSON; `ctx compose --dump` prints the exact bytes"));
    }
    Ok(())
}
