//! The `ctx` command: from the command line to a verb, and from its outcome to an exit code. Each verb has its own file
//! in [`commands`]; all are clients of the daemon.

mod arguments;
mod autostart;
mod background;
mod client;
mod commands;
mod commit;
mod context;
mod daemon;
mod demo;
mod desks;
mod edited_cards;
mod event;
mod failure;
mod gateway;
mod help;
mod logging;
mod open_store;
mod output;
mod owners;
mod platform;
mod setup;
mod token;
mod upgrade;
mod weekly;

pub(crate) use ctx_config::{self as config, env, home};

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use ctx_core::ErrorCode;

use crate::arguments::{Cli, Verb};
use crate::context::Context;
use crate::env::Environment;
use crate::failure::Failure;
use crate::output::Output;

/// Copies are allocated on the proxy's threads and freed on the recorder's, so the allocator must not share a lock.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let output = Output::of_process(&Environment::Process);
    let given = help::grouped(Cli::command(), &output).get_matches();
    let json = wants_json(&given);
    let Cli { verb, place } = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    let context = Context::of_process(place);
    let outcome = match verb {
        verb if verb.is_local() && context.place.gateway.is_some() => Err(stays_here()),
        Verb::Up(arguments) => commands::up::run(arguments, &context),
        Verb::Run(arguments) => commands::run::run(arguments, &context),
        Verb::Demo(arguments) => commands::demo::run(arguments, &context),
        Verb::Service(arguments) => commands::service::run(arguments, &context),
        Verb::Stop(arguments) => commands::stop::run(arguments, &context),
        Verb::Ui(arguments) => commands::ui::run(arguments, &context),
        Verb::Conversations(arguments) => commands::conversations::run(arguments, &context),
        Verb::List(arguments) => commands::list::run(arguments, &context),
        Verb::Show(arguments) => commands::show::run(arguments, &context),
        Verb::Search(arguments) => commands::search::run(arguments, &context),
        Verb::Compose(arguments) => commands::compose::run(arguments, &context),
        Verb::Cat(arguments) => commands::cat::run(arguments, &context),
        Verb::Sent(arguments) => commands::sent::run(arguments, &context),
        Verb::Change(change) => commands::change::run(change, &context),
        Verb::Preview(arguments) => commands::preview::run(arguments, &context),
        Verb::Plan(arguments) => commands::plan::run(arguments, &context),
        Verb::Waiting(arguments) => commands::waiting::run(arguments, &context),
        Verb::Phase(arguments) => commands::phase::run(arguments, &context),
        Verb::Export(arguments) => commands::export::run(arguments, &context),
        Verb::History(arguments) => commands::history::run(arguments, &context),
        Verb::Diff(arguments) => commands::diff::run(arguments, &context),
        Verb::Timeline(arguments) => commands::timeline::run(arguments, &context),
        Verb::Watch(arguments) => commands::watch::run(arguments, &context),
        Verb::Stats(arguments) => commands::stats::run(arguments, &context),
        Verb::WhyMiss(arguments) => commands::why_miss::run(arguments, &context),
        Verb::Models(arguments) => commands::models::run(arguments, &context),
        Verb::Status(arguments) => commands::status::run(arguments, &context),
        Verb::Doctor(arguments) => commands::doctor::run(arguments, &context),
        Verb::Explain(arguments) => commands::explain::run(arguments, &context),
        Verb::Config(arguments) => commands::config::run(arguments, &context),
        Verb::Trust(arguments) => commands::trust::run(arguments, &context),
        Verb::Helper(arguments) => commands::helper::run(arguments, &context),
        Verb::Lab(arguments) => commands::lab::run(arguments, &context),
        Verb::Mcp(arguments) => commands::mcp::run(arguments, &context),
        Verb::Init(arguments) => commands::init::run(arguments, &context),
        Verb::Install(arguments) => commands::install::run(arguments, &context),
        Verb::Uninstall(arguments) => commands::uninstall::run(arguments, &context),
        Verb::StatusLine(arguments) => commands::status_line::run(arguments, &context),
        Verb::Store(arguments) => commands::store::run(arguments, &context),
        Verb::People(arguments) => commands::people::run(arguments, &context),
        Verb::Keys(arguments) => commands::keys::run(arguments, &context),
        Verb::Login(arguments) => commands::login::run(arguments, &context),
        Verb::Logout(arguments) => commands::logout::run(arguments, &context),
        Verb::Share(arguments) => commands::share::run(arguments, &context),
        Verb::Audit(arguments) => commands::audit::run(arguments, &context),
        Verb::Purge(arguments) => commands::purge::run(arguments, &context),
        Verb::Completions(arguments) => commands::completions::run(arguments, &context),
        Verb::Man(arguments) => commands::man::run(arguments, &context),
    };
    outcome.unwrap_or_else(|failure: Failure| {
        arguments::of_own_session(failure, &context.environment).report(json, &context.output)
    })
}

/// The refusal of a verb that concerns this machine, for another one.
fn stays_here() -> Failure {
    Failure::new(ErrorCode::LocalOnly, "this command concerns the daemon and the files of the machine that it runs on")
        .hint("run it on the gateway's machine; omit --gateway to run it for this one")
}

/// Whether failures are reported as JSON. A background daemon reports to the program that started it.
fn wants_json(given: &ArgMatches) -> bool {
    let said = |flag| given.try_get_one::<bool>(flag).ok().flatten() == Some(&true);
    said("json") || said("background") || given.subcommand().is_some_and(|(_, given)| wants_json(given))
}
