//! `ctx up`: runs the daemon in the foreground. This loads the settings and greets; `daemon` opens everything in order.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use ctx_clients::{BASE_URL, DEFAULT};

use crate::arguments::DaemonArguments;
use crate::client::{callable, page_link};
use crate::config::Settings;
use crate::context::Context;
use crate::daemon::{self, Assembly};
use crate::failure::Failure;
use crate::home::Home;
use crate::platform::Signals;
use crate::{background, logging, output, weekly};

/// Run the daemon in the foreground
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx up
  ctx up --listen 127.0.0.1:9000 --upstream https://gateway.example
  CTX_LOG=debug ctx up")]
pub struct Arguments {
    #[command(flatten)]
    daemon: DaemonArguments,
    /// Run without a terminal, as `ctx run` does
    #[arg(long, hide = true)]
    pub background: bool,
    /// Run under a service manager: like `background`, with the log in the home
    #[arg(long, hide = true)]
    service: bool,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    if !arguments.service {
        return serve(&arguments, &home, context, None);
    }
    home.prepare()?;
    let path = home.log_file();
    let log = background::open_log(&path).map_err(|error| Failure::file("write", &path, &error))?;
    let last_words = log.try_clone();
    serve(&arguments, &home, context, Some(log)).inspect_err(|failure| {
        // The service manager keeps stderr elsewhere, if at all.
        let _ = last_words.and_then(|mut log| writeln!(log, "{}", failure.as_json()));
    })
}

fn serve(arguments: &Arguments, home: &Home, context: &Context, log: Option<File>) -> Result<ExitCode, Failure> {
    let is_unattended = arguments.background || arguments.service;
    let folder = std::env::current_dir().unwrap_or_default();
    let flags = arguments.daemon.flags(&context.place)?;
    let settings = Settings::load(&flags, &context.environment, home, &folder)?;
    logging::start(&context.environment, log)?;
    settings.remarks.iter().chain(&settings.wrong).for_each(|remark| context.note(remark));

    let assembly = Assembly::new(&flags, settings, &context.environment, home, &folder, |remark| context.note(remark))?;
    let (upstream, token) = (assembly.upstream(), assembly.token.clone());
    weekly::start(home.clone(), assembly.rules.clone());
    daemon::runtime()?.block_on(async {
        let daemon = assembly.bind().await?;
        let stop = Signals::listen(is_unattended)?;
        let listen = daemon.listen();
        let _announcement = daemon.announce()?;
        if is_unattended {
            // Leaves the start folder, which may be removed or unmounted later.
            let _ = std::env::set_current_dir(home.path());
            tracing::info!(%listen, %upstream, home = %home.path().display(), "the daemon is up");
        } else {
            // The link contains the token; a file or a pipe may have other readers.
            let link = match context.output.is_terminal() {
                true => page_link(listen, &token, None),
                false => "ctx ui".to_owned(),
            };
            let words = greeting(&callable(listen).to_string(), &upstream, &link, &context.output.paint);
            context.output.print(&words)?;
            tracing::debug!(%listen, %upstream, home = %home.path().display(), "the daemon is up");
        }
        daemon.run(stop.received()).await?;
        tracing::info!("the daemon has stopped");
        Ok(ExitCode::SUCCESS)
    })
}

fn greeting(listen: &str, upstream: &str, link: &str, paint: &output::Paint) -> String {
    let program = DEFAULT.launch.programs.first().unwrap_or(&DEFAULT.name);
    format!(
        "{} listens on {listen} and forwards to {upstream}\n\n  {}  {BASE_URL}=http://{listen} {program}\n  {}  ctx run \
         -- {program}\n  {}  {link}\n\nPress Ctrl-C to stop.\n",
        paint.strong("ctx"),
        paint.faint("use it"),
        paint.faint("or    "),
        paint.faint("page  "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_tells_all_that_a_user_needs_next() {
        let words = greeting(
            "127.0.0.1:8788",
            "https://api.anthropic.com",
            "http://127.0.0.1:8788/ui/?token=x",
            &output::Paint::plain(),
        );
        insta::assert_snapshot!(words, @r"
        ctx listens on 127.0.0.1:8788 and forwards to https://api.anthropic.com

          use it  ANTHROPIC_BASE_URL=http://127.0.0.1:8788 claude
          or      ctx run -- claude
          page    http://127.0.0.1:8788/ui/?token=x

        Press Ctrl-C to stop.
        ");
    }
}
