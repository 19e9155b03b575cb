//! `[helper]`: who finds words for operations that lack them. What it says decides where parts of conversations go and
//! who pays for it, so a project's file has no say in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_server::helper::{Provider, Settings, Variables};
use ctx_server::{Secret, UpstreamUrl};

use super::file::{ConfigFile, Reader, Value};
use crate::env::{self, Environment};
use crate::error::ConfigError;
use crate::home::Home;

/// The variable that holds the key, if the file names no other.
const KEY: &str = "CTX_HELPER_KEY";

/// What a file says; what it does not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct HelperFile {
    provider: Option<Provider>,
    url: Option<UpstreamUrl>,
    model: Option<String>,
    key_env: Option<String>,
    budget_per_day: Option<u64>,
    /// Seconds.
    timeout: Option<u64>,
    max_chars: Option<u64>,
    titles: Option<bool>,
}

impl ConfigFile {
    pub(super) fn read_helper(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        let helper = &mut self.helper;
        for (key, value) in reader.section("helper", section)? {
            let refuse = |why: String| reader.refuse(value.span(), why);
            match key.get_ref().as_ref() {
                "provider" => {
                    let provider = Provider::named(reader.text("helper.provider", value)?);
                    let names = Provider::NAMES.join(", ");
                    helper.provider =
                        Some(provider.ok_or_else(|| refuse(format!("`helper.provider` must be one of {names}")))?);
                }
                "url" => {
                    let url = reader.text("helper.url", value)?.parse::<UpstreamUrl>();
                    helper.url = Some(url.map_err(|why| refuse(why.to_string().replace("upstream", "helper's")))?);
                }
                "model" => helper.model = Some(reader.text("helper.model", value)?.to_owned()),
                "key_env" => {
                    let name = reader.text("helper.key_env", value)?;
                    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                        && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
                    if !is_name || name.len() > 64 {
                        let why =
                            "`helper.key_env` must be the name of a variable; the key itself does not belong here";
                        return Err(refuse(why.to_owned()));
                    }
                    helper.key_env = Some(name.to_owned());
                }
                "budget_per_day" => helper.budget_per_day = Some(reader.number("helper.budget_per_day", value)?),
                "timeout" => helper.timeout = Some(reader.number("helper.timeout", value)?),
                "max_chars" => helper.max_chars = Some(reader.number("helper.max_chars", value)?),
                "titles" => helper.titles = Some(reader.switch("helper.titles", value)?),
                other => self.unknown.push(reader.mention(key.span(), &format!("helper.{other}"))),
            }
        }
        Ok(())
    }
}

/// Of several files the stricter one counts.
pub(super) fn settings(files: &[ConfigFile], environment: &Environment) -> Settings {
    let all = || files.iter().map(|file| &file.helper);
    let usual = Settings::default();
    let is_off = all().any(|file| file.provider == Some(Provider::None));
    let provider = if is_off { None } else { all().find_map(|file| file.provider) }.unwrap_or_default();
    let smallest = |find: fn(&HelperFile) -> Option<u64>, usual: u64| all().filter_map(find).min().unwrap_or(usual);
    let named = all().find_map(|file| file.key_env.clone());
    let key = environment.named(named.as_deref().unwrap_or(KEY)).filter(|_| provider != Provider::None);
    Settings {
        provider,
        url: all().find_map(|file| file.url.clone()),
        model: all().find_map(|file| file.model.clone()),
        key_env: named.or_else(|| (provider == Provider::Anthropic).then(|| KEY.to_owned())),
        key: key.map(Secret::new),
        budget_per_day: smallest(|file| file.budget_per_day, usual.budget_per_day),
        timeout: Duration::from_secs(smallest(|file| file.timeout, usual.timeout.as_secs()).max(1)),
        max_chars: smallest(|file| file.max_chars, usual.max_chars as u64).max(1_000) as usize,
        titles: all().any(|file| file.titles == Some(true)) && !all().any(|file| file.titles == Some(false)),
        environment: match provider {
            Provider::Claude => Variables::without_hints(environment.all()),
            _ => Variables::default(),
        },
    }
}

