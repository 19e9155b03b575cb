//! `ctx audit`: what happened to people, keys and shares, and looks at the conversations of others.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ctx_api::call;
use ctx_api::team::{AuditQuery, ConversationShare, Reason};
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::table::{Cell, Column, Table};
use crate::output::{text, words};

/// Read the audit log, or open the conversation of another person for a reason
#[derive(Args, Debug)]
#[command(
    after_help = "Needs the role auditor or admin. Opening a conversation lasts an hour; its owner reads the reason, and it stays in the log.

Examples:
  ctx audit list
  ctx audit conversations anna
  ctx audit open anna c3f9 --reason 'incident 42: a leaked token'"
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: AuditVerb,
}

#[derive(Subcommand, Debug)]
enum AuditVerb {
    /// List changes of people, keys and shares, and opened conversations, newest first
    #[command(after_help = "Example:\n  ctx audit list --limit 20")]
    List {
        /// At most this many entries [default: 100]
        #[arg(long)]
        limit: Option<usize>,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// List the conversations of a person, without their content
    #[command(after_help = "Example:\n  ctx audit conversations anna")]
    Conversations {
        /// The owner
        #[arg(value_parser = non_empty)]
        person: String,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// List all shared conversations
    #[command(after_help = "Example:\n  ctx audit shares")]
    Shares {
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Open a conversation for an hour, to look at it
    #[command(after_help = "Example:\n  ctx audit open anna c3f9a1 --reason 'Anna asked why a request was refused'")]
    Open {
        /// The owner
        #[arg(value_parser = non_empty)]
        person: String,
        /// The id of the conversation
        #[arg(value_parser = non_empty)]
        conversation: String,
        /// The reason; the owner sees it
        #[arg(long, value_parser = non_empty)]
        reason: String,
        #[command(flatten)]
        format: JsonArguments,
    },
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let (client, output) = (context.client()?, &context.output);
    match arguments.verb {
        AuditVerb::List { limit, format } => {
            let audit = client.call(&call::audit(&AuditQuery { limit }))?;
            if format.json {
                output.json(json!(audit).to_string().as_bytes())?;
                return Ok(ExitCode::SUCCESS);
            }
            let mut table = Table::new(&[
                Column::Left("TIME"),
                Column::Left("BY"),
                Column::Left("EVENT"),
                Column::Flexible("WHAT"),
            ]);
            for entry in &audit.entries {
                table.row([
                    words::clock(entry.at).into(),
                    entry.by.as_str().into(),
                    entry.event.as_str().into(),
                    Cell::from(entry.what.clone()),
                ]);
            }
            output.print(&table.render(output))?;
        }
        AuditVerb::Conversations { person, format } => {
            let found = client.call(&call::conversations_of(&person))?;
            if format.json {
                output.json(json!(found).to_string().as_bytes())?;
                return Ok(ExitCode::SUCCESS);
            }
            let mut table = Table::new(&[
                Column::Left("ID"),
                Column::Right("TOKENS"),
                Column::Right("REQUESTS"),
                Column::Left("LAST"),
                Column::Flexible("MODEL"),
            ]);
            for one in &found.conversations {
                table.row([
                    one.id.as_str().into(),
                    words::count(one.tokens).into(),
                    words::count(one.requests.into()).into(),
                    words::ago(ctx_service::now(), one.last_activity).into(),
                    Cell::from(one.model.clone().unwrap_or_default()),
                ]);
            }
            output.print(&table.render(output))?;
        }
        AuditVerb::Shares { format } => {
            let found = client.call(&call::shares())?;
            if format.json {
                output.json(json!(found).to_string().as_bytes())?;
                return Ok(ExitCode::SUCCESS);
            }
            let mut table = Table::new(&[
                Column::Left("OWNER"),
                Column::Left("CONVERSATION"),
                Column::Left("MAY"),
                Column::Left("SINCE"),
                Column::Flexible("WITH"),
            ]);
            for ConversationShare { owner, conversation, share } in &found.shares {
                let group = share.group.as_ref().map(|group| format!("group {group}"));
                table.row([
                    owner.as_str().into(),
                    conversation.as_str().into(),
                    share.access.as_str().into(),
                    words::ago(ctx_service::now(), share.at).into(),
                    Cell::from(share.person.clone().or(group).unwrap_or_default()),
                ]);
            }
            output.print(&table.render(output))?;
        }
        AuditVerb::Open { person, conversation, reason, format } => {
            let opened = client.call(&call::open_conversation(&person, &conversation, &Reason { reason }))?;
            if format.json {
                output.json(json!(opened).to_string().as_bytes())?;
            } else {
                let (name, until) = (text::line(&opened.conversation), words::clock(opened.until));
                output.print(&format!("{name} is open to you until {until}; its owner is told.\n"))?;
                opened.warnings.iter().for_each(|warning| context.note(warning));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
