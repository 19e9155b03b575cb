//! One question to the user's own `claude -p`: no tools, no settings (they may lead to the proxy), no session.

use serde_json::Value;

pub use super::variables::{BASE_URL, leads_back};

pub const PROGRAM: &str = "claude";
/// The default model.
pub const MODEL: &str = "haiku";

/// The arguments of the program, which reads the question from stdin.
pub fn arguments<'a>(model: &'a str, system: &'a str) -> Vec<&'a str> {
    let asked = ["-p", "--output-format", "json", "--model", model, "--tools", ""];
    let alone = ["--strict-mcp-config", "--setting-sources", "project", "--no-session-persistence"];
    asked.into_iter().chain(alone).chain(["--system-prompt", system]).collect()
}

/// The output of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Its answer, or the reason for having none.
    pub result: Option<String>,
    pub is_error: bool,
    /// Tokens of input and output.
    pub tokens: Option<(u64, u64)>,
}

impl ProgramOutput {
    /// Parses the output; `None` if it is not JSON.
    pub fn read(output: &[u8]) -> Option<ProgramOutput> {
        let answer: Value = serde_json::from_slice(output).ok()?;
        let usage = &answer["usage"];
        let inputs = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let tokens = usage.is_object().then(|| (inputs.into_iter().map(count).sum(), count("output_tokens")));
        Some(ProgramOutput {
            result: answer["result"].as_str().map(str::to_owned),
            is_error: answer["is_error"] == true,
            tokens,
        })
    }
}
