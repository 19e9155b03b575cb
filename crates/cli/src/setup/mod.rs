//! Sets up clients: the host for their installers, the preview of a plan, and its application. `ctx_clients` knows the
//! files and entries.

mod apply;
mod host;
mod preview;

pub use apply::{How, apply, apply_all};
pub use host::{ThisHost, program_path};

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_clients::setup::{self, Host, Installer, Plan, SetupError};
use ctx_clients::{CLIENTS, Client};

use crate::context::Context;
use crate::failure::Failure;

/// The projects for which a client is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// All your projects
    User,
    /// The project in the current folder
    Project,
}

impl From<Scope> for setup::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::User => Self::User,
            Scope::Project => Self::Project,
        }
    }
}

/// A client that can be set up.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    pub client: &'static Client,
    pub installer: &'static dyn Installer,
}

/// Reads the name of a client that can be set up.
pub fn agents() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(installable().map(|agent| agent.client.name))
        .try_map(|name| installable().find(|agent| agent.client.name == name).ok_or("not a supported agent"))
}

fn installable() -> impl Iterator<Item = Agent> {
    CLIENTS.into_iter().filter_map(|client| Some(Agent { client, installer: client.installer? }))
}

/// The agents on this machine: those whose program is on the PATH, or that have settings here.
pub fn found(host: &ThisHost<'_>) -> Vec<Agent> {
    let has_program = |agent: &Agent| agent.client.launch.programs.iter().any(|name| host.finds_program(name));
    installable().filter(|agent| has_program(agent) || agent.installer.is_found(host)).collect()
}

/// The programs of all agents that can be set up.
pub fn known_programs() -> Vec<&'static str> {
    installable().filter_map(|agent| agent.client.launch.programs.first().copied()).collect()
}

/// The agents that are installed.
pub fn installed(host: &ThisHost<'_>) -> Result<Vec<Agent>, Failure> {
    let mut agents = Vec::new();
    for agent in installable() {
        if host.journal(agent.client.name)?.exists() {
            agents.push(agent);
        }
    }
    Ok(agents)
}

/// Plans for several agents. An agent that cannot be set up is skipped.
pub fn plan_all(agents: &[Agent], plan: impl Fn(&Agent) -> Result<Plan, SetupError>, context: &Context) -> Vec<Plan> {
    let mut plans = Vec::new();
    for agent in agents {
        match plan(agent) {
            Ok(plan) => plans.push(plan),
            Err(error) => note_skipped(agent.client.title, &error.into(), context),
        }
    }
    plans
}

/// Says why an agent keeps its settings. Those of others may change.
fn note_skipped(agent: &str, failure: &Failure, context: &Context) {
    let why = failure.message.strip_suffix("; nothing was changed").unwrap_or(&failure.message);
    let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    context.note(&format!("skipped {agent}: {why}{hint}"));
}

#[cfg(test)]
mod tests {
    use ctx_clients::claude_code::skill::{ALLOWED, text};

    #[test]
    fn every_command_in_it_is_one() {
        use clap::CommandFactory;
        let command = crate::arguments::Cli::command();
        let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let text = text("ctx");
        let said = text.split("`ctx ").skip(1).chain(text.split("  ctx ").skip(1));
        let said: Vec<&str> = said.filter_map(|rest| rest.split([' ', '`']).next()).collect();
        assert!(said.len() >= 6, "{said:?}");
        for verb in said {
            assert!(verbs.contains(&verb) && ALLOWED.contains(&verb), "{verb}");
        }
    }
}
