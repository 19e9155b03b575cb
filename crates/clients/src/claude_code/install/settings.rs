//! Claude Code's `settings.json`: the required entries, and conflicts with existing ones.

use crate::claude_code::variables::{self, BASE_URL};
use crate::setup::jsonc::Document;
use crate::setup::shell::quoted;
use crate::setup::{Daemon, Host, Journal, SetupError, file};
use ctx_core::ErrorCode;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Both spellings, because programs disagree on the case.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
const PROXIES: [[&str; 2]; 3] =
    [["HTTP_PROXY", "http_proxy"], ["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

fn text(host: &dyn Host, name: &str) -> Option<String> {
    host.variable(name).map(|value| value.to_string_lossy().into_owned())
}

fn in_env(name: &str) -> Vec<String> {
    vec!["env".to_owned(), name.to_owned()]
}

/// The client's settings without earlier entries of `ctx`.
pub(super) struct SettingsFile {
    path: PathBuf,
    text: String,
    pub(super) has_our_status_line: bool,
    pub(super) note: Option<String>,
}

impl SettingsFile {
    pub(super) fn read(path: &Path, journal: &Journal) -> Result<Self, SetupError> {
        let text = file::read(path)?;
        let kept = journal.files.get(path);
        let text = match kept {
            Some(kept) => kept.base(path, text.as_deref())?.text,
            None => text,
        };
        let text =
            text.filter(|text| !text.trim_start_matches('\u{feff}').trim().is_empty()).unwrap_or("{}".to_owned());
        let document = Document::read(&text).map_err(|broken| SetupError::unreadable(path, &broken))?;
        let note = document.relaxed.map(|position| {
            format!(
                "{} has comments or trailing commas ({position}). ctx keeps them, but Claude Code ignores the file \
                 until you remove them",
                path.display()
            )
        });
        let is_status_line = |path: &[String]| path == ["statusLine"];
        let has_our_status_line = kept.is_some_and(|kept| kept.entries.iter().any(|entry| is_status_line(&entry.path)));
        Ok(Self { path: path.to_owned(), has_our_status_line, note, text })
    }

    fn variable(&self, name: &str) -> Option<Value> {
        Document::read(&self.text).ok()?.get(&in_env(name))
    }

    /// Refuses to replace the user's own base URL unless the daemon forwards to it. The client's settings override its
    /// environment, so a base URL in the environment would be lost as well.
    pub(super) fn check_base_url(
        &self,
        daemon: &Daemon,
        host: &dyn Host,
        force: bool,
        notes: &mut Vec<String>,
    ) -> Result<(), SetupError> {
        let name = BASE_URL;
        let set = self
            .variable(name)
            .map(|set| (set.as_str().unwrap_or_default().to_owned(), self.path.display().to_string()));
        let exported = || text(host, name).map(|set| (set, "the environment".to_owned()));
        let Some((given, place)) = set.or_else(exported) else { return Ok(()) };
        let given = host.base_url(&given);
        if given.as_ref().is_some_and(|given| *given == daemon.upstream || *given == daemon.url()) {
            return Ok(());
        }
        // It may contain a password; only a valid address is repeated.
        let named = given.unwrap_or_else(|| "another address".to_owned());
        let what = format!("{name} in {place} is {named}, but the daemon forwards to {}", daemon.upstream);
        if force {
            notes.push(format!("{what}; requests will go there. `ctx uninstall claude-code` undoes this"));
            return Ok(());
        }
        Err(SetupError::new(
            ErrorCode::OtherBaseUrl,
            format!("{what}; nothing was changed"),
            "make the daemon forward there (`ctx stop`, then `ctx up --upstream URL`, or `[upstream] url` in \
             ctx.toml) and run this again; `ctx install claude-code --force` installs anyway",
        ))
    }

    pub(super) fn wanted(
        &self,
        daemon: &Daemon,
        host: &dyn Host,
        program: &str,
        with_status_line: bool,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Vec<String>, Value)>, SetupError> {
        let mut wanted = vec![(in_env(BASE_URL), json!(daemon.url()))];
        let hints = variables::HINT_HEADERS;
        match self.variable(hints) {
            // The user's own choice stays.
            Some(own) if own != json!("1") => {
                notes.push(format!("{hints} is {own} and is kept; ctx classifies requests better with \"1\""))
            }
            _ => wanted.push((in_env(hints), json!("1"))),
        }
        if let Some(home) = host.own_home()? {
            // Commands run by the agent must find the same daemon.
            wanted.push((in_env("CTX_HOME"), json!(home.to_string_lossy())));
        }
        if let Some(spared) = self.spared_by_proxies(daemon, host) {
            wanted.push((in_env(NO_PROXY[0]), json!(spared)));
        }
        if with_status_line {
            let line = json!({ "type": "command", "command": format!("{} status-line", quoted(program)) });
            wanted.push((vec!["statusLine".to_owned()], line));
        }
        Ok(wanted)
    }

    /// The `NO_PROXY` value that keeps the client from using a proxy even for a loopback address.
    fn spared_by_proxies(&self, daemon: &Daemon, host: &dyn Host) -> Option<String> {
        let value = |names: [&str; 2]| {
            let own = names.iter().find_map(|name| self.variable(name));
            let own = own.and_then(|own| own.as_str().map(str::to_owned));
            own.or_else(|| names.iter().find_map(|name| text(host, name)))
        };
        let is_proxied = PROXIES.into_iter().any(|names| value(names).is_some());
        let own = daemon.address.ip().to_string();
        let spared = value(NO_PROXY).unwrap_or_default();
        let mut all: Vec<&str> = spared.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if !is_proxied || all.contains(&own.as_str()) || all.contains(&"*") {
            return None;
        }
        all.push(&own);
        all.push("localhost");
        Some(all.join(","))
    }
}
