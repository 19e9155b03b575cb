//! Processes: whether one runs, how to end it, how to start a daemon or an editor.

use std::path::Path;
use std::process::Command;

use ctx_core::ErrorCode;

use crate::failure::Failure;

/// Whether this user has a process with this id. The daemon cannot be another user's.
#[cfg(unix)]
pub fn is_running(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id).is_ok()) && !is_zombie(pid)
}

/// A zombie process keeps its id until its parent reaps it, which may never happen.
#[cfg(unix)]
fn is_zombie(pid: u32) -> bool {
    // The state follows the name in brackets; the name itself may contain brackets.
    let told = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    told.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

/// On other systems, only the daemon's response counts.
#[cfg(not(unix))]
pub fn is_running(_pid: u32) -> bool {
    true
}

/// Asks a daemon to end. Its process id was reported by the daemon just now, so it belongs to no other process.
#[cfg(unix)]
pub fn terminate(pid: u32) -> Result<(), Failure> {
    use rustix::process::{Pid, Signal, kill_process};
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| Failure::new(ErrorCode::NotStopped, "the daemon does not report its process id"))?;
    kill_process(id, Signal::TERM).map_err(|error| {
        Failure::new(ErrorCode::NotStopped, format!("cannot stop the daemon (process {pid}): {error}"))
            .hint("it may belong to another user")
    })
}

#[cfg(not(unix))]
pub fn terminate(pid: u32) -> Result<(), Failure> {
    Err(Failure::new(ErrorCode::NotStopped, "this system cannot signal a process")
        .hint(format!("press Ctrl-C where it runs, or: taskkill /PID {pid}")))
}

/// Lets other processes go first.
#[cfg(unix)]
pub fn lower_priority() {
    let _ = rustix::process::nice(19);
}

/// Lets other processes go first.
#[cfg(not(unix))]
pub fn lower_priority() {}

/// Starts the program apart from this terminal: Ctrl-C there is not for it.
#[cfg(unix)]
pub fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Starts the program apart from this terminal: Ctrl-C there is not for it.
#[cfg(windows)]
pub fn detach(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    const DETACHED_PROCESS: u32 = 0x0000_0008;
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS);
}

/// A text editor with a file. The setting may contain flags and quotes, so the shell parses it.
#[cfg(unix)]
pub fn editor(setting: &str, file: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{setting} \"$1\"")).arg(setting).arg(file);
    command
}

/// A text editor with a file.
#[cfg(not(unix))]
pub fn editor(setting: &str, file: &Path) -> Command {
    let mut words = setting.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg(file);
    command
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_that_has_ended_does_not_run_though_nobody_has_asked_for_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        assert!(is_running(child.id()));
        child.kill().expect("a signal");
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while is_running(child.id()) {
            assert!(std::time::Instant::now() < deadline, "it counts as running");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().expect("its end");
    }
}
