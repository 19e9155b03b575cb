//! `[team.oidc]`: the identity provider at which the people of a team sign in. Its secret is read from a file or a
//! variable at the start, and lives in memory only.

use std::collections::BTreeSet;
use std::time::Duration;

use ctx_core::ErrorCode;
use ctx_server::{OidcSettings, Secret};
use ctx_team::oidc::OidcRules;

use crate::ConfigError;
use crate::env::Environment;
use crate::file::ConfigFile;
use crate::sections::OidcKeys;

pub(crate) fn settings(file: &ConfigFile, environment: &Environment) -> Result<Option<OidcSettings>, ConfigError> {
    let keys = &file.layer.config.team.oidc;
    let (issuer, client_id) = match (&keys.issuer, &keys.client_id) {
        (None, None) => return Ok(None),
        (Some(issuer), Some(client_id)) => (issuer.clone(), client_id.clone()),
        _ => return Err(refuse("`[team.oidc]` needs both `issuer` and `client_id`")),
    };
    if file.layer.config.listen.public_url.is_none() {
        return Err(refuse("`[team.oidc]` needs `public_url` under [listen]: the provider sends browsers back to it"));
    }
    let lists = [&keys.allowed_groups, &keys.admin_groups, &keys.auditor_groups];
    if keys.groups_claim.is_none() && lists.into_iter().flatten().any(|list| !list.is_empty()) {
        return Err(refuse("`[team.oidc]` names groups, and no `groups_claim` that tells them"));
    }
    let set = |list: &Option<Vec<String>>| list.iter().flatten().cloned().collect::<BTreeSet<String>>();
    let usual = OidcRules::new(issuer, client_id);
    let rules = OidcRules {
        name_claim: keys.name_claim.clone().unwrap_or_else(|| usual.name_claim.clone()),
        trusts_addresses: keys.trust_unverified_email.unwrap_or(false),
        groups_claim: keys.groups_claim.clone(),
        allowed_groups: set(&keys.allowed_groups),
        admin_groups: set(&keys.admin_groups),
        auditor_groups: set(&keys.auditor_groups),
        adds_people: keys.unknown_people.as_deref() == Some("add"),
        jwt_audience: keys.jwt_audience.clone(),
        ..usual
    };
    let usual = OidcSettings::new(rules);
    let mut scopes = keys.scopes.clone().unwrap_or_else(|| usual.scopes.clone());
    // Without it, a provider sends no token about the person.
    if !scopes.iter().any(|scope| scope == "openid") {
        scopes.insert(0, "openid".to_owned());
    }
    Ok(Some(OidcSettings {
        label: keys.label.clone().unwrap_or_else(|| usual.label.clone()),
        secret: secret(keys, file, environment)?,
        scopes,
        session: keys.session_hours.map_or(usual.session, |hours| Duration::from_secs(hours * 60 * 60)),
        ..usual
    }))
}

/// None for a client without one: the provider then relies on PKCE alone.
fn secret(keys: &OidcKeys, file: &ConfigFile, environment: &Environment) -> Result<Option<Secret>, ConfigError> {
    let read = match (&keys.client_secret_file, &keys.client_secret_env) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(refuse("`[team.oidc]` names the secret twice, as a file and as a variable")),
        (Some(path), None) => {
            let path = file.resolve(path);
            std::fs::read_to_string(&path).map_err(|error| ConfigError::file("read", &path, &error))?
        }
        (None, Some(name)) => {
            environment.named(name).ok_or_else(|| refuse(&format!("the variable {name} is not set")))?
        }
    };
    match read.trim() {
        "" => Err(refuse("the secret of `[team.oidc]` is empty")),
        secret => Ok(Some(Secret::new(secret))),
    }
}

fn refuse(why: &str) -> ConfigError {
    let hint = "for example: issuer = \"https://login.example.com\" and client_id = \"context-composer\" under \
                [team.oidc], and public_url = \"https://ctx.example.com\" under [listen]";
    ConfigError::new(ErrorCode::Config, why).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const WHOLE: &str = "[listen]\npublic_url = \"https://ctx.example.com\"\n[team.oidc]\n\
        issuer = \"https://login.example.com\"\nclient_id = \"ctx\"\n";

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<Option<OidcSettings>, String> {
        let file = ConfigFile::parse(Path::new("/none/ctx.toml"), text).expect("a file");
        settings(&file, &Environment::of(variables)).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_provider_needs_an_address_an_id_and_the_way_back() {
        assert!(read("", &[]).is_ok_and(|found| found.is_none()));
        let found = read(WHOLE, &[]).expect("settings").expect("a provider");
        assert_eq!(
            (found.label.as_str(), found.scopes.join(" ").as_str()),
            ("login.example.com", "openid profile email")
        );
        assert!(!found.rules.adds_people && found.rules.jwt_audience.is_none() && found.secret.is_none());
        for text in [
            "[team.oidc]\nissuer = \"https://login.example.com\"\nclient_id = \"ctx\"",
            "[listen]\npublic_url = \"https://ctx.example.com\"\n[team.oidc]\nclient_id = \"ctx\"",
            &format!("{WHOLE}admin_groups = [\"a\"]"),
        ] {
            assert!(read(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_secret_comes_from_one_place_and_is_never_printed() {
        let by_variable = format!("{WHOLE}client_secret_env = \"OIDC\"\nscopes = [\"groups\"]");
        let found = read(&by_variable, &[("OIDC", "hush\n")]).expect("settings").expect("a provider");
        assert_eq!(found.secret.as_ref().map(Secret::expose_secret), Some("hush"));
        assert_eq!(found.scopes, ["openid", "groups"]);
        assert!(!format!("{found:?}").contains("hush"));
        assert!(read(&by_variable, &[]).expect_err("refused").contains("OIDC"));
        let twice = format!("{by_variable}\nclient_secret_file = \"secret\"");
        assert!(read(&twice, &[("OIDC", "hush")]).is_err());
    }
}
