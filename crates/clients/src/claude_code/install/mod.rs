//! Routes Claude Code through the daemon: two variables in its settings, a skill, and optionally the MCP server and a
//! status line.

mod places;
mod settings;
pub mod skill;

use super::{NAME, TITLE};
use crate::setup::{Change, Host, InstallOptions, Installer, Journal, Plan, Scope, SetupError, Syntax, WantedContent};
use places::Places;
use serde_json::json;
use settings::SettingsFile;
use std::path::Path;

/// The installer of Claude Code.
#[derive(Debug)]
pub struct ClaudeCodeInstaller;

impl Installer for ClaudeCodeInstaller {
    fn install(&self, options: &InstallOptions, host: &dyn Host) -> Result<Plan, SetupError> {
        install(options, host)
    }

    fn uninstall(&self, scope: Scope, force: bool, host: &dyn Host) -> Result<Plan, SetupError> {
        uninstall(scope, force, host)
    }

    fn is_found(&self, host: &dyn Host) -> bool {
        places(Scope::User, host).is_ok_and(|places| places.settings.exists())
    }
}

fn places(scope: Scope, host: &dyn Host) -> Result<Places, SetupError> {
    Places::find(scope, host.folder(), |name| host.variable(name))
}

fn journal(host: &dyn Host) -> Result<Journal, SetupError> {
    Journal::load(&host.journal(NAME)?, TITLE)
}

fn install(options: &InstallOptions, host: &dyn Host) -> Result<Plan, SetupError> {
    let places = places(options.scope, host)?;
    let journal = journal(host)?;
    let daemon = host.daemon()?;
    let with_server = options.mcp || journal.files.contains_key(&places.servers);
    let mut notes: Vec<String> = (!daemon.is_up).then(|| not_up(with_server)).into_iter().collect();
    let (program, note) = host.program(options.scope);
    notes.extend(note);

    let settings = SettingsFile::read(&places.settings, &journal)?;
    notes.extend(settings.note.clone());
    settings.check_base_url(&daemon, host, options.force, &mut notes)?;
    let with_status_line = options.status_line || settings.has_our_status_line;
    let wanted = settings.wanted(&daemon, host, &program, with_status_line, &mut notes)?;

    let install = |path: &Path, wanted| Change::install(path, &wanted, &journal, options.force);
    let mut changes = vec![
        install(&places.settings, WantedContent::Entries(Syntax::Json, wanted))?,
        install(&places.skill, WantedContent::Whole(skill::text(&program)))?,
    ];
    if with_server {
        let server = json!({ "type": "stdio", "command": program, "args": daemon.served });
        let entry = (vec!["mcpServers".to_owned(), "ctx".to_owned()], server);
        changes.push(install(&places.servers, WantedContent::Entries(Syntax::Json, vec![entry]))?);
    }
    notes.extend(
        changes
            .iter()
            .flat_map(|change| &change.stays)
            .map(|what| format!("{what} has been changed since its installation and is kept; --force replaces it")),
    );
    if options.scope == Scope::Project {
        notes.push(
            "this affects everyone who works in this folder: they need ctx and its daemon too. To avoid this, keep \
             .claude/settings.json out of version control"
                .to_owned(),
        );
    }
    let scope = if options.scope == Scope::Project { " --scope project" } else { "" };
    let done = match &settings.note {
        Some(_) => format!("Written, but not in effect yet: see the note on {}.", places.settings.display()),
        None => format!(
            "Done. {TITLE} uses {} from its next start. Try there:\n  /{} drop the long tool results",
            daemon.url(),
            skill::NAME
        ),
    };
    Ok(Plan {
        scope: options.scope,
        client: TITLE,
        journal,
        changes,
        notes,
        base_url: Some(daemon.url()),
        done: format!("{done}\n`ctx uninstall {NAME}{scope}` undoes this."),
        nothing: format!("Nothing to do: {TITLE} already uses {}.", daemon.url()),
    })
}

fn uninstall(scope: Scope, force: bool, host: &dyn Host) -> Result<Plan, SetupError> {
    let places = places(scope, host)?;
    let journal = journal(host)?;
    let change = |path: &Path| Change::uninstall(path, &journal, force).transpose();
    let changes: Vec<Change> = places.all().into_iter().filter_map(change).collect::<Result<_, _>>()?;
    Ok(Plan::undo(TITLE, scope, journal, changes))
}

/// The advice without a running daemon; the MCP server starts one.
fn not_up(with_server: bool) -> String {
    let way = match with_server {
        true => format!("{TITLE} starts it with `ctx mcp`"),
        false => {
            format!("start it with `ctx up` or `ctx run -- claude`; with --mcp, {TITLE} starts it")
        }
    };
    format!("no daemon is running, so {TITLE} cannot reach the provider: {way}")
}
