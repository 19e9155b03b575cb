//! The variables, arguments and files that make an agent use the daemon. The data of each client are in `ctx_clients`.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_clients::launch::{Route, fill};
use ctx_clients::{BASE_URL, CLIENTS, Client, DEFAULT};
use ctx_server::UpstreamUrl;

use crate::env::{self, Environment, Variable};
use crate::failure::Failure;

/// Files for agents, below the home.
const FOLDER: &str = "agents";

/// An agent and its route to the daemon.
pub struct Launch {
    client: &'static Client,
    /// Whether the user named the client or its program is known.
    is_known: bool,
    route: &'static Route,
    url: String,
    file: PathBuf,
}

impl Launch {
    /// The launch of a program. `named`: the client, if the user names it. An unknown program is started like the
    /// default client.
    pub fn of(
        program: &OsStr,
        named: Option<&str>,
        address: SocketAddr,
        home: &Path,
        environment: &Environment,
    ) -> Launch {
        let program = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let found = ctx_clients::named(named.unwrap_or(program));
        let client = found.unwrap_or(DEFAULT);
        let route = client.launch.route(|name| environment.raw(name).is_some()).unwrap_or(&Route::BASE);
        let file = home.join(FOLDER).join(route.file.map_or("", |(name, _)| name));
        Launch { client, is_known: found.is_some(), route, url: format!("http://{address}"), file }
    }

    /// Makes the command use the daemon. `rest`: the user's arguments.
    pub fn prepare(&self, agent: &mut Command, rest: &[OsString], environment: &Environment) -> Result<(), Failure> {
        if let Some((_, contents)) = self.route.file {
            let written = self.file.parent().map_or(Ok(()), std::fs::create_dir_all);
            let written = written.and_then(|()| std::fs::write(&self.file, self.fill(contents)));
            written.map_err(|error| Failure::file("write", &self.file, &error))?;
        }
        agent.args(self.route.arguments.iter().map(|text| self.fill(text))).args(rest);
        agent.envs(self.variables(environment));
        Ok(())
    }

    /// The user's values override defaults, but not the address.
    fn variables(&self, environment: &Environment) -> Vec<(&'static str, OsString)> {
        let defaults = self.route.defaults.iter().filter(|(name, _)| environment.raw(name).is_none());
        let all = self.route.variables.iter().chain(defaults);
        let mut set: Vec<_> = all.map(|(name, value)| (*name, self.fill(value).into())).collect();
        let proxied = |variable: Variable| environment.get(variable).is_some();
        if [env::HTTP_PROXY, env::HTTPS_PROXY, env::ALL_PROXY].into_iter().any(proxied) {
            // Keeps a proxy away from the loopback address; the daemon itself uses the proxy.
            let own = self.url.trim_start_matches("http://").rsplit_once(':').map_or("", |(host, _)| host);
            let own = own.trim_matches(['[', ']']).to_owned();
            let others = environment.text(env::NO_PROXY);
            let all = others.into_iter().chain([own, "localhost".to_owned()]).collect::<Vec<_>>().join(",");
            set.extend(env::NO_PROXY.spellings().iter().map(|name| (*name, all.clone().into())));
        }
        set
    }

    /// Notes before the start of the agent. `upstream`: where the daemon forwards to.
    pub fn notes(&self, upstream: &str, environment: &Environment) -> Vec<String> {
        let variables = self.route.variables.iter();
        let overridden = variables.filter_map(|(name, value)| self.about_base_url(name, value, upstream, environment));
        self.route.note.map(|note| self.fill(note)).into_iter().chain(overridden).collect()
    }

    /// Reports a base URL of the user: requests go to the daemon's upstream instead.
    fn about_base_url(&self, name: &str, value: &str, upstream: &str, environment: &Environment) -> Option<String> {
        let given = environment.named(name)?.parse::<UpstreamUrl>();
        let is = |url: &str| fill(value, url, "").parse::<UpstreamUrl>().is_ok_and(|url| given.as_ref() == Ok(&url));
        if is(upstream) || is(&self.url) {
            return None;
        }
        // It may contain a password; only a parsed address is repeated.
        let given = given.map_or_else(|_| "another address".to_owned(), |url| url.to_string());
        Some(format!(
            "{name} is set to {given}, but this agent uses ctx, which forwards to {upstream}. To change that, run \
             `ctx stop`, then `ctx run --upstream URL -- …`"
        ))
    }

    /// The note after a run without a request.
    pub fn about_silence(&self, program: &str) -> String {
        let said = format!("`{program}` sent no request through ctx, so nothing was recorded and no edit was applied");
        match (self.is_known, self.route.check) {
            (true, Some(check)) => format!("{said}. If it did call its model, check this: {}", self.fill(check)),
            (true, None) => {
                format!("{said}. If it did call its model, a setting of {} overrides ctx", self.client.title)
            }
            (false, _) => {
                let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
                let names = names.join(", ");
                format!(
                    "{said}. If it did call its model, it ignores {BASE_URL}; if it is one of these agents, pass \
                     `--client`: {names}"
                )
            }
        }
    }

