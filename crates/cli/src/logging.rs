//! The daemon's log: to stderr, as much of it as CTX_LOG asks for. Other verbs log nothing.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::env::{self, Environment};
use crate::failure::Failure;

const USUAL: &str = "info";

pub fn start(environment: &Environment) -> Result<(), Failure> {
    let wanted = environment.text(env::LOG).unwrap_or_else(|| USUAL.to_owned());
    let filter = EnvFilter::builder().parse(&wanted).map_err(|error| {
        Failure::new("environment", format!("{} is not understood: {error}", env::LOG.name()))
            .hint("give a level (error, warn, info, debug, trace), or levels by module: ctx_server=debug,warn")
    })?;
    // It tells whole messages, and those hold what people say to their agents.
    let filter = match "rmcp=off".parse() {
        Ok(off) => filter.add_directive(off),
        Err(_) => filter,
    };
    let is_coloured = io::stderr().is_terminal() && environment.get(env::NO_COLOR).is_none();
    let started = tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_ansi(is_coloured)
        .with_writer(io::stderr)
        .try_init();
    started.map_err(|error| Failure::new("log", format!("the log cannot be started: {error}")))
}
