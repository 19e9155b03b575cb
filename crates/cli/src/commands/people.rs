//! `ctx people`: the people who share a daemon.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ctx_api::call;
use ctx_api::team::{NewPerson, Notices, People, PersonChange};
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text, words};

/// Add, list and remove the people who share a daemon
#[derive(Args, Debug)]
#[command(
    alias = "person",
    after_help = "The daemon must run with `ctx up --team`. Members use their own conversations, auditors also see figures of everyone
and the audit log, admins manage people and keys.

Examples:
  ctx people add anna --group core
  ctx people set anna --role admin
  ctx people remove anna"
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: PeopleVerb,
}

#[derive(Subcommand, Debug)]
enum PeopleVerb {
    /// List all people with their roles and keys
    #[command(after_help = "Example:\n  ctx people list")]
    List {
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Add a person
    #[command(after_help = "Example:\n  ctx people add anna --group core")]
    Add {
        /// The name under which the person signs in
        #[arg(value_parser = non_empty)]
        name: String,
        /// member, auditor or admin [default: member]
        #[arg(long)]
        role: Option<String>,
        /// A group of the person; repeatable
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Change the role, the groups or the account of a person
    #[command(
        after_help = "An account of the identity provider becomes that of the member with its name at the first sign-in. For an admin or
auditor, and for an account that was unlinked, allow it first with --link.

Examples:
  ctx people set anna --role admin
  ctx people set anna --unlink --link anna@example.com"
    )]
    Set {
        /// The person
        #[arg(value_parser = non_empty)]
        name: String,
        /// member, auditor or admin
        #[arg(long)]
        role: Option<String>,
        /// All groups of the person from now on; repeatable
        #[arg(long = "group", value_name = "GROUP")]
        groups: Option<Vec<String>>,
        /// Unlink the account of the identity provider, and end the sessions and keys that came through it
        #[arg(long)]
        unlink: bool,
        /// Let the account with this id or verified address sign in as the person; `name:NAME` goes by its name, which
        /// people choose themselves at many providers
        #[arg(long, value_name = "ACCOUNT", value_parser = non_empty)]
        link: Option<String>,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Remove a person with their keys and shares; their conversations stay stored
    #[command(after_help = "Example:\n  ctx people remove anna")]
    Remove {
        /// The person
        #[arg(value_parser = non_empty)]
        name: String,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Show who you are, who opened your conversations, and who made keys or allowed accounts in your name
    #[command(after_help = "Example:\n  ctx people me")]
    Me {
        #[command(flatten)]
        format: JsonArguments,
    },
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let (people, format) = match arguments.verb {
        PeopleVerb::List { format } => (client.call(&call::people())?, format),
        PeopleVerb::Add { name, role, groups, format } => {
            (client.call(&call::add_person(&NewPerson { name, role, groups }))?, format)
        }
        PeopleVerb::Set { name, role, groups, unlink, link, format } => {
            (client.call(&call::change_person(&name, &PersonChange { role, groups, unlink, link }))?, format)
        }
        PeopleVerb::Remove { name, format } => (client.call(&call::remove_person(&name))?, format),
        PeopleVerb::Me { format } => {
            let (me, notices) = (client.call(&call::me())?, client.call(&call::notices())?);
            if format.json {
                context.output.json(json!({ "me": me, "notices": notices.notices }).to_string().as_bytes())?;
            } else {
                let groups = if me.groups.is_empty() { String::new() } else { format!(", {}", me.groups.join(", ")) };
                let name = text::line(&me.name);
                let scopes = super::keys::scopes_in_words(&me.scopes);
                let scopes = if scopes == "all" { String::new() } else { format!("; this key: {scopes}") };
                context.output.print(&format!("{name} ({}{groups}{scopes})\n{}", me.role, looks(&notices)))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    if format.json {
        context.output.json(json!(people).to_string().as_bytes())?;
    } else {
        context.output.print(&render(&people, ctx_service::now(), &context.output))?;
        people.warnings.iter().for_each(|warning| context.note(warning));
    }
    Ok(ExitCode::SUCCESS)
}

fn looks(notices: &Notices) -> String {
    let line = |notice: &ctx_api::team::NoticeView| {
        let (at, by) = (words::clock(notice.at), text::line(&notice.by));
        let deed = match (&notice.key, &notice.account) {
            (Some(key), _) => format!("made the key {} for you", text::line(key)),
            (_, Some(account)) => format!("let the account {} sign in as you", text::line(account)),
            _ => format!("opened {}: {}", notice.conversation, text::line(&notice.reason)),
        };
        format!("  {at} {by} ({}) {deed}\n", notice.role)
    };
    notices.notices.iter().map(line).collect()
}

fn render(people: &People, now: u64, output: &Output) -> String {
    if people.people.is_empty() {
        return "No people yet. Add the first with `ctx people add NAME`.\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Left("NAME"),
        Column::Left("ROLE"),
        Column::Flexible("GROUPS"),
        Column::Right("KEYS"),
        Column::Left("LAST"),
    ]);
    for person in &people.people {
        let last = person.last_used.map(|at| words::ago(now, at)).unwrap_or_default();
        table.row([
            person.name.as_str().into(),
            person.role.as_str().into(),
            person.groups.join(", ").into(),
            words::count(person.keys as u64).into(),
            Cell::from(last),
        ]);
    }
    table.render(output)
}
