//! Routes Codex through the daemon with a provider in `config.toml`.

use std::path::Path;

use serde_json::{Value, json};

use crate::setup::settings::{
    Entries, Entry, Folder, ServerCommand, ServerPlace, Setting, SettingsInstaller, SkillPlace, path,
};
use crate::setup::{Host, Syntax};

const CONFIG: &str = "config.toml";

pub static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "codex",
    title: "Codex",
    folder: Folder { variable: Some(("CODEX_HOME", "")), home: ".codex" },
    files: &[CONFIG],
    // A project may not set the provider.
    project: None,
    syntax: Syntax::Toml,
    entries,
    needs: None,
    server: Some(ServerPlace { file: None, entries: server }),
    skills: Some(SkillPlace { folder: Folder { variable: Some(("CODEX_HOME", "")), home: ".codex" }, project: None }),
    variables: &[],
    note: None,
};

const CHOICE: Entry =
    Entry { path: &["model_provider"], value: Setting::Choice { value: "ctx", instead_of: "openai" } };
const WIRE: Entry = Entry { path: &["model_providers", "ctx", "wire_api"], value: Setting::Text("responses") };

/// A provider named "OpenAI" makes Codex send the turn of each item.
static WITH_KEY: [Entry; 5] = [
    CHOICE,
    Entry { path: &["model_providers", "ctx", "name"], value: Setting::Text("OpenAI") },
    Entry { path: &["model_providers", "ctx", "base_url"], value: Setting::Text("{url}/v1") },
    WIRE,
    Entry { path: &["model_providers", "ctx", "env_key"], value: Setting::Text("OPENAI_API_KEY") },
];

/// With a ChatGPT login, Codex ignores the base URL of a provider named "OpenAI".
static WITH_LOGIN: [Entry; 5] = [
    CHOICE,
    Entry { path: &["model_providers", "ctx", "name"], value: Setting::Text("ctx") },
    Entry { path: &["model_providers", "ctx", "base_url"], value: Setting::Text("{url}/backend-api/codex") },
    WIRE,
    Entry { path: &["model_providers", "ctx", "requires_openai_auth"], value: Setting::Switch(true) },
];

/// An API key stored by `codex login`.
static WITH_STORED_KEY: [Entry; 5] = [
    CHOICE,
    Entry { path: &["model_providers", "ctx", "name"], value: Setting::Text("ctx") },
    Entry { path: &["model_providers", "ctx", "base_url"], value: Setting::Text("{url}/v1") },
    WIRE,
    Entry { path: &["model_providers", "ctx", "requires_openai_auth"], value: Setting::Switch(true) },
];

/// A login takes precedence over a key in the environment, as in Codex.
fn entries(host: &dyn Host, folder: &Path) -> &'static [Entry] {
    let stored = std::fs::read(folder.join("auth.json")).ok();
    let stored: Value = stored.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let has_key = stored.get("OPENAI_API_KEY").is_some_and(Value::is_string);
    match (stored.get("tokens").is_some_and(Value::is_object), host.variable("OPENAI_API_KEY")) {
        (false, Some(_)) => &WITH_KEY,
        (false, None) if has_key => &WITH_STORED_KEY,
        _ => &WITH_LOGIN,
    }
}

fn server(command: &ServerCommand) -> Entries {
    let at = |key| path(&["mcp_servers", "ctx", key]);
    let mut entries = vec![(at("command"), json!(command.program)), (at("args"), json!(command.arguments))];
    if !command.variables.is_empty() {
        entries.push((at("env"), Value::Object(command.variables.clone())));
    }
    entries
}
