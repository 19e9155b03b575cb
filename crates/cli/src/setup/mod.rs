//! Setting clients up: the host that their installers work on, the preview of a plan, and its application. What is
//! written where is known by `ctx_clients`.

mod apply;
mod host;
mod preview;

pub use apply::{How, apply};
pub use host::ThisHost;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_clients::setup::{self, Installer};
use ctx_clients::{CLIENTS, Client};

/// For which projects a client is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Every project of this user
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
    client: &'static Client,
    pub installer: Installer,
}

/// Reads the name of a client that can be set up.
pub fn agents() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(installable().map(|agent| agent.client.name))
        .try_map(|name| installable().find(|agent| agent.client.name == name).ok_or("not an agent that can be set up"))
}

fn installable() -> impl Iterator<Item = Agent> {
    CLIENTS.into_iter().filter_map(|client| Some(Agent { client, installer: client.installer? }))
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
