//! `[team]`: the credentials with which the requests of a team leave. Keys are read from files or variables at the start,
//! and live in memory only.

use std::path::Path;

use ctx_core::ErrorCode;
use ctx_server::{GatewayKey, Secret, UpstreamCredentials};

use crate::env::Environment;
use crate::file::ConfigFile;
use crate::{ConfigError, sections::TeamKeys};

pub(crate) fn credentials(file: &ConfigFile, environment: &Environment) -> Result<UpstreamCredentials, ConfigError> {
    let TeamKeys { credentials, keys, subscriptions, .. } = &file.layer.config.team;
    let is_gateway = credentials.as_deref() == Some("gateway");
    let keys: Vec<&String> = keys.iter().flatten().collect();
    match (is_gateway, keys.is_empty()) {
        (false, true) => return Ok(own(subscriptions.as_deref())),
        (true, true) => return Err(refuse("`team.credentials` is \"gateway\", and `team.keys` names no key")),
        (false, false) => return Err(refuse("`team.keys` names keys, and `team.credentials` is not \"gateway\"")),
        (true, false) => {}
    }
    let keys = keys.into_iter().map(|text| key(text, file, environment)).collect::<Result<_, _>>()?;
    Ok(UpstreamCredentials { gateway: Some(keys), ..own(subscriptions.as_deref()) })
}

fn own(subscriptions: Option<&str>) -> UpstreamCredentials {
    UpstreamCredentials { gateway: None, passes_subscriptions: subscriptions == Some("pass") }
}

/// Parses `UPSTREAM=FILE`, `UPSTREAM@GROUP=FILE`, or either with `env:NAME`, and reads the key.
fn key(text: &str, file: &ConfigFile, environment: &Environment) -> Result<GatewayKey, ConfigError> {
    let (whose, place) =
        text.split_once('=').ok_or_else(|| refuse("a key in `team.keys` has the form UPSTREAM=FILE"))?;
    let (upstream, group) = match whose.split_once('@') {
        Some((upstream, group)) => (upstream, Some(group.to_owned())),
        None => (whose, None),
    };
    let read = match place.strip_prefix("env:") {
        Some(name) => environment.named(name).ok_or_else(|| refuse(&format!("the variable {name} is not set")))?,
        None => {
            let path = file.resolve(Path::new(place));
            std::fs::read_to_string(&path).map_err(|error| ConfigError::file("read", &path, &error))?
        }
    };
    let key = read.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(refuse(&format!("the key for {whose} is empty, or more than one word")));
    }
    Ok(GatewayKey { upstream: upstream.to_owned(), group, key: Secret::new(key) })
}

fn refuse(why: &str) -> ConfigError {
    let hint = "for example: credentials = \"gateway\" and keys = [\"anthropic=/etc/ctx/anthropic.key\"] under [team]";
    ConfigError::new(ErrorCode::Config, why).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<UpstreamCredentials, String> {
        let file = ConfigFile::parse(Path::new("/none/ctx.toml"), text).expect("a file");
        credentials(&file, &Environment::of(variables)).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn keys_come_from_files_and_variables_by_upstream_and_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-file\n").expect("written");
        let text = format!(
            "[team]\ncredentials = \"gateway\"\nkeys = [\"anthropic={}\", \"openai@core=env:CORE\"]\n",
            path.display()
        );
        let found = read(&text, &[("CORE", "sk-core")]).expect("credentials").gateway.expect("keys");
        let shown: Vec<_> =
            found.iter().map(|key| (key.upstream.as_str(), key.group.as_deref(), key.key.expose_secret())).collect();
        assert_eq!(shown, [("anthropic", None, "sk-file"), ("openai", Some("core"), "sk-core")]);
        assert!(!format!("{found:?}").contains("sk-"), "a key is never printed");
        assert!(read(&text, &[]).expect_err("refused").contains("CORE"));
    }

    #[test]
    fn the_two_modes_are_never_mixed() {
        assert!(read("", &[]).is_ok_and(|own| own.gateway.is_none() && !own.passes_subscriptions));
        assert!(read("[team]\nsubscriptions = \"pass\"", &[]).is_ok_and(|own| own.passes_subscriptions));
        assert!(read("[team]\ncredentials = \"gateway\"", &[]).is_err());
        assert!(read("[team]\nkeys = [\"anthropic=env:K\"]", &[("K", "k")]).is_err());
    }
}
