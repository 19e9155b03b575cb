//! The variables, arguments and files that make an agent use the daemon. The data of each client are in `ctx_clients`.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_clients::launch::{KeyCarrier, Route, fill};
use ctx_clients::{BASE_URL, CLIENTS, Client, DEFAULT};
use ctx_server::UpstreamUrl;

use crate::env::{self, Environment, Variable};
use crate::failure::Failure;
use crate::gateway::Gateway;

/// Files for agents, below the home.
const FOLDER: &str = "agents";

/// An agent and its route to the daemon.
pub struct Launch {
    client: &'static Client,
    /// Whether the user named the client or its program is known.
    is_known: bool,
    route: &'static Route,
    url: String,
    /// The gateway, if the daemon is one.
    gateway: Option<Gateway>,
    file: PathBuf,
}

/// Where the agent's requests go.
pub enum Destination {
    Local(SocketAddr),
    Gateway(Gateway),
}

impl Launch {
    /// The launch of a program. `named`: the client, if the user names it. An unknown program is started like the
    /// default client.
    pub fn of(
        program: &OsStr,
        named: Option<&str>,
        destination: Destination,
        home: &Path,
        environment: &Environment,
    ) -> Launch {
        let program = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let found = ctx_clients::named(named.unwrap_or(program));
        let client = found.unwrap_or(DEFAULT);
        let route = client.launch.route(|name| environment.raw(name).is_some()).unwrap_or(&Route::BASE);
        let file = home.join(FOLDER).join(route.file.map_or("", |(name, _)| name));
        let (url, gateway) = match destination {
            Destination::Local(address) => (format!("http://{address}"), None),
            Destination::Gateway(gateway) => (gateway.url.to_string(), Some(gateway)),
        };
        Launch { client, is_known: found.is_some(), route, url, gateway, file }
    }

    /// Makes the command use the daemon. `rest`: the user's arguments.
    pub fn prepare(&self, agent: &mut Command, rest: &[OsString], environment: &Environment) -> Result<(), Failure> {
        if let Some((_, contents)) = self.route.file {
            let contents = match self.carrier() {
                Some(KeyCarrier::File(contents)) => contents,
                _ => contents,
            };
            let written = self.file.parent().map_or(Ok(()), std::fs::create_dir_all);
            let written = written.and_then(|()| std::fs::write(&self.file, self.fill(contents)));
            written.map_err(|error| Failure::file("write", &self.file, &error))?;
        }
        let more = match self.carrier() {
            Some(KeyCarrier::Arguments(more)) => more,
            _ => &[],
        };
        agent.args(self.route.arguments.iter().chain(more).map(|text| self.fill(text))).args(rest);
        agent.envs(self.variables(environment));
        Ok(())
    }

    /// How the client sends the key; `None` if the daemon is on this machine.
    fn carrier(&self) -> Option<KeyCarrier> {
        self.gateway.as_ref().map(|_| self.route.key)
    }

