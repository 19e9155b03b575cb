//! `[context_editing.provider]`: context editing by the provider, by project, model and agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ctx_wire::provider_edits::{
    Agents, ClearThinking, ClearToolUses, Compact, Inputs, Keep, ProviderSettings, Trigger,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// No model has a larger window.
const MOST_TOKENS: u64 = 100_000_000;
/// The provider does not summarise less.
const LEAST_COMPACT: u64 = 50_000;
/// No request has more calls or turns.
const MOST_ITEMS: u64 = 100_000;
/// The section of single projects.
pub const PROJECT_MEMBER: &str = "projects";

/// The provider's own context editing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProviderEditing {
    #[serde(flatten, with = "Keys")]
    pub settings: ProviderSettings,
    pub projects: BTreeMap<PathBuf, ProjectEditing>,
}

/// The same for clients in one folder.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ProjectEditing(#[serde(with = "Keys")] pub ProviderSettings);

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, remote = "ProviderSettings")]
struct Keys {
    /// request the provider's own editing
    #[schemars(example = true)]
    enabled: Option<bool>,
    /// only for these models
    #[schemars(inner(length(min = 1, max = 256)), example = ["claude-opus-*"])]
    models: Option<Vec<String>>,
    /// agents that it applies to
    #[schemars(with = "AgentNames", example = &"main")]
    #[serde(deserialize_with = "agents")]
    agents: Option<Agents>,
    #[schemars(with = "ClearToolUsesKeys")]
    #[serde(deserialize_with = "ClearToolUsesKeys::deserialize")]
    clear_tool_uses: ClearToolUses,
    #[schemars(with = "ClearThinkingKeys")]
    #[serde(deserialize_with = "ClearThinkingKeys::deserialize")]
    clear_thinking: ClearThinking,
    #[schemars(with = "CompactKeys")]
    #[serde(deserialize_with = "CompactKeys::deserialize")]
    compact: Compact,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, remote = "ClearToolUses")]
struct ClearToolUsesKeys {
    /// clear old tool results
    #[schemars(example = true)]
    enabled: Option<bool>,
    /// prompt size that starts clearing
    #[schemars(schema_with = "clear_trigger", example = "60%")]
    #[serde(deserialize_with = "trigger")]
    trigger: Option<Trigger>,
    /// number of newest results to keep
    #[schemars(range(min = 0, max = MOST_ITEMS), example = 5)]
    keep: Option<u64>,
    /// minimum number of tokens to clear at once
    #[schemars(range(min = 0, max = MOST_TOKENS), example = 20_000)]
    clear_at_least: Option<u64>,
    /// tools whose results are never cleared
    #[schemars(inner(length(min = 1, max = 256)), example = ["Read"])]
    exclude_tools: Option<Vec<String>>,
    /// clear tool inputs along with their results
    #[schemars(with = "InputNames", title = "true, false, or a list of tools such as [\"Bash\"]", example = ["Bash"])]
    #[serde(deserialize_with = "inputs")]
    clear_tool_inputs: Option<Inputs>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, remote = "ClearThinking")]
struct ClearThinkingKeys {
    /// limit the thinking that the provider keeps
    #[schemars(example = true)]
    enabled: Option<bool>,
    /// number of turns whose thinking is kept
    #[schemars(schema_with = "turns", example = &"all")]
    #[serde(deserialize_with = "keep")]
    keep: Option<Keep>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, remote = "Compact")]
