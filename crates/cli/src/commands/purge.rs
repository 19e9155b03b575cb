//! `ctx purge`: deletes conversations permanently, through the running daemon, or directly in the store.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ctx_api::conversations::{ConversationView, Conversations, Purge, PurgeResult};
use ctx_core::ErrorCode;
use ctx_service::Service;
use ctx_store::{SqliteStore, StoreError};
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::background;
use crate::client::{Client, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::open_store::OpenStore;
use crate::output::{text, words};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Delete conversations permanently
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx purge --conv c3f9a1 c77b02
  ctx purge --older-than 30 --dry-run
  ctx purge --all --yes")]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Show what would be deleted
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Which {
    /// Conversations: ids, or starts of ids
    #[arg(long = "conv", value_name = "ID", num_args = 1.., value_parser = non_empty)]
    conversations: Vec<String>,
    /// Conversations that have been idle for this many days
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u64>,
    /// All conversations, and the files of a damaged store that was moved aside
    #[arg(long)]
    all: bool,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let all = arguments.which.all;
    let keeper = Keeper::find(context)?;
    let chosen = match &keeper {
        Some(keeper) => keeper.choose(&arguments.which, ctx_service::now())?,
        None => Vec::new(),
    };
    // Files of a damaged store contain whole conversations, but cannot be listed.
    // Those of this machine are not the gateway's.
    let has_files = all && context.gateway()?.is_none();
    let mut aside = if has_files { SqliteStore::moved_aside(context.home()?.path()) } else { Vec::new() };
    if has_files {
        aside.extend(SqliteStore::losses(context.home()?.path()));
    }
    // `--all` also deletes unlisted content, so it runs even if the list is empty.
    let has_work = !chosen.is_empty() || !aside.is_empty() || (all && keeper.is_some());
    if arguments.dry_run {
        return tell(&chosen, &aside, arguments.format.json, context);
    }
    if has_work && !arguments.yes && !confirmed(&chosen, all)? {
        return Err(Failure::new(ErrorCode::NotConfirmed, "nothing was purged"));
    }
    let purged = match keeper.filter(|_| has_work) {
        Some(keeper) => keeper.purge(&chosen, all)?,
        None => PurgeResult::default(),
    };
    let removed = remove(&aside)?;
    if arguments.format.json {
        let answer = json!({
            "conversations": purged.conversations,
            "bytes_freed": purged.bytes_freed + removed,
            "damaged_files": aside.len(),
            "residue": purged.residue,
        });
        context.output.json(answer.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut said = String::new();
    if purged.conversations > 0 {
        let number = words::plural(purged.conversations as u64, "conversation");
        said.push_str(&format!("Purged {number} ({}).\n", words::bytes(purged.bytes_freed)));
        if !purged.residue.is_empty() {
            said.push_str(&format!("{}\n", purged.residue));
        }
    }
    if !aside.is_empty() {
        let number = words::plural(aside.len() as u64, "file");
        let bytes = words::bytes(removed);
        said.push_str(&format!("Removed {number} of a damaged store ({bytes}).\n"));
    }
    context.output.print(if said.is_empty() { "Nothing to purge.\n" } else { &said })?;
    Ok(ExitCode::SUCCESS)
}

/// The conversations and files that would be deleted.
fn tell(chosen: &[PurgeLine], aside: &[PathBuf], json: bool, context: &Context) -> Result<ExitCode, Failure> {
    if json {
        let ids: Vec<&str> = chosen.iter().map(|kept| kept.id.as_str()).collect();
        let answer = json!({ "conversations": ids.len(), "ids": ids, "damaged_files": aside.len(), "dry_run": true });
        context.output.json(answer.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut said = match chosen.len() {
        0 => "No conversation would be purged.\n".to_owned(),
        number => format!("Would purge {}:\n", words::plural(number as u64, "conversation")),
    };
    for kept in chosen {
        said.push_str(&format!("  {}  {}\n", text::line(&kept.id), text::fit(&text::line(&kept.title), 60)));
    }
    for file in aside {
        said.push_str(&format!("Would remove {}\n", text::line(&file.display().to_string())));
    }
    context.output.print(&said)?;
    Ok(ExitCode::SUCCESS)
}

/// Removes these files and returns their size in bytes.
fn remove(paths: &[PathBuf]) -> Result<u64, Failure> {
    let mut bytes = 0;
    for path in paths {
        let length = fs::metadata(path).map_or(0, |file| file.len());
        match fs::remove_file(path) {
            Ok(()) => bytes += length,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::file("remove", path, &error)),
        }
    }
    Ok(bytes)
}

/// The owner of the store: a daemon, or this process.
enum Keeper {
    Daemon(Box<Client>),
    /// With the store, which stays locked meanwhile.
    Store {
        service: Box<Service>,
        _store: OpenStore,
    },
}

impl Keeper {
    /// `None`: there is no store yet.
    fn find(context: &Context) -> Result<Option<Self>, Failure> {
        if context.gateway()?.is_some() {
            return Ok(Some(Self::Daemon(Box::new(context.found()?))));
        }
        if let Some((client, _)) = background::running(context)? {
            return Ok(Some(Self::Daemon(Box::new(client.into_client()))));
        }
        let home = context.home()?;
        let database = context.database(&home)?;
        if database.is_none() {
            match SqliteStore::open_reader(home.path()) {
                Err(StoreError::Absent { .. }) => return Ok(None),
                outcome => drop(outcome?),
            }
        }
        let store = OpenStore::open(&home, database.as_ref(), false, |_| {})?;
        Ok(Some(Self::Store { service: Box::new(Service::open(store.shared())?), _store: store }))
    }

    fn conversations(&self) -> Result<Vec<PurgeLine>, Failure> {
        let listed = match self {
            Self::Daemon(client) => understood::<Conversations>(&client.get("/conversations")?)?,
            Self::Store { service, .. } => service.conversations(),
        };
        let mut kept: Vec<PurgeLine> = listed.conversations.into_iter().map(PurgeLine::from).collect();
        if let Self::Store { service, .. } = self {
            for row in service.store().conversations()? {
                if !kept.iter().any(|known| known.id == row.id) {
                    let (title, session) = (String::new(), String::new());
                    let last_activity = row.last_at.min(ctx_service::now());
                    kept.push(PurgeLine { id: row.id, title, session, last_activity });
                }
            }
        }
        Ok(kept)
    }

    /// By id only: a title is too ambiguous for a permanent deletion.
    fn resolve(&self, name: &str, all: &[PurgeLine]) -> Result<String, Failure> {
        let id = match self {
            Self::Daemon(client) => client.resolve(name)?,
            Self::Store { service, .. } => service.resolve(name)?,
        };
        let is_named = |kept: &PurgeLine| kept.id.starts_with(name) || kept.session.starts_with(name);
        match name == "active" || all.iter().any(|kept| kept.id == id && is_named(kept)) {
            true => Ok(id),
            false => Err(Failure::new(ErrorCode::UnknownConversation, format!("no conversation has the id `{name}`"))
                .hint(format!("this is the title of {id}; purge needs ids"))),
        }
    }

    fn choose(&self, which: &Which, now: u64) -> Result<Vec<PurgeLine>, Failure> {
        let mut found = self.conversations()?;
        if let Some(days) = which.older_than {
            let oldest = now.saturating_sub(days.saturating_mul(DAY_MS));
            found.retain(|conversation| conversation.last_activity < oldest);
        } else if !which.all {
            let ids: Vec<String> =
                which.conversations.iter().map(|name| self.resolve(name, &found)).collect::<Result<_, _>>()?;
            found.retain(|conversation| ids.contains(&conversation.id));
        }
        Ok(found)
    }

    /// The conversations that were listed, or all.
    fn purge(&self, chosen: &[PurgeLine], all: bool) -> Result<PurgeResult, Failure> {
        let ids: Vec<String> = chosen.iter().map(|conversation| conversation.id.clone()).collect();
        match self {
            Self::Daemon(client) => {
                let request = match all {
                    true => Purge { all, ..Purge::default() },
                    false => Purge { conversations: ids, ..Purge::default() },
                };
                understood(&client.post("/purge", &request)?)
            }
            Self::Store { service, .. } => {
                let purged = service.purge(&ids)?;
                let residue = service.store().residue().to_owned();
                Ok(PurgeResult { conversations: ids.len(), bytes_freed: purged.bytes, residue })
            }
        }
    }
}

/// The line about a conversation before it is deleted.
struct PurgeLine {
    id: String,
    title: String,
    session: String,
    last_activity: u64,
}

impl From<ConversationView> for PurgeLine {
    fn from(view: ConversationView) -> Self {
        let session = view.session.unwrap_or_default();
        Self { id: view.id, title: view.title, session, last_activity: view.last_activity }
    }
}

/// Asks for confirmation in a terminal.
fn confirmed(chosen: &[PurgeLine], all: bool) -> Result<bool, Failure> {
    const SHOWN: usize = 10;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(
            ErrorCode::NotConfirmed,
            "purging cannot be undone and needs confirmation, but this is not a terminal",
        )
        .hint("pass --yes to confirm"));
    }
    for conversation in chosen.iter().take(SHOWN) {
        eprintln!("  {}  {}", text::line(&conversation.id), text::fit(&text::line(&conversation.title), 60));
    }
    if chosen.len() > SHOWN {
        eprintln!("  … and {} more", chosen.len() - SHOWN);
    }
    let what = if all { "everything".to_owned() } else { words::plural(chosen.len() as u64, "conversation") };
    eprint!("Purge {what}? This cannot be undone. [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
