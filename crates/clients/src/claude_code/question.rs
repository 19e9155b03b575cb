//! One question to the user's own `claude -p`: no tools, no settings (they may lead it to the proxy), no session.

use serde_json::Value;

pub const PROGRAM: &str = "claude";
/// The model that is asked where none is named.
pub const MODEL: &str = "haiku";

/// The arguments of the program; the question itself goes to its input.
pub fn arguments<'a>(model: &'a str, system: &'a str) -> Vec<&'a str> {
    let asked = ["-p", "--output-format", "json", "--model", model, "--tools", ""];
    let alone = ["--strict-mcp-config", "--setting-sources", "project", "--no-session-persistence"];
    asked.into_iter().chain(alone).chain(["--system-prompt", system]).collect()
}

/// What the program printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Its answer, or why there is none.
    pub result: Option<String>,
    pub is_error: bool,
    /// All tokens, in and out.
    pub tokens: Option<u64>,
}

impl Printed {
    /// `None` where it is not JSON.
    pub fn read(output: &[u8]) -> Option<Printed> {
        let answer: Value = serde_json::from_slice(output).ok()?;
        let usage = &answer["usage"];
        let counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
        let tokens = usage.is_object().then(|| counts.iter().filter_map(|name| usage[*name].as_u64()).sum());
        Some(Printed {
            result: answer["result"].as_str().map(str::to_owned),
            is_error: answer["is_error"] == true,
            tokens,
        })
    }
}
