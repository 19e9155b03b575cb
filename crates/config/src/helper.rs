//! `[helper]`: the model that writes summaries and titles. Its key comes from the environment, never from a file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ctx_server::Secret;
use ctx_server::helper::{Provider, Settings, Variables};

use crate::env::{self, Environment};
use crate::file::ConfigFile;
use crate::home::Home;
use crate::sections::Helper;

/// The default variable of the key.
const KEY: &str = "CTX_HELPER_KEY";

/// The settings of a section, with the key from the environment.
pub(crate) fn settings(helper: &Helper, environment: &Environment) -> Settings {
    let usual = Settings::default();
    let provider = helper.provider.unwrap_or_default();
    let key = environment.named(helper.key_env.as_deref().unwrap_or(KEY)).filter(|_| provider != Provider::None);
    Settings {
        provider,
        url: helper.url.clone(),
        model: helper.model.clone(),
        key_env: helper.key_env.clone().or_else(|| provider.needs_key().then(|| KEY.to_owned())),
        key: key.map(Secret::new),
        budget_per_day: helper.budget_per_day.unwrap_or(usual.budget_per_day),
        timeout: helper.timeout.map_or(usual.timeout, |seconds| Duration::from_secs(seconds.max(1))),
        max_chars: helper.max_chars.map_or(usual.max_chars, |most| most.max(1_000) as usize),
        titles: helper.titles.unwrap_or(usual.titles),
        phases: helper.phases.unwrap_or(usual.phases),
        environment: match provider.is_program() {
            true => Variables::without_hints(environment.all()),
            false => Variables::default(),
        },
    }
}

/// The variable of the helper's key, which a background daemon must keep.
pub fn key_variable(home: &Home, arguments: &[OsString]) -> Option<String> {
    let named = arguments.iter().skip_while(|argument| *argument != "--config").nth(1).map(PathBuf::from);
    let named = named.or_else(|| Environment::Process.get(env::CONFIG).map(PathBuf::from));
    let file = ConfigFile::read(&named.unwrap_or_else(|| home.config_file())).ok()??;
    file.layer.config.helper.key_env
}
#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ConfigError;

    fn read(text: &str) -> Result<Helper, ConfigError> {
        ConfigFile::parse(Path::new("ctx.toml"), text).map(|file| file.layer.config.helper)
    }

    const ALL: &str = "[helper]\nprovider = \"openai\"\nurl = \"http://localhost:11434/v1\"\nmodel = \"qwen\"\n\
        key_env = \"MY_KEY\"\nbudget_per_day = 50_000\ntimeout = 20\nmax_chars = 40000\ntitles = true\nphases = true\n";

    #[test]
    fn every_key_is_read_and_the_key_itself_comes_from_the_environment() {
        let environment = Environment::of(&[("MY_KEY", "hush"), ("ANTHROPIC_API_KEY", "the client's")]);
        let settings = settings(&read(ALL).expect("read"), &environment);
        assert_eq!((settings.provider, settings.model()), (Provider::OpenAi, "qwen"));
        assert_eq!(settings.url.as_ref().map(ToString::to_string).as_deref(), Some("http://localhost:11434/v1"));
        assert_eq!(settings.key.as_ref().map(Secret::expose_secret), Some("hush"));
        assert_eq!((settings.budget_per_day, settings.timeout.as_secs(), settings.max_chars), (50_000, 20, 40_000));
        assert!(settings.titles && settings.phases && !format!("{settings:?}").contains("hush"));
    }

    #[test]
    fn without_a_word_it_is_off_and_no_variable_of_the_clients_is_looked_at() {
        let environment = Environment::of(&[("ANTHROPIC_API_KEY", "the client's"), ("CTX_HELPER_KEY", "own")]);
        let off = settings(&Helper::default(), &environment);
        assert_eq!((off.provider, off.key.is_none(), off.titles, off.phases), (Provider::None, true, false, false));
        let on = settings(&read("[helper]\nprovider = \"anthropic\"").expect("read"), &environment);
        assert_eq!(on.key.as_ref().map(Secret::expose_secret), Some("own"));
        assert_eq!(on.key_env.as_deref(), Some("CTX_HELPER_KEY"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_and_a_key_is_not_repeated() {
        for (text, told) in [
            ("[helper]\nprovider = \"gpt\"", "allowed: none, anthropic, openai, claude"),
            ("[helper]\nurl = \"localhost\"", "must start with http"),
            ("[helper]\nkey_env = \"sk-hush\"", "the name of a variable"),
            ("[helper]\nbudget_per_day = \"many\"", "must be a whole number"),
            ("[helper]\nbudget_per_day = -3", "must be a whole number"),
        ] {
            let refused = read(text).expect_err(text).to_string();
            assert!(refused.contains(told) && !refused.contains("hush"), "{text}: {refused}");
        }
    }
}
