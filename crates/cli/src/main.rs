//! The `ctx` command: from what was typed to one verb, and from its outcome to an exit code. Each verb has a
//! file of its own in [`verbs`]; all of them are clients of the same daemon.

mod arguments;
mod background;
mod client;
mod codes;
mod commit;
mod config;
mod context;
mod env;
mod event;
mod failure;
mod help;
mod home;
mod logging;
mod offer;
mod setup;
mod terminal;
mod verbs;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::arguments::{Cli, Verb};
use crate::context::Context;
use crate::env::Environment;
use crate::failure::Failure;
use crate::terminal::Output;

/// Copies are made on the proxy's threads and freed on the recorder's: nobody may wait for the other's lock.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let output = Output::of_process(&Environment::Process);
    let given = help::grouped(Cli::command(), &output).get_matches();
    let json = wants_json(&given);
    let Cli { verb, place } = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    let context = Context::of_process(place);
    let outcome = match verb {
        Verb::Up(arguments) => verbs::up::run(arguments, &context),
        Verb::Run(arguments) => verbs::run::run(arguments, &context),
        Verb::Stop(arguments) => verbs::stop::run(arguments, &context),
        Verb::Ui(arguments) => verbs::ui::run(arguments, &context),
        Verb::Conversations(arguments) => verbs::conversations::run(arguments, &context),
        Verb::List(arguments) => verbs::list::run(arguments, &context),
        Verb::Show(arguments) => verbs::show::run(arguments, &context),
        Verb::Search(arguments) => verbs::search::run(arguments, &context),
        Verb::Compose(arguments) => verbs::compose::run(arguments, &context),
        Verb::Sent(arguments) => verbs::sent::run(arguments, &context),
        Verb::Change(change) => verbs::change::run(change, &context),
        Verb::Preview(arguments) => verbs::preview::run(arguments, &context),
        Verb::Plan(arguments) => verbs::plan::run(arguments, &context),
        Verb::Waiting(arguments) => verbs::waiting::run(arguments, &context),
        Verb::Phase(arguments) => verbs::phase::run(arguments, &context),
        Verb::Export(arguments) => verbs::export::run(arguments, &context),
        Verb::History(arguments) => verbs::history::run(arguments, &context),
        Verb::Diff(arguments) => verbs::diff::run(arguments, &context),
        Verb::Timeline(arguments) => verbs::timeline::run(arguments, &context),
        Verb::Watch(arguments) => verbs::watch::run(arguments, &context),
        Verb::Stats(arguments) => verbs::stats::run(arguments, &context),
        Verb::WhyMiss(arguments) => verbs::why_miss::run(arguments, &context),
        Verb::Models(arguments) => verbs::models::run(arguments, &context),
        Verb::Status(arguments) => verbs::status::run(arguments, &context),
        Verb::Doctor(arguments) => verbs::doctor::run(arguments, &context),
        Verb::Explain(arguments) => verbs::explain::run(arguments, &context),
        Verb::Config(arguments) => verbs::config::run(arguments, &context),
        Verb::Trust(arguments) => verbs::trust::run(arguments, &context),
        Verb::Helper(arguments) => verbs::helper::run(arguments, &context),
        Verb::Lab(arguments) => verbs::lab::run(arguments, &context),
        Verb::Mcp(arguments) => verbs::mcp::run(arguments, &context),
        Verb::Install(arguments) => verbs::install::run(arguments, &context),
        Verb::Uninstall(arguments) => verbs::uninstall::run(arguments, &context),
        Verb::StatusLine(arguments) => verbs::status_line::run(arguments, &context),
        Verb::Purge(arguments) => verbs::purge::run(arguments, &context),
        Verb::Completions(arguments) => verbs::completions::run(arguments, &context),
        Verb::Man(arguments) => verbs::man::run(arguments, &context),
    };
    outcome.unwrap_or_else(|failure: Failure| {
        arguments::of_own_session(failure, &context.environment).report(json, &context.output)
    })
}

/// How a failure is told. A daemon in the background talks to the program that started it.
fn wants_json(given: &ArgMatches) -> bool {
    let said = |flag| given.try_get_one::<bool>(flag).ok().flatten() == Some(&true);
    said("json") || said("background") || given.subcommand().is_some_and(|(_, given)| wants_json(given))
}
