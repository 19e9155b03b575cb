//! Declares and looks up every environment variable that `ctx` reads or sets. Their users interpret the values. The
//! names of clients' variables are in `ctx_clients`.

use std::ffi::OsString;

/// A variable with its alternative names; the first one that is set and not empty counts.
#[derive(Clone, Copy, Debug)]
pub struct Variable(&'static [&'static str]);

impl Variable {
    /// The name for messages and for setting it.
    pub fn name(self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }

    /// All its names, for setting it so that every program finds it.
    pub fn spellings(self) -> &'static [&'static str] {
        self.0
    }
}

// Variables of `ctx`.
/// The listening address of the daemon.
pub const LISTEN: Variable = Variable(&["CTX_LISTEN"]);
/// The upstream.
pub const UPSTREAM: Variable = Variable(&["CTX_UPSTREAM"]);
/// The folder of the store, the token and the daemon's other files.
pub const HOME: Variable = Variable(&["CTX_HOME"]);
/// The address of the database, instead of a file in the home.
pub const STORE: Variable = Variable(&["CTX_STORE"]);
/// The password of the database.
pub const STORE_PASSWORD: Variable = Variable(&["CTX_STORE_PASSWORD"]);
/// A file with that password.
pub const STORE_PASSWORD_FILE: Variable = Variable(&["CTX_STORE_PASSWORD_FILE"]);
/// The configuration file, replacing those of the project and the home.
pub const CONFIG: Variable = Variable(&["CTX_CONFIG"]);
/// The default conversation.
pub const CONVERSATION: Variable = Variable(&["CTX_CONV"]);
/// The token of the control API and the page, instead of the one in the home.
pub const TOKEN: Variable = Variable(&["CTX_TOKEN"]);
/// A file with that token.
pub const TOKEN_FILE: Variable = Variable(&["CTX_TOKEN_FILE"]);
/// The address of a daemon on another machine.
pub const GATEWAY: Variable = Variable(&["CTX_GATEWAY"]);
/// The authority of its certificate, in PEM.
pub const GATEWAY_CA: Variable = Variable(&["CTX_GATEWAY_CA"]);
/// The key of a person, for a daemon that serves a team: the one that CTX_GATEWAY names, else the one on this machine.
pub const KEY: Variable = Variable(&["CTX_KEY"]);
/// The log filter: `info`, `debug`, `ctx_server=trace,warn`, …
pub const LOG: Variable = Variable(&["CTX_LOG"]);

// Variables of the system.
pub const USER_HOME: Variable = Variable(&["HOME", "USERPROFILE"]);
/// The search path for programs.
pub const PATH: Variable = Variable(&["PATH"]);
pub const XDG_CONFIG_HOME: Variable = Variable(&["XDG_CONFIG_HOME"]);
pub const XDG_DATA_HOME: Variable = Variable(&["XDG_DATA_HOME"]);
pub const LOCAL_APP_DATA: Variable = Variable(&["LOCALAPPDATA"]);
/// The user's text editor.
pub const EDITOR: Variable = Variable(&["VISUAL", "EDITOR"]);
pub const NO_COLOR: Variable = Variable(&["NO_COLOR"]);
pub const TERM: Variable = Variable(&["TERM"]);

// Variables for the connection to the upstream. Programs disagree on the case, so both are read.
pub const HTTPS_PROXY: Variable = Variable(&["HTTPS_PROXY", "https_proxy"]);
pub const HTTP_PROXY: Variable = Variable(&["HTTP_PROXY", "http_proxy"]);
pub const ALL_PROXY: Variable = Variable(&["ALL_PROXY", "all_proxy"]);
pub const NO_PROXY: Variable = Variable(&["NO_PROXY", "no_proxy"]);
pub const SSL_CERT_FILE: Variable = Variable(&["SSL_CERT_FILE"]);
/// Additional certificate authorities, which the agents honour too.
pub const NODE_EXTRA_CA_CERTS: Variable = Variable(&["NODE_EXTRA_CA_CERTS"]);

// Variables of the agent. `ctx_clients::launch` lists those that `ctx run` sets.
/// The session of the agent that runs this command. Each agent has a variable of its own; see `ctx_clients::sessions_in`.
pub const AGENT_SESSION: Variable = Variable(ctx_clients::SESSIONS);

/// The source of values: the process, or a test.
#[derive(Clone, Debug)]
pub enum Environment {
    Process,
    Given(std::collections::BTreeMap<String, OsString>),
}

impl Environment {
    pub fn of(values: &[(&str, &str)]) -> Self {
        Self::Given(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect())
    }

    /// The value; an empty one counts as unset.
    pub fn get(&self, variable: Variable) -> Option<OsString> {
        variable.0.iter().filter_map(|name| self.look_up(name)).find(|value| !value.is_empty())
    }

    /// The value as text. Bytes that are not text become characters that every parser refuses.
    pub fn text(&self, variable: Variable) -> Option<String> {
        self.get(variable).map(|value| value.to_string_lossy().into_owned())
    }

    /// A variable whose name the user chose.
    pub fn named(&self, name: &str) -> Option<String> {
        self.raw(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// A variable known only to its client.
    pub fn raw(&self, name: &str) -> Option<OsString> {
        self.look_up(name).filter(|value| !value.is_empty())
    }

    /// All variables, for a child process.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        match self {
            Self::Process => std::env::vars_os().collect(),
            Self::Given(values) => values.iter().map(|(name, value)| (name.into(), value.clone())).collect(),
        }
    }

    fn look_up(&self, name: &str) -> Option<OsString> {
        match self {
            Self::Process => std::env::var_os(name),
            Self::Given(values) => values.get(name).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset_and_the_other_spelling_is_tried() {
        let environment = Environment::of(&[("HTTPS_PROXY", ""), ("https_proxy", "http://proxy:1"), ("CTX_HOME", "")]);
        assert_eq!(environment.text(HTTPS_PROXY).as_deref(), Some("http://proxy:1"));
        assert_eq!(environment.get(HOME), None);
    }
}
