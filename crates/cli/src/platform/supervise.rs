//! Runs an agent in the foreground and waits for its end. Terminal, signals and job control are the agent's; `ctx` only
//! forwards signals that would not reach it.

use std::process::{Command, ExitCode};

use ctx_core::ErrorCode;

use crate::failure::Failure;

/// Replaces this process with the agent: nothing remains to be done after its end.
#[cfg(unix)]
pub fn become_process(mut command: Command, name: &str) -> Result<ExitCode, Failure> {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(not_started(name, &error))
}

/// Runs the agent to its end.
#[cfg(not(unix))]
pub fn become_process(command: Command, name: &str) -> Result<ExitCode, Failure> {
    run(command, name)
}

/// Runs the agent to its end; returns its exit code, or 128 plus the number of the signal that ended it.
#[cfg(unix)]
pub fn run(mut command: Command, name: &str) -> Result<ExitCode, Failure> {
    use rustix::process::Pid;
    // Started before signals are handled here, so that the agent inherits the original dispositions.
    let agent = command.spawn().map_err(|error| not_started(name, &error))?;
    let Some(pid) = i32::try_from(agent.id()).ok().and_then(Pid::from_raw) else { return Ok(ExitCode::FAILURE) };
    std::thread::spawn(move || pass_on_signals(pid));
    Ok(wait(pid))
}

/// Runs the agent to its end; returns its exit code.
#[cfg(not(unix))]
pub fn run(mut command: Command, name: &str) -> Result<ExitCode, Failure> {
    let status = command.status().map_err(|error| not_started(name, &error))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Waits for the end of the agent. While the agent is stopped, `ctx` stops too, so the shell gets its terminal back.
#[cfg(unix)]
fn wait(agent: rustix::process::Pid) -> ExitCode {
    use rustix::io::Errno;
    use rustix::process::{Signal, WaitOptions, getpid, kill_process, waitpid};
    loop {
        let status = match waitpid(Some(agent), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => return ExitCode::FAILURE,
        };
        if status.stopped() {
            let _ = kill_process(getpid(), Signal::STOP);
            let _ = kill_process(agent, Signal::CONT);
            continue;
        }
        let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
        return code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
}

/// Forwards signals to the agent. A terminal signals both processes, so those are ignored here.
#[cfg(unix)]
fn pass_on_signals(agent: rustix::process::Pid) {
    use rustix::process::{Signal, kill_process};
    use std::io::IsTerminal;
    use tokio::signal::unix::{SignalKind, signal};
    let at_terminal = std::io::stdin().is_terminal();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let kinds = [SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate(), SignalKind::hangup()];
        let [Ok(mut interrupt), Ok(mut quit), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return };
        loop {
            let (sent, by_terminal) = tokio::select! {
                _ = interrupt.recv() => (Signal::INT, at_terminal),
                _ = quit.recv() => (Signal::QUIT, at_terminal),
                _ = terminate.recv() => (Signal::TERM, false),
                _ = hangup.recv() => (Signal::HUP, false),
            };
            if !by_terminal {
                let _ = kill_process(agent, sent);
            }
        }
    });
}

fn not_started(name: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::new(ErrorCode::AgentNotStarted, format!("cannot run `{name}`: {error}"));
    match error.kind() {
        std::io::ErrorKind::NotFound => failure.hint("check that it is installed and on the PATH"),
        _ => failure,
    }
}
