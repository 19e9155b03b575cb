//! Names of providers, their models and agents: above the seam they are words for people, or values of settings.

use crate::sources::{above_the_seam, check};

const NAMES: &[&str] = &[
    "aider",
    "anthropic",
    "chatgpt",
    "claude",
    "cline",
    "codex",
    "gemini",
    "goose",
    "gpt-",
    "haiku",
    "openai",
    "opencode",
    "opus",
    "qwen",
    "sonnet",
];

/// Files that may name one, by the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Commands that people copy: `ctx run -- claude`, `ctx install codex`. Any agent would do; these are known.
    ("api/src/codes/shell.rs", "codex"),
    ("cli/src/client/find.rs", "claude"),
    ("cli/src/commands/conversations.rs", "claude"),
    ("cli/src/commands/doctor/checks.rs", "claude"),
    ("cli/src/commands/install.rs", "claude"),
    ("cli/src/commands/install.rs", "codex"),
    ("cli/src/commands/lab/harm.rs", "claude"),
    ("cli/src/commands/lab/mod.rs", "claude"),
    ("cli/src/commands/lab/run.rs", "claude"),
    ("cli/src/commands/mcp.rs", "claude"),
    ("cli/src/commands/models.rs", "claude"),
    ("cli/src/commands/models.rs", "opus"),
    ("cli/src/commands/run/mod.rs", "claude"),
    ("cli/src/commands/run/mod.rs", "goose"),
    ("cli/src/commands/uninstall.rs", "claude"),
    ("cli/src/commands/uninstall.rs", "codex"),
    ("cli/src/help.rs", "claude"),
    ("cli/src/help.rs", "codex"),
    ("service/src/view/mod.rs", "claude"),
    // A command for one agent's status line.
    ("cli/src/commands/status_line.rs", "claude"),
    // Examples in the reference of the settings.
    ("config/src/sections/daemon.rs", "anthropic"),
    ("config/src/sections/daemon.rs", "qwen"),
    ("config/src/team.rs", "anthropic"),
    ("config/src/sections/provider.rs", "claude"),
    ("config/src/sections/provider.rs", "opus"),
    ("server/src/config.rs", "anthropic"),
    // The values of `provider` in `[helper]`, and the default model of each.
    ("server/src/helper/settings.rs", "anthropic"),
    ("server/src/helper/settings.rs", "claude"),
    ("server/src/helper/settings.rs", "haiku"),
    ("server/src/helper/settings.rs", "openai"),
    // The names of the wires, as stored and shown.
    ("core/src/content.rs", "anthropic"),
    ("core/src/content.rs", "gemini"),
    ("core/src/content.rs", "openai"),
    // Stored formats from the time of one wire.
    ("engine/src/log.rs", "anthropic"),
    ("engine/src/log/v1.rs", "anthropic"),
    ("store/src/encode.rs", "claude"),
    ("store/src/encode.rs", "opus"),
    ("store/src/encode.rs", "sonnet"),
    // Recordings of one wire are checked before they are replayed.
    ("lab/src/recording/corpus.rs", "anthropic"),
];

fn named(code: &str) -> Vec<String> {
    let code = code.to_ascii_lowercase();
    NAMES.iter().filter(|name| holds(&code, name)).map(|name| (*name).to_owned()).collect()
}

/// Whether a name begins a word: `decline` is no agent.
fn holds(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphabetic()))
}

#[test]
fn no_file_above_the_seam_names_a_provider_a_model_or_an_agent() {
    let sources = above_the_seam();
    assert!(sources.len() > 300, "{} files", sources.len());
    check(&sources, EXCEPTIONS, named);
}

#[test]
fn a_name_is_found_in_any_case_and_only_as_a_word() {
    assert_eq!(named("Provider::OpenAi, \"claude-haiku\""), ["claude", "haiku", "openai"]);
    assert_eq!(named("declined, octopus, is_openai"), ["openai"]);
}
