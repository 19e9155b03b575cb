//! Stock Claude Code in a clean environment.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::stage::{Stage, finish, needed};

/// Marked, so that tests can search for it in places where it must not occur.
pub const KEY: &str = "sk-ant-api03-this-credential-is-marked-QJZX7319";

pub struct Claude {
    program: PathBuf,
    hints: bool,
    further: Vec<(&'static str, String)>,
}

impl Claude {
    /// `None` when the client is not installed.
    pub fn find() -> Option<Claude> {
        needed("CTX_TEST_CLAUDE").map(|program| Claude { program, hints: false, further: Vec::new() })
    }

    /// Makes the client send the class of its requests.
    pub fn hinting(self) -> Claude {
        Claude { hints: true, ..self }
    }

    /// Adds these variables.
    pub fn knowing(self, further: &[(&'static str, &str)]) -> Claude {
        let further = further.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Claude { further, ..self }
    }

    pub fn environment(&self, stage: &Stage) -> Vec<(&'static str, String)> {
        let folder = |name: &str| stage.path(name).display().to_string();
        let mut environment = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", folder("home")),
            ("TMPDIR", folder("tmp")),
            ("CLAUDE_CONFIG_DIR", folder("config")),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("ANTHROPIC_BASE_URL", stage.front.url()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
        ];
        if self.hints {
            environment.push(("CLAUDE_CODE_GATEWAY_HINT_HEADERS", "1".to_owned()));
        }
        environment.extend(self.further.iter().cloned());
        environment
    }

    pub fn program(&self) -> &std::path::Path {
        &self.program
    }

    /// Runs it headless once; returns its JSON result.
    pub fn ask(&self, stage: &Stage, prompt: &str, arguments: &[&str]) -> Value {
        let mut command = Command::new(&self.program);
        command.args(["-p", prompt, "--output-format", "json", "--permission-mode", "acceptEdits"]).args(arguments);
        command.env_clear().envs(self.environment(stage)).current_dir(stage.path("work"));
        let output = finish(command);
        let said = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&said)
            .unwrap_or_else(|_| panic!("claude said: {said}\n{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Runs it headless, expects success, and returns its session id.
    pub fn ask_well(&self, stage: &Stage, prompt: &str, arguments: &[&str]) -> String {
        let result = self.ask(stage, prompt, arguments);
        assert_eq!(result["is_error"], false, "{result:#}");
        result["session_id"].as_str().expect("a session id").to_owned()
    }
}
