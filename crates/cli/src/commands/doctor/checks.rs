//! Checks the files of the home, the configuration and the daemon.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_server::Token;

use super::{Finding, Level};
use crate::background;
use crate::config::{Flags, Settings};
use crate::context::Context;
use crate::home::Home;
use crate::output::words;
use crate::platform::permissions::is_open_to_others;
use crate::platform::process::is_running;
use ctx_api::status::Status;

/// Tries to create a folder and its missing parents, and removes them again.
fn try_to_make(path: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    let made = fs::create_dir_all(path);
    for folder in missing.into_iter().filter(|folder| folder.exists()) {
        fs::remove_dir(folder)?;
    }
    made
}

pub(super) fn home(home: &Home) -> Vec<Finding> {
    let path = home.path();
    let shown = path.display();
    if !path.exists() {
        if let Err(error) = try_to_make(path) {
            return vec![
                Finding::new("home", Level::Wrong, format!("{shown} does not exist and cannot be created: {error}"))
                    .hint("choose another with --home or CTX_HOME"),
            ];
        }
        return vec![
            Finding::new("home", Level::Note, format!("{shown} does not exist yet"))
                .hint("`ctx up` and `ctx run -- claude` create it"),
        ];
    }
    if !path.is_dir() {
        return vec![
            Finding::new("home", Level::Wrong, format!("{shown} is not a folder")).hint("choose another with --home"),
        ];
    }
    if let Err(failure) = home.check_writable() {
        return vec![Finding::wrong("home", failure.into())];
    }
    if is_open_to_others(path) {
        return vec![
            Finding::new("home", Level::Wrong, format!("others can read {shown}")).hint(format!("chmod 700 {shown}")),
        ];
    }
    vec![Finding::new("home", Level::Good, format!("{shown} is private"))]
}

pub(super) fn configuration(flags: &Flags, context: &Context, home: &Home) -> (Option<Settings>, Vec<Finding>) {
    let folder = std::env::current_dir().unwrap_or_default();
    match Settings::load(flags, &context.environment, home, &folder) {
        Ok(settings) => {
            let names: Vec<String> = settings.files.iter().map(|path| path.display().to_string()).collect();
            let from =
                if names.is_empty() { "no ctx.toml; the defaults apply".to_owned() } else { names.join(", then ") };
            let mut findings = vec![Finding::new("config", Level::Good, from)];
            let remarks = settings.remarks.iter();
            findings.extend(remarks.map(|remark| Finding::new("config", Level::Note, remark.clone())));
            let wrong = settings.wrong.iter().map(|wrong| Finding::new("config", Level::Wrong, wrong.clone()));
            findings.extend(wrong.map(|finding| finding.hint("`ctx config check` has details")));
            for file in settings.files.iter().filter(|file| is_open_to_others(file)) {
                let has_secret =
                    fs::read_to_string(file).is_ok_and(|text| text.contains("proxy") && text.contains('@'));
                if has_secret {
                    let file = file.display();
                    let message = format!("others can read {file}, which seems to contain a proxy password");
                    findings.push(Finding::new("config", Level::Wrong, message).hint(format!("chmod 600 {file}")));
                }
            }
            (Some(settings), findings)
        }
        Err(failure) => (None, vec![Finding::wrong("config", failure.into())]),
    }
}

pub(super) fn token(home: &Home) -> Vec<Finding> {
    let path = Token::path(home.path());
    // Check before reading: reading the token closes the file to others.
    let was_open = is_open_to_others(&path);
    match Token::load(home.path()) {
        Ok(None) => Vec::new(),
        Ok(Some(_)) if was_open => {
            let message = format!("others could read {}; fixed", path.display());
            vec![
                Finding::new("token", Level::Wrong, message)
                    .hint("for a new token, stop the daemon, delete the file and start again"),
            ]
        }
        Ok(Some(_)) => vec![Finding::new("token", Level::Good, format!("{} is private", path.display()))],
        Err(error) => vec![Finding::wrong("token", error.into())],
    }
}

