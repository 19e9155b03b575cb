//! `ctx share`: who else may open a conversation.

use std::process::ExitCode;

use clap::Args;
use ctx_api::call::Conversation;
use ctx_api::team::{ShareRequest, Shares};
use serde_json::json;

use crate::arguments::{ConversationArguments, JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

/// Share a conversation with a person or a group, or list its shares
#[derive(Args, Debug)]
#[command(after_help = "Without a person or a group, it lists the shares. They see the conversation as OWNER:ID.

Examples:
  ctx share bob
  ctx share --group core --edit
  ctx share bob --end")]
pub struct Arguments {
    /// The person
    #[arg(value_parser = non_empty)]
    person: Option<String>,
    /// A group instead of a person
    #[arg(long, value_parser = non_empty, conflicts_with = "person")]
    group: Option<String>,
    /// Let them edit it too
    #[arg(long, conflicts_with = "end")]
    edit: bool,
    /// End the share
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let Arguments { person, group, edit, end, conversation, format } = arguments;
    let conversation = Conversation(&conversation.conversation);
    let request = ShareRequest { person, group, edit };
    let shares = match (&request.person, &request.group, end) {
        (None, None, _) => client.call(&conversation.shares())?,
        (_, _, false) => client.call(&conversation.share(&request))?,
        (_, _, true) => client.call(&conversation.unshare(&request))?,
    };
    if format.json {
        context.output.json(json!(shares).to_string().as_bytes())?;
    } else {
        context.output.print(&render(&shares))?;
        shares.warnings.iter().for_each(|warning| context.note(warning));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(shares: &Shares) -> String {
    if shares.shares.is_empty() {
        return format!("{} is not shared.\n", text::line(&shares.conversation));
    }
    let line = |share: &ctx_api::team::ShareView| {
        let group = share.group.as_ref().map(|group| format!("group {group}"));
        let with = share.person.clone().or(group).unwrap_or_default();
        format!("  {} may {}\n", text::line(&with), share.access)
    };
    let lines: String = shares.shares.iter().map(line).collect();
    format!("{} is shared:\n{lines}", text::line(&shares.conversation))
}
