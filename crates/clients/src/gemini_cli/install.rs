//! Routes Gemini CLI through the daemon with two variables in its `.env` file: for API keys, and for a Google login.

use serde_json::{Value, json};

use crate::setup::Syntax;
use crate::setup::settings::{
    Entries, Entry, Folder, ServerCommand, ServerPlace, Setting, SettingsInstaller, SkillPlace, path,
};

const WITH_KEY: &str = "GOOGLE_GEMINI_BASE_URL";
const WITH_LOGIN: &str = "CODE_ASSIST_ENDPOINT";

pub static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "gemini-cli",
    title: "Gemini CLI",
    folder: Folder { variable: Some(("GEMINI_CLI_HOME", ".gemini")), home: ".gemini" },
    files: &[".env"],
    project: Some(".gemini"),
    syntax: Syntax::Env,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: Some(ServerPlace { file: Some(("settings.json", Syntax::Json)), entries: server }),
    skills: Some(SkillPlace {
        folder: Folder { variable: Some(("GEMINI_CLI_HOME", ".gemini")), home: ".gemini" },
        project: Some(".gemini"),
    }),
    variables: &[WITH_KEY, WITH_LOGIN],
    note: Some(
        "requests to Vertex AI do not use ctx; Gemini CLI reads a single `.env` file, so a project's file hides this \
         one",
    ),
};

static ENTRIES: [Entry; 2] = [
    Entry { path: &[WITH_KEY], value: Setting::Url { value: "{url}", upstream: "gemini" } },
    Entry { path: &[WITH_LOGIN], value: Setting::Url { value: "{url}", upstream: "code-assist" } },
];

/// The MCP server's entry in the settings of Gemini CLI and its descendants.
pub fn server(command: &ServerCommand) -> Entries {
    let mut server = json!({ "command": command.program, "args": command.arguments });
    if !command.variables.is_empty() {
        server["env"] = Value::Object(command.variables.clone());
    }
    vec![(path(&["mcpServers", "ctx"]), server)]
}
