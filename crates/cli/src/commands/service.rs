//! `ctx service`: the daemon as a service of the user.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ctx_api::status::Status;
use ctx_core::ErrorCode;
use serde_json::json;

use crate::arguments::JsonArguments;
use crate::background;
use crate::client::LocalClient;
use crate::commands::stop;
use crate::config::Flags;
use crate::context::Context;
use crate::env;
use crate::failure::Failure;
use crate::platform::service::{Definition, Manager};
use crate::setup::program_path;
use crate::upgrade;

/// Run the daemon as a service: started at login, restarted when it dies
#[derive(Args, Debug)]
#[command(after_help = "Uses systemd on Linux. launchd (macOS) and the task scheduler (Windows) are supported but \
untested. The service logs to daemon.log in the home.

Examples:
  ctx service install
  ctx service status
  ctx service uninstall")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Install the service and start it; a running daemon is replaced
    #[command(after_help = "Example:\n  ctx service install")]
    Install,
    /// Show whether the service is installed and running
    #[command(after_help = "Example:\n  ctx service status")]
    Status {
        #[command(flatten)]
        format: JsonArguments,
    },
    /// Stop the service and remove it
    #[command(after_help = "Example:\n  ctx service uninstall")]
    Uninstall,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.action {
        Action::Install => install(context),
        Action::Status { format } => status(format.json, context),
        Action::Uninstall => uninstall(context),
    }
}

fn install(context: &Context) -> Result<ExitCode, Failure> {
    let manager = Manager::of_this_system();
    manager.reach()?;
    let home = context.home()?;
    home.prepare()?;
    let mut arguments = vec!["up".to_owned(), "--service".to_owned()];
    if context.place.home.is_some() || context.environment.get(env::HOME).is_some() {
        arguments.extend(["--home".to_owned(), home.path().display().to_string()]);
    }
    if let Some(listen) = context.place.listen {
        arguments.extend(["--listen".to_owned(), listen.to_string()]);
    }
    let was_active = manager.is_active();
    let old = make_room(was_active, context)?;
    let logged = background::log_length(&home);
    let installed = manager.install(&Definition { program: program_path()?, arguments }, &context.environment);
    if let Err(failure) = installed {
        if let Some((client, status)) = old.filter(|_| !was_active) {
            upgrade::start_again(&Flags::default(), client.address(), &status, context)?;
        }
        return Err(failure);
    }
    if was_active {
        manager.restart()?;
    }
    let pid = old.map_or(0, |(_, status)| status.pid);
    let (address, _) = upgrade::restarted(pid, logged, context)?;
    note_variables(context);
    context.output.print(&format!(
        "The daemon runs on {address} as a service of {}: from now on it starts at login.\n  log   {}\n  undo  ctx service \
         uninstall\n",
        manager.name,
        home.log_file().display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Stops the daemon that the service replaces; its own is restarted by its manager. Returns that daemon, if any.
fn make_room(is_service: bool, context: &Context) -> Result<Option<(LocalClient, Status)>, Failure> {
    let Some((client, status)) = background::answering(&context.home()?) else { return Ok(None) };
    if !upgrade::falls_idle(&client) {
        return Err(Failure::new(ErrorCode::StillRunning, "the running daemon is busy with a request")
            .hint("run this again when your agents are idle, or run `ctx stop` first; nothing was changed"));
    }
    if !is_service {
        stop::stop(status.pid)?;
    }
    Ok(Some((client, status)))
}

/// A service does not get the variables of this shell.
fn note_variables(context: &Context) {
    let variables = [env::LISTEN, env::UPSTREAM, env::CONFIG, env::HTTPS_PROXY, env::HTTP_PROXY, env::ALL_PROXY];
    let set = variables.into_iter().filter(|variable| context.environment.get(*variable).is_some());
    let names: Vec<&str> = set.map(env::Variable::name).collect();
    if !names.is_empty() {
        let file = context.home().map(|home| home.config_file()).unwrap_or_default();
        context.note(&format!(
            "the service does not see the variables of this shell ({}); put such settings into {}",
            names.join(", "),
            file.display()
        ));
    }
}

fn uninstall(context: &Context) -> Result<ExitCode, Failure> {
    let was_there = Manager::of_this_system().uninstall(&context.environment)?;
    let words = match was_there {
        true => "Removed the service. `ctx up` and `ctx run` start the daemon without it.\n",
        false => "The service is not installed.\n",
    };
    context.output.print(words)?;
    Ok(ExitCode::SUCCESS)
}

fn status(json: bool, context: &Context) -> Result<ExitCode, Failure> {
    let manager = Manager::of_this_system();
    let home = context.home()?;
    let file: Option<PathBuf> = Some(manager.file(&context.environment)?).filter(|file| file.exists());
    let is_active = file.is_some() && manager.is_active();
    let daemon = background::answering(&home);
    if json {
        let told = json!({
            "manager": manager.name,
            "file": file,
            "active": is_active,
            "daemon": daemon.as_ref().map(|(client, _)| client.address()),
            "log": home.log_file(),
        });
        context.output.json(told.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let service = match (&file, is_active) {
        (None, _) => "not installed; `ctx service install` installs it".to_owned(),
        (Some(file), true) => format!("active ({}, {})", manager.name, file.display()),
        (Some(file), false) => {
            format!("installed ({}, {}) but not running; `ctx service install` starts it", manager.name, file.display())
        }
    };
    let daemon = match daemon {
        Some((client, status)) => format!("version {} on {}", status.version, client.address()),
        None => "not running".to_owned(),
    };
    let log = home.log_file();
    context.output.print(&format!("service  {service}\ndaemon   {daemon}\nlog      {}\n", log.display()))?;
    Ok(ExitCode::SUCCESS)
}
