//! The `ctx` binary from outside: its output and exit codes. Each test has its own home, environment and ports.

mod asked_wrongly;
mod automatic;
#[cfg(target_os = "linux")]
mod cast;
mod configuring;
#[cfg(unix)]
mod crowded;
#[cfg(unix)]
mod demo;
mod doctor;
#[cfg(unix)]
mod documents;
mod editing;
mod init;
mod install;
mod install_agents;
#[cfg(unix)]
mod interrupted;
mod lab;
mod looking;
mod money;
mod place;
mod provider_edits;
mod purge;
mod quick;
mod run;
mod searching;
#[cfg(unix)]
mod service;
mod starting;
#[cfg(unix)]
mod store;
mod transfer;
mod trusting;
#[cfg(unix)]
mod upgrade;
mod walkthrough;
mod without_daemon;