/// The variable with the helper's key, which a daemon that is started in the background is left with.
pub fn key_variable(home: &Home, arguments: &[OsString]) -> Option<String> {
    let named = arguments.iter().skip_while(|argument| *argument != "--config").nth(1).map(PathBuf::from);
    let named = named.or_else(|| Environment::Process.get(env::CONFIG).map(PathBuf::from));
    let read = |path: &Path| ConfigFile::read(path).ok().flatten();
    read(&named.unwrap_or_else(|| home.config_file()))?.helper.key_env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ConfigFile, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ctx.toml");
        std::fs::write(&path, text).expect("written");
        ConfigFile::read(&path).map(|file| file.expect("a file"))
    }

    const ALL: &str = "[helper]\nprovider = \"openai\"\nurl = \"http://localhost:11434/v1\"\nmodel = \"qwen\"\n\
        key_env = \"MY_KEY\"\nbudget_per_day = 50_000\ntimeout = 20\nmax_chars = 40000\ntitles = true\n";

    #[test]
    fn every_key_is_read_and_the_key_itself_comes_from_the_environment() {
        let environment = Environment::of(&[("MY_KEY", "hush"), ("ANTHROPIC_API_KEY", "the client's")]);
        let settings = settings(&[read(ALL).expect("read")], &environment);
        assert_eq!((settings.provider, settings.model()), (Provider::OpenAi, "qwen"));
        assert_eq!(settings.url.as_ref().map(ToString::to_string).as_deref(), Some("http://localhost:11434/v1"));
        assert_eq!(settings.key.as_ref().map(Secret::expose_secret), Some("hush"));
        assert_eq!((settings.budget_per_day, settings.timeout.as_secs(), settings.max_chars), (50_000, 20, 40_000));
        assert!(settings.titles && !format!("{settings:?}").contains("hush"));
    }

    #[test]
    fn without_a_word_it_is_off_and_no_variable_of_the_clients_is_looked_at() {
        let environment = Environment::of(&[("ANTHROPIC_API_KEY", "the client's"), ("CTX_HELPER_KEY", "own")]);
        let off = settings(&[], &environment);
        assert_eq!((off.provider, off.key.is_none(), off.titles), (Provider::None, true, false));
        let on = settings(&[read("[helper]\nprovider = \"anthropic\"").expect("read")], &environment);
        assert_eq!(on.key.as_ref().map(Secret::expose_secret), Some("own"));
        assert_eq!(on.key_env.as_deref(), Some("CTX_HELPER_KEY"));
    }

    #[test]
    fn the_stricter_file_counts() {
        let strict = read("[helper]\nbudget_per_day = 10\ntitles = false\ntimeout = 99").expect("read");
        let both = settings(&[strict, read(ALL).expect("read")], &Environment::of(&[]));
        assert_eq!(
            (both.provider, both.budget_per_day, both.timeout.as_secs(), both.titles),
            (Provider::OpenAi, 10, 20, false)
        );
        let off = read("[helper]\nprovider = \"none\"").expect("read");
        assert_eq!(settings(&[off, read(ALL).expect("read")], &Environment::of(&[])).provider, Provider::None);
    }

    #[test]
    fn what_cannot_be_used_is_refused_and_a_key_is_not_repeated() {
        for (text, told) in [
            ("[helper]\nprovider = \"gpt\"", "one of none, anthropic, openai, claude"),
            ("[helper]\nurl = \"localhost\"", "must begin with http"),
            ("[helper]\nkey_env = \"sk-hush\"", "the name of a variable"),
            ("[helper]\nbudget_per_day = \"many\"", "must be a whole number"),
            ("[helper]\nbudget_per_day = -3", "must be a whole number"),
        ] {
            let refused = read(text).expect_err(text).to_string();
            assert!(refused.contains(told) && !refused.contains("hush"), "{text}: {refused}");
        }
    }
}
