//! How `ctx run` routes a client through the daemon, as data.
//!
//! In all texts, `{url}` is the daemon's URL and `{file}` the path of the route's file. In those about a gateway, `{header}`
//! is the name of the header with the user's key, and `{variable}` that of a variable with the key. `{key}` is the key itself;
//! it stands only in values of variables, because other users of the machine see arguments.

/// How to start a client so that it uses the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// The names of its program.
    pub programs: &'static [&'static str],
    /// The first applicable one is used.
    pub routes: &'static [Route],
}

/// One way to route a client through the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Applies only if this variable is set.
    pub when: Option<&'static str>,
    /// Variables with their values.
    pub variables: &'static [(&'static str, &'static str)],
    /// Variables for which the user's value takes precedence.
    pub defaults: &'static [(&'static str, &'static str)],
    /// Arguments before those of the user.
    pub arguments: &'static [&'static str],
    /// Name and contents of a file for the client to read.
    pub file: Option<(&'static str, &'static str)>,
    /// A note before the client starts.
    pub note: Option<&'static str>,
    /// The likely cause if no request arrives.
    pub check: Option<&'static str>,
    /// How the client sends the user's key to a gateway.
    pub key: KeyCarrier,
}

/// How a client adds a header to all its requests.
#[derive(Debug, Clone, Copy)]
pub enum KeyCarrier {
    /// A variable with headers as `name: value`, and the text between two of them. Those of the user stay.
    List(&'static str, &'static str),
    /// Further arguments.
    Arguments(&'static [&'static str]),
    /// Another value for a variable of the route's `defaults`.
    Default(&'static str, &'static str),
    /// Other contents for the route's file.
    File(&'static str),
    /// No way that `ctx` could use, and what the user can do.
    ByHand(&'static str),
}

impl Launch {
    /// A client without a known program.
    pub const NONE: Launch = Launch { programs: &[], routes: &[] };

    /// The route to use; `is_set` reports whether a variable has a value.
    pub fn route(&self, is_set: impl Fn(&str) -> bool) -> Option<&'static Route> {
        self.routes.iter().find(|route| route.when.is_none_or(&is_set))
    }
}

impl Route {
    /// A route that sets nothing.
    pub const BASE: Route = Route {
        when: None,
        variables: &[],
        defaults: &[],
        arguments: &[],
        file: None,
        note: None,
        check: None,
        key: KeyCarrier::ByHand("add the header {header} with your key to its settings"),
    };
}

/// Fills in a text of a route.
pub fn fill(text: &str, url: &str, file: &str) -> String {
    text.replace("{url}", url).replace("{file}", file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CLIENTS;

    /// The variables that a client gets, filled in.
    fn variables(name: &str) -> Vec<(&'static str, String)> {
        let client = CLIENTS.into_iter().find(|client| client.name == name).expect("a client");
        let route = client.launch.route(|_| false).expect("a route");
        route.variables.iter().map(|(name, value)| (*name, fill(value, "http://h:1", ""))).collect()
    }

    #[test]
    fn every_client_has_a_program_and_a_route_that_needs_nothing() {
        for client in CLIENTS {
            assert!(!client.launch.programs.is_empty(), "{client:?}");
            assert!(client.launch.route(|_| false).is_some(), "{client:?}");
        }
    }

    #[test]
    fn base_urls_have_the_version_where_the_client_expects_it() {
        let set = |name: &'static str, value: &str| (name, value.to_owned());
        assert_eq!(variables("claude-code"), [set("ANTHROPIC_BASE_URL", "http://h:1")]);
        assert_eq!(variables("opencode"), [set("ANTHROPIC_BASE_URL", "http://h:1/v1")]);
        assert_eq!(variables("goose"), [set("ANTHROPIC_HOST", "http://h:1"), set("OPENAI_HOST", "http://h:1")]);
        let both = ["GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT"].map(|name| set(name, "http://h:1"));
        assert_eq!(variables("gemini-cli"), both);
        assert!(variables("qwen").contains(&set("OPENAI_BASE_URL", "http://h:1/v1")));
        assert!(variables("aider").contains(&set("OPENAI_API_BASE", "http://h:1/v1")));
    }

    #[test]
    fn codex_goes_by_its_key_where_there_is_one_and_else_by_its_login() {
        let route = |key: bool| crate::codex::CLIENT.launch.route(|_| key).expect("a route").arguments.join(" ");
        assert!(route(true).contains("env_key=\"OPENAI_API_KEY\"") && route(true).contains("name=\"OpenAI\""));
        assert!(route(false).contains("requires_openai_auth=true") && !route(false).contains("name=\"OpenAI\""));
    }

    #[test]
    fn a_file_is_used_where_there_is_one() {
        for route in CLIENTS.into_iter().flat_map(|client| client.launch.routes) {
            let values = route.variables.iter().chain(route.defaults).map(|(_, value)| value);
            let uses = values.chain(route.arguments).any(|text| text.contains("{file}"));
            assert_eq!(uses, route.file.is_some());
        }
    }

    #[test]
    fn inline_settings_are_json() {
        let route = crate::opencode::CLIENT.launch.route(|_| false).expect("a route");
        let (name, settings) = route.defaults.first().expect("settings");
        let read = |settings: &str| -> serde_json::Value {
            serde_json::from_str(&fill(settings, "http://h:1", "")).expect("JSON")
        };
        let mut keyed = match route.key {
            KeyCarrier::Default(other, settings) if other == *name => read(settings),
            other => panic!("{other:?}"),
        };
        for provider in ["anthropic", "openai", "google"] {
            let options = keyed["provider"][provider]["options"].as_object_mut().expect("options");
            assert_eq!(options.remove("headers"), Some(serde_json::json!({"{header}": "{key}"})));
        }
        assert_eq!(keyed, read(settings), "nothing else differs");
        assert_eq!(keyed["provider"]["google"]["options"]["baseURL"], "http://h:1/v1beta");
    }

    #[test]
    fn a_key_stands_in_variables_only() {
        for route in CLIENTS.into_iter().flat_map(|client| client.launch.routes) {
            let texts: Vec<&str> = match route.key {
                KeyCarrier::List(..) | KeyCarrier::Default(..) => Vec::new(),
                KeyCarrier::Arguments(texts) => texts.to_vec(),
                KeyCarrier::File(text) | KeyCarrier::ByHand(text) => vec![text],
            };
            assert!(texts.iter().all(|text| !text.contains("{key}")), "{texts:?}");
            let has_file = matches!(route.key, KeyCarrier::File(_));
            assert!(!has_file || route.file.is_some(), "{texts:?}");
        }
    }
}