pub(super) fn daemon(context: &Context, home: &Home) -> (Option<(std::net::SocketAddr, Status)>, Vec<Finding>) {
    let start = "start it with `ctx up` or `ctx run -- claude`";
    match background::running(context) {
        Ok(Some((client, status))) => {
            let mut findings = about(&status);
            findings.extend(log(home));
            (Some((client.address(), status)), findings)
        }
        Ok(None) => {
            let mut findings = vec![Finding::new("daemon", Level::Note, "not running").hint(start)];
            if home.notice_file().exists() && !home.notice().is_some_and(|notice| is_running(notice.pid)) {
                let left = home.notice_file();
                let message = format!("{} is left over from a daemon that did not shut down cleanly", left.display());
                findings.push(
                    Finding::new("daemon", Level::Note, message).hint("no action needed: the next start replaces it"),
                );
            }
            (None, findings)
        }
        Err(failure) => (None, vec![Finding::wrong("daemon", failure)]),
    }
}

/// The log of a background daemon or of the service; `ctx up` logs to its terminal.
fn log(home: &Home) -> Option<Finding> {
    let path = home.log_file();
    let bytes = fs::metadata(&path).ok()?.len();
    Some(Finding::new("log", Level::Good, format!("{} ({})", path.display(), words::bytes(bytes))))
}

fn about(status: &Status) -> Vec<Finding> {
    let listen = status.listen.as_deref().unwrap_or_default();
    let running = format!("version {} runs as process {} on {listen}", status.version, status.pid);
    let mut findings = vec![Finding::new("daemon", Level::Good, running)];
    if status.version != env!("CARGO_PKG_VERSION") {
        let message = format!("this is version {}", env!("CARGO_PKG_VERSION"));
        findings.push(Finding::new("daemon", Level::Note, message).hint("`ctx stop`, then start it again"));
    }
    let mut trouble = |number: u64, level: Level, (one, many): (&str, &str), what: &str, hint: &str| {
        if number > 0 {
            let message = format!("{} {what}", words::number_of(number, one, many));
            findings.push(Finding::new("daemon", level, message).hint(hint));
        }
    };
    trouble(
        status.store.unsaved,
        Level::Wrong,
        ("step", "steps"),
        "could not be stored",
        "check the disk and the daemon's log; the agent's next request is recorded again",
    );
    trouble(
        status.recorder.dropped,
        Level::Note,
        ("copy was", "copies were"),
        "skipped because the recorder could not keep up",
        "no action needed: the requests were forwarded, and the next one completes the record",
    );
    let away = status.store.away_since.is_some();
    trouble(
        u64::from(away),
        Level::Wrong,
        ("database", "databases"),
        "is out of reach of the daemon: requests pass, edits are refused, and observed requests wait in memory",
        "check the database server and the network; the daemon reconnects by itself",
    );
    let silent = status.store.others.iter().filter(|other| other.is_silent()).count();
    trouble(
        silent as u64,
        Level::Note,
        ("other daemon has", "other daemons have"),
        "not been heard of: edits do not reach it",
        "`ctx status` names it; stop it if it still runs, for requests through it leave without newer edits",
    );
    let refused = status.recorder.refused;
    trouble(
        status.recorder.unreadable.saturating_sub(refused),
        Level::Note,
        ("request was", "requests were"),
        "forwarded but could not be parsed",
        "run the daemon with CTX_LOG=debug to see why",
    );
    trouble(
        refused,
        Level::Note,
        ("request was", "requests were"),
        "refused: edits could not be applied",
        "the response to the client gives the reason; CTX_LOG=debug logs it",
    );
    findings
}

/// Unfinished files that a killed process left behind.
pub(super) fn leftovers(home: &Home) -> Vec<Finding> {
    let own = [home.notice_file(), Token::path(home.path())];
    let is_draft = |path: &PathBuf| {
        own.iter().any(|file| path.with_extension("") == *file || draft_of(path, file)) && !own.contains(path)
    };
    let entries = fs::read_dir(home.path()).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut drafts: Vec<PathBuf> =
        entries.unwrap_or_else(|_| Vec::<PathBuf>::new()).into_iter().filter(is_draft).collect();
    drafts.sort();
    let finding = |draft: &PathBuf| {
        Finding::new("files", Level::Note, format!("{} is an unfinished file", draft.display())).hint("delete it")
    };
    drafts.iter().map(finding).collect()
}

fn draft_of(path: &Path, file: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name(path).starts_with(&format!("{}.", name(file)))
}
