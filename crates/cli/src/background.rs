//! Starts a background daemon and waits until it responds.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::client::{LocalClient, Whereabouts};
use crate::config;
use crate::context::Context;
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::home::{Home, open_private};
use crate::platform::process;
use ctx_api::status::Status;
use ctx_core::{ErrorCode, ReceivedCode};

/// The timeout of a start. It usually takes a tenth of a second; a store may need recovery.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(15);
/// A larger log is truncated at the start.
const LONG_LOG: u64 = 10 * 1024 * 1024;

/// A daemon that responds after a start.
pub struct StartedDaemon {
    pub client: LocalClient,
    pub status: Status,
    /// Whether this call started it.
    pub is_new: bool,
}

/// The running daemon of this machine, if any. Failing to reach a running one is an error.
pub fn running(context: &Context) -> Result<Option<(LocalClient, Status)>, Failure> {
    let answer = context.local().and_then(|client| client.status().map(|status| (client, status)));
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.code == ErrorCode::NoDaemon => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Starts `ctx up` in the background with these arguments and waits until a daemon responds. It may be another one that
/// started faster; the process id tells them apart.
pub fn start(home: &Home, arguments: &[std::ffi::OsString]) -> Result<StartedDaemon, Failure> {
    home.prepare()?;
    let path = home.log_file();
    let log = open_log(&path).map_err(|error| Failure::file("write", &path, &error))?;
    let said_before = log.metadata().map_or(0, |metadata| metadata.len());
    let mut daemon = spawn(home, arguments, log)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some((client, status)) = answering(home) {
            let is_new = status.pid == daemon.id();
            // A longer-lived parent must reap the process, or the system keeps it as a zombie.
            std::thread::spawn(move || daemon.wait());
            return Ok(StartedDaemon { client, status, is_new });
        }
        if daemon.try_wait().ok().flatten().is_some() {
            let failure = last_words(&path, said_before);
            // Another program started a daemon first; that one will do.
            if failure.code != ErrorCode::StoreInUse {
                return Err(failure);
            }
        }
        if Instant::now() > deadline {
            return Err(silent(home));
        }
        std::thread::sleep(PAUSE);
    }
}

/// A daemon that was started but does not respond.
pub fn silent(home: &Home) -> Failure {
    Failure::new(ErrorCode::DaemonNotUp, "the daemon was started but does not respond")
        .hint(format!("its log is {}", home.log_file().display()))
}

fn spawn(home: &Home, arguments: &[std::ffi::OsString], log: File) -> Result<Child, Failure> {
    let refuse =
        |error: std::io::Error| Failure::new(ErrorCode::DaemonNotUp, format!("cannot start the daemon: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(refuse)?);
    command.arg("up").arg("--background").arg("--home").arg(home.path()).args(arguments);
    // The agent's credentials do not belong in the daemon's environment.
    // The helper's key does, if the user named it, and so does the daemon's own token.
    let kept = config::key_variable(home, arguments);
    for (name, _) in std::env::vars_os() {
        let is_kept = kept.as_deref() == name.to_str() || env::TOKEN.spellings().iter().any(|own| *own == name);
        if ctx_server::is_secret_name(&name.to_string_lossy()) && !is_kept {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().map_err(refuse)?).stderr(log);
    // Ctrl-C in the agent's terminal is for the agent.
    process::detach(&mut command);
    command.spawn().map_err(refuse)
}

/// The daemon of this home, at any address. Only its notice counts: a requested address may belong to another daemon.
pub fn answering(home: &Home) -> Option<(LocalClient, Status)> {
    // The port of a daemon that died may belong to another user by now, who must not get the token.
    let notice = home.notice().filter(|notice| process::is_running(notice.pid))?;
    let environment = Environment::Process;
    let whereabouts = Whereabouts { home: home.clone(), flag: Some(notice.listen), gateway: None, environment };
    let client = LocalClient::find(&whereabouts).ok()?;
    let status = client.status().ok().filter(|status| status.pid == notice.pid)?;
    Some((client, status))
}

/// Opens a daemon's log for appending.
pub fn open_log(path: &Path) -> std::io::Result<File> {
    let is_long = fs::metadata(path).is_ok_and(|metadata| metadata.len() > LONG_LOG);
    if is_long {
        fs::remove_file(path)?;
    }
    open_private(path, |options| options.append(true))
}

/// The reason why the daemon ended, or the location of its log.
fn last_words(log: &Path, from: u64) -> Failure {
    last_error(log, from).unwrap_or_else(|| {
        Failure::new(ErrorCode::DaemonNotUp, "the daemon did not start").hint(format!("its log is {}", log.display()))
    })
}

/// The error with which a daemon ended: a line of its log, in JSON.
pub fn last_error(log: &Path, from: u64) -> Option<Failure> {
    #[derive(Deserialize)]
    struct LastLine {
        error: Words,
    }
    #[derive(Deserialize)]
    struct Words {
        code: ReceivedCode,
        message: String,
        hint: Option<String>,
    }
    let mut said = Vec::new();
    let mut file = File::open(log).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    file.read_to_end(&mut said).ok()?;
    let said = String::from_utf8_lossy(&said);
    let LastLine { error } = said.lines().rev().find_map(|line| serde_json::from_str(line).ok())?;
    let message = format!("the daemon did not start: {}", error.message);
    Some(Failure::new(error.code, message).hint(error.hint.unwrap_or_default()))
}

/// The length of a log, to tell new lines from old ones.
pub fn log_length(home: &Home) -> u64 {
    fs::metadata(home.log_file()).map_or(0, |metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_last_words_are_passed_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("daemon.log");
        let before = Failure::new(ErrorCode::StoreInUse, "long ago").as_json();
        fs::write(&log, format!("{before}\n")).expect("written");
        let from = fs::metadata(&log).expect("a file").len();
        assert!(last_words(&log, from).hint.expect("a hint").contains("daemon.log"));
        let now = Failure::new(ErrorCode::PortTaken, "the port is in use").hint("choose another").as_json();
        fs::write(&log, format!("{before}\nnote: x\n{now}\n")).expect("written");
        let failure = last_words(&log, from);
        assert_eq!(
            (failure.code, &*failure.message),
            (ErrorCode::PortTaken.into(), "the daemon did not start: the port is in use")
        );
        assert_eq!(failure.hint.as_deref(), Some("choose another"));
    }
}
