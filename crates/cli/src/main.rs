//! The `ctx` command: from what was typed to one verb, and from its outcome to an exit code. Each verb has a
//! file of its own in [`verbs`]; all of them are clients of the same daemon.

mod arguments;
mod background;
mod client;
mod config;
mod context;
mod env;
mod event;
mod failure;
mod home;
mod logging;
mod terminal;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Cli, Verb};
use crate::context::Context;
use crate::failure::Failure;

fn main() -> ExitCode {
    let Cli { verb, place } = Cli::parse();
    let context = Context::of_process(place);
    let json = verb.wants_json();
    let outcome = match verb {
        Verb::Up(arguments) => verbs::up::run(arguments, &context),
        Verb::Run(arguments) => verbs::run::run(arguments, &context),
        Verb::Stop(arguments) => verbs::stop::run(arguments, &context),
        Verb::Ui(arguments) => verbs::ui::run(arguments, &context),
        Verb::Conversations(arguments) => verbs::conversations::run(arguments, &context),
        Verb::List(arguments) => verbs::list::run(arguments, &context),
        Verb::Show(arguments) => verbs::show::run(arguments, &context),
        Verb::Compose(arguments) => verbs::compose::run(arguments, &context),
        Verb::Timeline(arguments) => verbs::timeline::run(arguments, &context),
        Verb::Watch(arguments) => verbs::watch::run(arguments, &context),
        Verb::Status(arguments) => verbs::status::run(arguments, &context),
        Verb::Doctor(arguments) => verbs::doctor::run(arguments, &context),
        Verb::Purge(arguments) => verbs::purge::run(arguments, &context),
    };
    outcome.unwrap_or_else(|failure: Failure| failure.report(json, &context.output))
}

impl Verb {
    /// How a failure is told.
    fn wants_json(&self) -> bool {
        match self {
            // A daemon in the background talks to the program that started it.
            Self::Up(arguments) => arguments.background,
            Self::Run(_) => false,
            Self::Stop(arguments) => arguments.format.json,
            Self::Ui(arguments) => arguments.format.json,
            Self::Conversations(arguments) => arguments.format.json,
            Self::List(arguments) => arguments.format.json,
            Self::Show(arguments) => arguments.format.json,
            Self::Compose(arguments) => arguments.format.json,
            Self::Timeline(arguments) => arguments.format.json,
            Self::Watch(arguments) => arguments.format.json,
            Self::Status(arguments) => arguments.format.json,
            Self::Doctor(arguments) => arguments.format.json,
            Self::Purge(arguments) => arguments.format.json,
        }
    }
}
