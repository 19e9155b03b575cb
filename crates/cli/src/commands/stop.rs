//! `ctx stop`: stops the daemon.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ctx_core::ErrorCode;
use serde_json::json;

use crate::arguments::JsonArguments;
use crate::background;
use crate::client::is_running;
use crate::context::Context;
use crate::failure::Failure;

/// Running requests may finish; the daemon itself waits ten seconds for them.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// Stop the daemon, letting running requests finish
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx stop
  ctx stop --home ~/other-home")]
pub struct Arguments {
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let say = |stopped: bool, words: &str| match arguments.format.json {
        true => context.output.json(json!({ "stopped": stopped }).to_string().as_bytes()),
        false => context.output.print(&format!("{words}\n")),
    };
    let Some((_, status)) = background::running(context)? else {
        say(false, "No daemon is running.")?;
        return Ok(ExitCode::SUCCESS);
    };
    // The daemon has just reported this process id, so it belongs to no other process.
    terminate(status.pid)?;
    let deadline = Instant::now() + PATIENCE;
    while is_running(status.pid) {
        if Instant::now() > deadline {
            return Err(Failure::new(
                ErrorCode::StillRunning,
                format!("the daemon (process {}) did not stop in time", status.pid),
            )
            .hint(format!("a second `ctx stop` aborts running requests; or run kill -9 {}", status.pid)));
        }
        std::thread::sleep(PAUSE);
    }
    say(true, &format!("Stopped the daemon (process {}).", status.pid))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn terminate(pid: u32) -> Result<(), Failure> {
    use rustix::process::{Pid, Signal, kill_process};
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| Failure::new(ErrorCode::NotStopped, "the daemon does not report its process id"))?;
    kill_process(id, Signal::TERM).map_err(|error| {
        Failure::new(ErrorCode::NotStopped, format!("cannot stop the daemon (process {pid}): {error}"))
            .hint("it may belong to another user")
    })
}

#[cfg(not(unix))]
fn terminate(pid: u32) -> Result<(), Failure> {
    Err(Failure::new(ErrorCode::NotStopped, "this system cannot signal a process")
        .hint(format!("press Ctrl-C where it runs, or: taskkill /PID {pid}")))
}
