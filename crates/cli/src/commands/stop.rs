//! `ctx stop`: stops the daemon.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ctx_core::ErrorCode;
use serde_json::json;

use crate::arguments::JsonArguments;
use crate::background;
use crate::context::Context;
use crate::failure::Failure;
use crate::platform::process::{is_running, terminate};

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
    stop(status.pid)?;
    say(true, &format!("Stopped the daemon (process {}).", status.pid))?;
    Ok(ExitCode::SUCCESS)
}

/// Stops the daemon with this process id and waits for its end. The daemon has just reported the id, so it belongs to no
/// other process.
pub fn stop(pid: u32) -> Result<(), Failure> {
    terminate(pid)?;
    let deadline = Instant::now() + PATIENCE;
    while is_running(pid) {
        if Instant::now() > deadline {
            let message = format!("the daemon (process {pid}) did not stop in time");
            return Err(Failure::new(ErrorCode::StillRunning, message)
                .hint(format!("a second `ctx stop` aborts running requests; or run kill -9 {pid}")));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
