//! `ctx cat HANDLE`: prints offloaded content that a team's daemon keeps in its store.

use std::process::ExitCode;

use clap::Args;
use ctx_api::call::Conversation;
use ctx_api::offloaded::OffloadedQuery;
use serde_json::json;

use crate::arguments::{ConversationArguments, JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;

/// Print offloaded content that is kept in the store
#[derive(Args, Debug)]
#[command(
    after_help = "The daemon of a team writes no files for agents. Its stubs name offloaded content by a handle, such as
o-7f3a2c9104bd31aa. An answer has at most 40,000 characters; --from prints the next part.

Examples:
  ctx cat o-7f3a2c9104bd31aa
  ctx cat o-7f3a2c9104bd31aa --lines 100-180
  ctx cat o-7f3a2c9104bd31aa --grep error"
)]
pub struct Arguments {
    /// The handle
    #[arg(value_name = "HANDLE", value_parser = non_empty)]
    handle: String,
    /// Only these lines: 10-50, 10- or 10
    #[arg(long, value_name = "LINES")]
    lines: Option<String>,
    /// Only lines with this text, in any case
    #[arg(long, value_name = "TEXT", value_parser = non_empty)]
    grep: Option<String>,
    /// Start at this character
    #[arg(long, value_name = "N")]
    from: Option<usize>,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Arguments { handle, lines, grep, from, conversation, format } = arguments;
    let query = OffloadedQuery { lines, grep, from };
    let shown = context.client()?.call(&Conversation(&conversation.conversation).offloaded(&handle, &query))?;
    if format.json {
        context.output.json(json!(shown).to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let end = if shown.text.is_empty() || shown.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{end}", shown.text);
    match context.output.is_terminal() {
        true => context.output.print_lines(&text)?,
        false => context.output.bytes(text.as_bytes())?,
    }
    if let Some(next) = shown.next_from {
        context.note(&format!("{} more characters: --from {next}", shown.characters - next));
    }
    Ok(ExitCode::SUCCESS)
}