    fn fill(&self, text: &str) -> String {
        fill(text, &self.url, &self.file.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8788);

    fn launch(program: &str, named: Option<&str>, values: &[(&str, &str)]) -> Launch {
        Launch::of(program.as_ref(), named, ADDRESS, Path::new("/h"), &Environment::of(values))
    }

    fn set(program: &str, values: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let set = launch(program, None, values).variables(&Environment::of(values));
        set.into_iter().map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect()
    }

    #[test]
    fn the_agent_gets_its_base_url_and_what_makes_it_speak_fully() {
        let expected = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8788"),
            ("CLAUDE_CODE_GATEWAY_HINT_HEADERS", "1"),
            ("ENABLE_TOOL_SEARCH", "true"),
        ];
        for program in ["claude", "/usr/bin/claude", "sh"] {
            assert_eq!(set(program, &[]), expected.map(|(name, value)| (name, value.to_owned())), "{program}");
        }
        let version = ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8788/v1".to_owned());
        assert!(set("opencode", &[]).contains(&version), "the base URL of opencode has the version");
    }

    #[test]
    fn what_the_user_has_set_stays() {
        let set = set("claude", &[("ENABLE_TOOL_SEARCH", "false"), ("CLAUDE_CODE_GATEWAY_HINT_HEADERS", "0")]);
        assert_eq!(set.len(), 1, "{set:?}");
    }

    #[test]
    fn behind_a_proxy_the_agent_still_comes_to_us_directly() {
        let set = set("claude", &[("https_proxy", "http://proxy:1"), ("NO_PROXY", "intranet")]);
        for name in ["NO_PROXY", "no_proxy"] {
            assert!(set.contains(&(name, "intranet,127.0.0.1,localhost".to_owned())), "{set:?}");
        }
    }

    #[test]
    fn a_base_url_of_the_users_own_is_answered_with_where_requests_really_go() {
        let notes = |program: &str, url: &str| {
            let values = [("ANTHROPIC_BASE_URL", url)];
            launch(program, None, &values).notes("https://api.anthropic.com", &Environment::of(&values))
        };
        assert!(launch("claude", None, &[]).notes("https://api.anthropic.com", &Environment::of(&[])).is_empty());
        assert!(notes("claude", "http://127.0.0.1:8788/").is_empty(), "it is ours");
        assert!(notes("claude", "https://api.anthropic.com").is_empty(), "it is where we go");
        assert!(notes("opencode", "https://api.anthropic.com/v1").is_empty(), "it is where we go");
        let words = notes("claude", "https://gateway.example/team").concat();
        assert!(
            words.contains("https://gateway.example/team") && words.contains("https://api.anthropic.com"),
            "{words}"
        );
        let words = notes("claude", "https://me:hush@gateway.example").concat();
        assert!(!words.is_empty() && !words.contains("hush"), "{words}");
    }

    #[test]
    fn a_client_can_be_named() {
        let named = launch("npx", Some("goose"), &[]).variables(&Environment::of(&[]));
        assert!(named.iter().any(|(name, _)| *name == "ANTHROPIC_HOST"), "{named:?}");
    }

    #[test]
    fn a_client_without_a_variable_is_given_a_file_or_told_what_to_write() {
        let home = tempfile::tempdir().expect("a folder");
        let environment = Environment::of(&[]);
        let pi = Launch::of("pi".as_ref(), None, ADDRESS, home.path(), &environment);
        let mut command = Command::new("pi");
        pi.prepare(&mut command, &["-p".into()], &environment).expect("prepared");
        let arguments: Vec<&OsStr> = command.get_args().collect();
        assert_eq!((arguments[0], arguments[2]), (OsStr::new("--extension"), OsStr::new("-p")));
        let written = std::fs::read_to_string(arguments[1]).expect("the file");
        assert!(written.contains("baseUrl: \"http://127.0.0.1:8788/v1\""), "{written}");
        let cline = launch("cline", None, &[]).notes("https://api.anthropic.com", &environment).concat();
        assert!(cline.contains("providers.json") && cline.contains("http://127.0.0.1:8788/v1"), "{cline}");
    }

    #[test]
    fn silence_is_explained_by_what_the_client_is() {
        assert!(launch("gemini", None, &[]).about_silence("gemini").contains("GEMINI_API_KEY"));
        assert!(launch("goose", None, &[]).about_silence("goose").contains("a setting of goose"));
        let unknown = launch("sh", None, &[]).about_silence("sh");
        assert!(unknown.contains("`sh` sent no request") && unknown.contains("--client"), "{unknown}");
    }
}
