//! The input that Claude Code gives to its status line and hooks.

use serde::Deserialize;
use serde_json::Value;

/// The relevant part of the status line's input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusLineInput {
    pub session_id: Option<String>,
    context_window: Window,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    current_usage: Option<Usage>,
}

/// The usage of the newest request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

impl StatusLineInput {
    /// The share of the newest prompt that was read from the cache.
    pub fn cached_percent(&self) -> Option<u64> {
        let usage = self.context_window.current_usage.as_ref()?;
        let all = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
        usage.cache_read_input_tokens.saturating_mul(100).checked_div(all)
    }
}

/// The session that a hook runs in.
pub fn session_of_hook(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    Some(input["session_id"].as_str()?.to_owned())
}
