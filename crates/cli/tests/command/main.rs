//! The `ctx` binary as a person or a script meets it: what it prints, where, and how it exits. Each test has a
//! home, an environment and ports of its own.

mod asked_wrongly;
mod automatic;
mod configuring;
#[cfg(unix)]
mod crowded;
mod doctor;
mod editing;
mod install;
mod install_agents;
mod lab;
mod looking;
mod money;
mod place;
mod provider_edits;
mod purge;
mod quick;
mod run;
mod searching;
mod starting;
mod transfer;
mod trusting;
mod walkthrough;
mod without_daemon;