struct CompactKeys {
    /// let the provider write summaries
    #[schemars(example = true)]
    enabled: Option<bool>,
    /// prompt size that starts a summary
    #[schemars(schema_with = "compact_trigger", example = 150_000)]
    #[serde(deserialize_with = "trigger")]
    trigger: Option<Trigger>,
    /// instructions for the summary
    #[schemars(length(min = 1, max = 100_000), example = "Be short.")]
    instructions: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AgentNames {
    Main,
    Subagents,
    All,
}

fn agents<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Agents>, D::Error> {
    Ok(Some(match AgentNames::deserialize(value)? {
        AgentNames::Main => Agents::Main,
        AgentNames::Subagents => Agents::Sub,
        AgentNames::All => Agents::All,
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum InputNames {
    Switch(bool),
    Tools(Vec<String>),
}

fn inputs<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Inputs>, D::Error> {
    Ok(Some(match InputNames::deserialize(value)? {
        InputNames::Switch(true) => Inputs::Go,
        InputNames::Switch(false) => Inputs::Stay,
        InputNames::Tools(tools) => Inputs::GoOf(tools),
    }))
}

/// A number, a text, or a number of calls, already checked by the schema.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Text(String),
    Calls { tool_uses: u64 },
}

fn trigger<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Trigger>, D::Error> {
    Ok(match Amount::deserialize(value)? {
        Amount::Number(tokens) => Some(Trigger::Tokens(tokens)),
        Amount::Text(text) => text.trim_end_matches('%').trim().parse().ok().map(Trigger::Percent),
        Amount::Calls { tool_uses } => Some(Trigger::ToolUses(tool_uses)),
    })
}

fn keep<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Keep>, D::Error> {
    Ok(Some(match Amount::deserialize(value)? {
        Amount::Number(turns) => Keep::Turns(turns),
        Amount::Text(_) | Amount::Calls { .. } => Keep::All,
    }))
}

/// Tokens, or a share of the window.
fn compact_trigger(_: &mut SchemaGenerator) -> Schema {
    token_trigger(LEAST_COMPACT, "", None)
}

/// Tokens, a share of the window, or a number of calls.
fn clear_trigger(_: &mut SchemaGenerator) -> Schema {
    let calls = json_schema!({
        "type": "object",
        "properties": {"tool_uses": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}},
        "required": ["tool_uses"],
    });
    token_trigger(1, ", or a number of calls such as { tool_uses = 50 }", Some(calls))
}

fn token_trigger(least: u64, more: &str, other: Option<Schema>) -> Schema {
    let title = format!(
        "a number of tokens from {least} to {MOST_TOKENS}, or a share of the window from \"1%\" to \"100%\"{more}"
    );
    let tokens = json_schema!({"type": "integer", "minimum": least, "maximum": MOST_TOKENS});
    let share = json_schema!({"type": "string", "pattern": "^ *([1-9][0-9]?|100) *% *$"});
    let ways: Vec<Schema> = [tokens, share].into_iter().chain(other).collect();
    json_schema!({"title": title, "anyOf": ways})
}

fn turns(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "title": format!("\"all\", or a number of turns from 1 to {MOST_ITEMS}"),
        "anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, Origin};
    use crate::read;
    use crate::tree::Node;

    fn read(text: &str) -> Layer {
        read::read(&Node::of_toml(text).expect("TOML"), Origin::User)
    }

    fn settings(text: &str) -> ProviderSettings {
        read(text).config.context_editing.provider.settings
    }

    #[test]
    fn every_key_is_read() {
        let all = settings(
            "[context_editing.provider]\nenabled = true\nmodels = [\"claude-opus-*\"]\nagents = \"main\"\n\
             clear_tool_uses = { enabled = true, trigger = 120_000, keep = 4, clear_at_least = 20000, \
             exclude_tools = [\"Read\"], clear_tool_inputs = [\"Bash\"] }\n\
             clear_thinking = { enabled = true, keep = 2 }\n\
             [context_editing.provider.compact]\nenabled = true\ntrigger = \"70%\"\ninstructions = \"Be short.\"\n",
        );
        let expected = ProviderSettings {
            enabled: Some(true),
            models: Some(vec!["claude-opus-*".into()]),
            agents: Some(Agents::Main),
            clear_tool_uses: ClearToolUses {
                enabled: Some(true),
                trigger: Some(Trigger::Tokens(120_000)),
                keep: Some(4),
                clear_at_least: Some(20_000),
                exclude_tools: Some(vec!["Read".into()]),
                clear_tool_inputs: Some(Inputs::GoOf(vec!["Bash".into()])),
            },
            clear_thinking: ClearThinking { enabled: Some(true), keep: Some(Keep::Turns(2)) },
            compact: Compact {
                enabled: Some(true),
                trigger: Some(Trigger::Percent(70)),
                instructions: Some("Be short.".into()),
            },
        };
        assert_eq!(all, expected);
        let other = settings(
            "[context_editing.provider]\nagents = \"subagents\"\nclear_thinking = { keep = \"all\" }\n\
             clear_tool_uses = { trigger = { tool_uses = 30 }, keep = 0, clear_tool_inputs = true }",
        );
        assert_eq!((other.enabled, other.agents), (None, Some(Agents::Sub)));
        assert_eq!(other.clear_thinking.keep, Some(Keep::All));
        let tools = other.clear_tool_uses;
        assert_eq!((tools.trigger, tools.keep), (Some(Trigger::ToolUses(30)), Some(0)));
        assert_eq!(tools.clear_tool_inputs, Some(Inputs::Go));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line_and_what_is_allowed() {
        for (text, line, told) in [
            ("[context_editing.provider]\nenable = true", 2, "known keys: enabled, models, agents"),
            ("[context_editing.provider]\nenabled = 1", 2, "must be true or false, not a number"),
            ("[context_editing]\nprovider = 3", 2, "`[context_editing.provider]` must be a section"),
            ("[context_editing.provider]\nclear_tool_uses = { keeps = 3 }", 2, "known keys: enabled, trigger, keep"),
            ("[context_editing.provider]\n\nclear_tool_uses = { keep = -1 }", 3, "a whole number from 0 to 100000"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = \"140%\" }", 2, "from \"1%\" to \"100%\""),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = 0 }", 2, "tokens from 1 to"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { turns = 3 } }", 2, "{ tool_uses = 50 }"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { tool_uses = 0 } }", 2, "from 1 to 100000"),
            ("[context_editing.provider]\nclear_thinking = { keep = 0 }", 2, "\"all\", or a number of turns from 1"),
            ("[context_editing.provider]\nclear_thinking = { keep = \"some\" }", 2, "\"all\", or a number of turns"),
            ("[context_editing.provider]\ncompact = { trigger = 20_000 }", 2, "tokens from 50000 to"),
            ("[context_editing.provider]\ncompact = { instructions = \" \" }", 2, "a text of 1 to"),
            ("[context_editing.provider]\ncompact = { pause = true }", 2, "known keys: enabled, trigger, instructions"),
            ("[context_editing.provider]\nagents = \"none\"", 2, "cannot be `none`; allowed: main, subagents, all"),
            ("[context_editing.provider]\nmodels = [\"\"]", 2, "names of 1 to 256 bytes"),
            ("[context_editing.provider.projects.\"work\"]\nenabled = true", 1, "must be an absolute path"),
            ("[context_editing.provider.projects.\"/w\"]\non = true", 2, "known keys: enabled, models, agents"),
        ] {
            let wrong = read(text).provider_wrong;
            assert_eq!(wrong.len(), 1, "{text}: {wrong:?}");
            assert!(wrong[0].line == line && wrong[0].words.contains(told), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_in_the_order_of_its_lines() {
        let refused = read(
            "[context_editing.provider]\nenabled = 1\nagents = \"none\"\non = true\n\
             clear_tool_uses = { keep = -1, trigger = \"140%\" }\nclear_thinking = 3\n\
             [context_editing.provider.compact]\ntrigger = 1\npause = true\n\
             [context_editing.provider.projects.\"work\"]\n[context_editing.provider.projects.\"/w\"]\nkeep = 1\n",
        );
        let lines: Vec<usize> = refused.provider_wrong.iter().map(|remark| remark.line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 5, 6, 8, 9, 10, 12], "{refused:#?}");
    }
}
