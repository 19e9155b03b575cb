//! `ctx demo`: a recorded conversation to play with.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::{Command, ExitCode};

use clap::Args;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::client::page_link;
use crate::context::Context;
use crate::daemon;
use crate::demo::Demo;
use crate::env;
use crate::failure::Failure;
use crate::output::Paint;
use crate::platform::{Signals, supervise};

/// Turns that are played only on request, to show that edits persist.
const HELD_BACK: usize = 2;

/// Try everything on a recorded conversation, without a key or an agent
#[derive(Args, Debug)]
#[command(after_help = "Starts its own daemon in a temporary folder, with a scripted provider; no request leaves \
this machine. Your settings and conversations are not used. Ctrl-C removes everything.

Examples:
  ctx demo
  ctx demo -- bash                       a shell in which `ctx` uses the demo
  ctx demo -- ctx list --steps")]
pub struct Arguments {
    /// Command to run with the demo, which ends with it
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    daemon::runtime()?.block_on(async {
        let stop = Signals::listen(false)?.received();
        tokio::pin!(stop);
        let mut demo = Demo::start().await?;
        let turns = demo.turns().saturating_sub(HELD_BACK);
        let ended = tokio::select! {
            played = demo.play(turns) => played.map(|_| false),
            () = &mut stop => Ok(true),
        };
        let outcome = match ended {
            Ok(false) if arguments.command.is_empty() => {
                context.output.print(&greeting(&demo, turns, context))?;
                tokio::select! {
                    outcome = play_on(&mut demo, context) => outcome.map(|()| ExitCode::SUCCESS),
                    () = &mut stop => Ok(ExitCode::SUCCESS),
                }
            }
            Ok(false) => accompany(&demo, &arguments.command).await,
            Ok(true) => Ok(ExitCode::SUCCESS),
            Err(failure) => Err(failure),
        };
        demo.stop().await?;
        outcome
    })
}

/// Plays one more turn for each line that is typed. Without a terminal, or after the last turn, it only waits.
async fn play_on(demo: &mut Demo, context: &Context) -> Result<(), Failure> {
    let mut lines = typed_lines();
    while lines.recv().await.is_some() {
        let words = match demo.play(1).await? {
            0 => "The recording ends here.\n",
            _ => {
                "The agent sent its next turn: `ctx timeline` lists the requests, `ctx compose --explain` your edits.\n"
            }
        };
        context.output.print(words)?;
    }
    std::future::pending().await
}

/// One item for each line that is typed. A thread of its own reads them: one of the runtime would delay its end.
fn typed_lines() -> UnboundedReceiver<()> {
    let (sender, lines) = unbounded_channel();
    if std::io::stdin().is_terminal() {
        std::thread::spawn(move || std::io::stdin().lines().map_while(Result::ok).try_for_each(|_| sender.send(())));
    }
    lines
}

/// Runs a command for which `ctx` means the demo.
async fn accompany(demo: &Demo, line: &[OsString]) -> Result<ExitCode, Failure> {
    let Some((program, rest)) = line.split_first() else { return Ok(ExitCode::SUCCESS) };
    let mut command = Command::new(program);
    command.args(rest).env(env::HOME.name(), demo.home());
    let own = [env::LISTEN, env::UPSTREAM, env::CONFIG, env::TOKEN, env::TOKEN_FILE];
    for variable in own.into_iter().chain([env::CONVERSATION, env::AGENT_SESSION]) {
        variable.spellings().iter().for_each(|name| {
            command.env_remove(name);
        });
    }
    // `ctx` is this program, even if it is not on the PATH.
    let own = std::env::current_exe().ok().and_then(|path| path.parent().map(std::path::Path::to_owned));
    let path = env::Environment::Process.get(env::PATH).unwrap_or_default();
    if let Ok(path) = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))) {
        command.env(env::PATH.name(), path);
    }
    let name = program.to_string_lossy().into_owned();
    let code = tokio::task::spawn_blocking(move || supervise::run(command, &name)).await;
    code.unwrap_or(Ok(ExitCode::FAILURE))
}

fn greeting(demo: &Demo, turns: usize, context: &Context) -> String {
    // The link contains the token; a file or a pipe may have other readers.
    let link = match context.output.is_terminal() {
        true => page_link(demo.listen(), demo.token(), None),
        false => "ctx ui".to_owned(),
    };
    words(turns, &demo.home().display().to_string(), &link, std::io::stdin().is_terminal(), &context.output.paint)
}

fn words(turns: usize, home: &str, link: &str, takes_keys: bool, paint: &Paint) -> String {
    let next = if takes_keys { "Press Enter for the agent's next turn, " } else { "Press " };
    format!(
        "A demo is running: a recorded conversation of {turns} turns, without a key or an agent.\n\nIn another \
         terminal:\n  export CTX_HOME={home}\n\nThree things to try there:\n  {}\n  {}\n  {}\nThe page: \
         {link}\n\n{next}Ctrl-C to stop and remove everything.\n",
        line(paint, "ctx list --steps", "where the tokens go"),
        line(paint, "ctx drop-results --larger-than 1000", "remove the long tool results; `ctx undo` restores them"),
        line(paint, "ctx plan --stale", "what `ctx` itself would remove; --apply does it"),
    )
}

fn line(paint: &Paint, command: &str, about: &str) -> String {
    format!("{}{} {}", paint.strong(command), " ".repeat(36usize.saturating_sub(command.len())), paint.faint(about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_names_three_things_to_try() {
        let words = words(16, "/tmp/ctx-demo-x", "http://127.0.0.1:1/ui/?token=x", true, &Paint::plain());
        insta::assert_snapshot!(words, @r"
        A demo is running: a recorded conversation of 16 turns, without a key or an agent.

        In another terminal:
          export CTX_HOME=/tmp/ctx-demo-x

        Three things to try there:
          ctx list --steps                     where the tokens go
          ctx drop-results --larger-than 1000  remove the long tool results; `ctx undo` restores them
          ctx plan --stale                     what `ctx` itself would remove; --apply does it
        The page: http://127.0.0.1:1/ui/?token=x

        Press Enter for the agent's next turn, Ctrl-C to stop and remove everything.
        ");
    }
}