    /// The user's values override defaults, but not the address.
    fn variables(&self, environment: &Environment) -> Vec<(&'static str, OsString)> {
        let defaults = self.route.defaults.iter().filter(|(name, _)| environment.raw(name).is_none());
        let all = self.route.variables.iter().chain(defaults);
        let mut set: Vec<_> = all.map(|(name, value)| (*name, self.fill(value).into())).collect();
        if let Some(gateway) = &self.gateway {
            self.carry_key(&mut set, gateway, environment);
        }
        // A proxy is on the way to a gateway, and in the way of this machine.
        if !self.url.starts_with("http://") {
            return set;
        }
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

    /// Adds the variables of a gateway: the key where the client sends it, and everything that `ctx` needs inside of the
    /// agent.
    fn carry_key(&self, set: &mut Vec<(&'static str, OsString)>, gateway: &Gateway, environment: &Environment) {
        let key = gateway.key().expose();
        set.extend([(env::GATEWAY.name(), self.url.clone().into()), (env::KEY.name(), key.into())]);
        if let Some(authority) = &gateway.authority {
            set.push((env::GATEWAY_CA.name(), authority.into()));
            // Agents that run on Node read it.
            if environment.get(env::NODE_EXTRA_CA_CERTS).is_none() {
                set.push((env::NODE_EXTRA_CA_CERTS.name(), authority.into()));
            }
        }
        match self.route.key {
            KeyCarrier::List(name, between) => {
                let own = environment.named(name).map(|own| format!("{own}{between}")).unwrap_or_default();
                set.push((name, format!("{own}{}: {key}", ctx_team::KEY_HEADER).into()));
            }
            KeyCarrier::Default(name, value) if environment.raw(name).is_none() => {
                set.retain(|(known, _)| *known != name);
                set.push((name, self.fill(value).replace("{key}", key).into()));
            }
            _ => {}
        }
    }

    /// Notes before the start of the agent. `upstream`: where the daemon forwards to.
    pub fn notes(&self, upstream: &str, environment: &Environment) -> Vec<String> {
        let variables = self.route.variables.iter();
        let overridden = variables.filter_map(|(name, value)| self.about_base_url(name, value, upstream, environment));
        let about_key = self.about_key(environment);
        self.route.note.map(|note| self.fill(note)).into_iter().chain(about_key).chain(overridden).collect()
    }

    /// Reports a client that does not send the key by itself.
    fn about_key(&self, environment: &Environment) -> Option<String> {
        let (title, header) = (self.client.title, ctx_team::KEY_HEADER);
        match self.carrier()? {
            KeyCarrier::ByHand(advice) => Some(format!(
                "ctx cannot make {title} send your key to the gateway, which refuses requests without it; {}",
                self.fill(advice)
            )),
            KeyCarrier::Default(name, _) if environment.raw(name).is_some() => Some(format!(
                "{name} is set, so {title} sends your key to the gateway only if that sets the header {header}"
            )),
            _ => None,
        }
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
        if self.gateway.is_some() {
            return Some(format!("{name} is set to {given}, but this agent uses the gateway {}", self.url));
        }
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
        let text = text.replace("{header}", ctx_team::KEY_HEADER).replace("{variable}", env::KEY.name());
        fill(&text, &self.url, &self.file.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8788);

    fn launch(program: &str, named: Option<&str>, values: &[(&str, &str)]) -> Launch {
        Launch::of(program.as_ref(), named, Destination::Local(ADDRESS), Path::new("/h"), &Environment::of(values))
    }

    const KEY: &str = "ctxk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn to_gateway(program: &str, home: &Path, values: &[(&str, &str)]) -> Launch {
        let url = "https://ctx.example.com".parse().expect("an address");
        let gateway = Gateway::new(url, Some("/ca.pem".into()), KEY).expect("a gateway");
        Launch::of(program.as_ref(), None, Destination::Gateway(gateway), home, &Environment::of(values))
    }

    /// The arguments of an agent, and its variables.
    fn prepared(program: &str, values: &[(&str, &str)]) -> (String, Vec<(String, String)>) {
        let home = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program);
        let launch = to_gateway(program, home.path(), values);
        launch.prepare(&mut command, &[], &Environment::of(values)).expect("prepared");
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let arguments: Vec<String> = command.get_args().map(text).collect();
        let files = arguments.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        assert!(files.into_iter().all(|file| !file.contains(KEY)), "the key is not written to a file");
        assert!(!arguments.concat().contains(KEY), "others see arguments");
        let set = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
        (arguments.join(" "), set.collect())
    }

    #[test]
    fn through_a_gateway_the_key_goes_where_the_client_carries_it() {
        let has = |set: &[(String, String)], name: &str, value: &str| {
            assert!(set.contains(&(name.to_owned(), value.to_owned())), "{name}: {set:?}");
        };
        let (_, claude) = prepared("claude", &[("ANTHROPIC_CUSTOM_HEADERS", "x-team: core")]);
        has(&claude, "ANTHROPIC_BASE_URL", "https://ctx.example.com");
        has(&claude, "ANTHROPIC_CUSTOM_HEADERS", &format!("x-team: core\nx-ctx-key: {KEY}"));
        has(&claude, "NODE_EXTRA_CA_CERTS", "/ca.pem");
        has(&claude, "CTX_GATEWAY", "https://ctx.example.com");
        has(&claude, "CTX_KEY", KEY);
        let (_, gemini) = prepared("gemini", &[]);
        has(&gemini, "GEMINI_CLI_CUSTOM_HEADERS", &format!("x-ctx-key: {KEY}"));
        let (codex, set) = prepared("codex", &[("OPENAI_API_KEY", "sk-own")]);
        assert!(codex.contains("env_http_headers={ \"x-ctx-key\" = \"CTX_KEY\" }"), "{codex}");
        assert!(codex.contains("base_url=\"https://ctx.example.com/v1\""), "{codex}");
        has(&set, "CTX_KEY", KEY);
        let (_, opencode) = prepared("opencode", &[]);
        let (_, settings) = opencode.iter().find(|(name, _)| name == "OPENCODE_CONFIG_CONTENT").expect("settings");
        assert_eq!(settings.matches(&format!("\"headers\":{{\"x-ctx-key\":\"{KEY}\"}}")).count(), 3, "{settings}");
        let home = tempfile::tempdir().expect("a folder");
        let pi = to_gateway("pi", home.path(), &[]);
        pi.prepare(&mut Command::new("pi"), &[], &Environment::of(&[])).expect("prepared");
        let written = std::fs::read_to_string(&pi.file).expect("the file");
        assert!(written.contains("{ \"x-ctx-key\": process.env.CTX_KEY }"), "{written}");
    }

    #[test]
    fn a_client_that_cannot_carry_the_key_is_told_so() {
        let notes = |program: &str, values: &[(&str, &str)]| {
            to_gateway(program, Path::new("/h"), values).notes("https://api.anthropic.com", &Environment::of(values))
        };
        for program in ["goose", "aider", "qwen", "cline", "cn"] {
            let words = notes(program, &[]).concat();
            assert!(words.contains("cannot make") && words.contains("x-ctx-key") && !words.contains(KEY), "{words}");
        }
        for program in ["claude", "gemini", "opencode", "pi"] {
            assert_eq!(notes(program, &[]), Vec::<String>::new());
        }
        let own = notes("opencode", &[("OPENCODE_CONFIG_CONTENT", "{}")]).concat();
        assert!(own.contains("OPENCODE_CONFIG_CONTENT is set"), "{own}");
        let other = notes("claude", &[("ANTHROPIC_BASE_URL", "https://other.example")]).concat();
        assert!(other.contains("uses the gateway https://ctx.example.com") && !other.contains("ctx stop"), "{other}");
    }

    #[test]
    fn a_proxy_stays_on_the_way_to_a_gateway() {
        let proxied = [("https_proxy", "http://proxy:1")];
        let (_, set) = prepared("claude", &proxied);
        assert!(!set.iter().any(|(name, _)| name.eq_ignore_ascii_case("no_proxy")), "{set:?}");
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
        let pi = Launch::of("pi".as_ref(), None, Destination::Local(ADDRESS), home.path(), &environment);
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
