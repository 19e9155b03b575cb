//! `ctx keys`: the keys with which people use a daemon.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ctx_api::call;
use ctx_api::team::{Keys, NewKey};
use ctx_core::day::day_and_time;
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};

const ALL_SCOPES: [&str; 4] = ["proxy", "look", "edit", "admin"];

/// Make, list and revoke the keys of people
#[derive(Args, Debug)]
#[command(
    alias = "key",
    after_help = "A key is shown once; only its hash is stored. An agent sends it in the header x-ctx-key beside its own credential. CTX_KEY
holds the key for the commands of `ctx`.

Examples:
  ctx keys new anna --label laptop
  ctx keys new anna --label ci --scope proxy
  ctx keys revoke 3f9a81c2"
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: KeysVerb,
}

#[derive(Subcommand, Debug)]
enum KeysVerb {
    /// Make a key and show it, once
    #[command(
        after_help = "Examples:\n  ctx keys new anna --label laptop\n  ctx keys new anna --label ci --scope proxy --days 30"
    )]
    New {
        /// The person [default: you]
        #[arg(value_parser = non_empty)]
        person: Option<String>,
        /// A label, such as the name of a machine
        #[arg(long, default_value = "", hide_default_value = true)]
        label: String,
        /// The key expires after this many days [default: never]
        #[arg(long)]
        days: Option<u32>,
        /// Scopes of the key; `edit` includes `look` [default: all that you may do with your own]
        #[arg(long = "scope", value_name = "SCOPES", value_delimiter = ',', value_parser = ALL_SCOPES)]
        scopes: Option<Vec<String>>,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// List your keys; auditors and admins see those of everyone
    #[command(after_help = "Example:\n  ctx keys list --all")]
    List {
        /// Include revoked keys
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Revoke a key, on all daemons
    #[command(after_help = "Example:\n  ctx keys revoke 3f9a81c2")]
    Revoke {
        /// The id of the key
        #[arg(value_parser = non_empty)]
        id: String,
        #[command(flatten)]
        format: JsonArguments,
    },
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let (keys, all, format) = match arguments.verb {
        KeysVerb::New { person, label, days, scopes, format } => {
            let made = client.call(&call::make_key(&NewKey { person, label, days, scopes }))?;
            if format.json {
                context.output.json(json!(made).to_string().as_bytes())?;
            } else {
                context.output.print(&format!("{}\n", made.key))?;
                let scopes = scopes_in_words(&made.scopes);
                context.note(&format!("key {} of {} ({scopes}); it is not shown again", made.id, made.person));
                made.warnings.iter().for_each(|warning| context.note(warning));
            }
            return Ok(ExitCode::SUCCESS);
        }
        KeysVerb::List { all, format } => (client.call(&call::keys())?, all, format),
        KeysVerb::Revoke { id, format } => (client.call(&call::revoke_key(&id))?, false, format),
    };
    if format.json {
        context.output.json(json!(keys).to_string().as_bytes())?;
    } else {
        context.output.print(&render(&keys, all, ctx_service::now(), &context.output))?;
        keys.warnings.iter().for_each(|warning| context.note(warning));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(keys: &Keys, all: bool, now: u64, output: &Output) -> String {
    let mut table = Table::new(&[
        Column::Left("ID"),
        Column::Left("PERSON"),
        Column::Left("KEY"),
        Column::Flexible("LABEL"),
        Column::Left("SCOPES"),
        Column::Left("MADE"),
        Column::Left("USED"),
        Column::Left("STATE"),
    ]);
    let shown: Vec<_> = keys.keys.iter().filter(|key| all || key.revoked_at.is_none()).collect();
    if shown.is_empty() {
        return "No keys.\n".to_owned();
    }
    for key in shown {
        let state = match (key.revoked_at, key.expires_at) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(end)) if end <= now => "expired".to_owned(),
            (None, Some(end)) => format!("until {}", day_and_time(end)),
            (None, None) => String::new(),
        };
        let by = key.made_by.as_ref().map(|by| format!("made by {by}"));
        let state = [Some(state), by].into_iter().flatten().filter(|words| !words.is_empty());
        let state = state.collect::<Vec<_>>().join(", ");
        table.row([
            key.id.as_str().into(),
            key.person.as_str().into(),
            format!("{}…", key.shown).into(),
            key.label.as_str().into(),
            scopes_in_words(&key.scopes).into(),
            words::ago(now, key.made_at).into(),
            key.last_used.map(|at| words::ago(now, at)).unwrap_or_default().into(),
            Cell::from(state),
        ]);
    }
    table.render(output)
}

/// An older daemon knows no scopes.
pub fn scopes_in_words(scopes: &[String]) -> String {
    if scopes.is_empty() || scopes.len() == ALL_SCOPES.len() { "all".to_owned() } else { scopes.join(", ") }
}
