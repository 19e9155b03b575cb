//! `[context_editing]`: the automatic editor.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use ctx_core::policy::{Artifact, DietMode, Mode, Target};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::ProviderEditing;

/// The automatic editor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContextEditing {
    /// how far the automatic editor may go
    #[schemars(schema_with = "modes", example = &"observe")]
    pub mode: Option<Mode>,
    /// true means mode "on", false "off"; `mode` takes precedence
    #[schemars(example = true)]
    pub enabled: Option<bool>,
    /// usage of the window, in percent, at which to clear regardless of cost
    #[schemars(range(min = 1, max = 100), example = 80)]
    pub compact_threshold_percent: Option<u64>,
    /// the same threshold while the provider's own editing is on
    #[schemars(range(min = 1, max = 100), example = 95)]
    pub threshold_with_provider_percent: Option<u64>,
    /// usage of the window to clear down to, in percent
    #[schemars(range(min = 1, max = 100), example = 60)]
    pub target_percent: Option<u64>,
    /// number of newest replies whose tool results are kept
    #[schemars(range(min = 0, max = 100_000), example = 5)]
    pub preserve_recent_turns: Option<usize>,
    /// what to clear, in this order
    #[schemars(example = ["stale_tool_results"])]
    pub clear_targets: Option<Vec<Target>>,
    /// phases whose details may be cleared after their end; "*" for all
    #[schemars(inner(length(min = 1, max = 256)), example = ["testing"])]
    pub clear_after_phases: Option<Vec<String>>,
    pub attention_budget: AttentionBudget,
    /// names of artifacts that are never cleared
    #[schemars(inner(length(min = 1, max = 256)), example = ["decision_records", "plans"])]
    pub preserve_artifacts: Option<Vec<String>>,
    pub artifacts: BTreeMap<String, Patterns>,
    /// tools whose results are never cleared
    #[schemars(inner(length(min = 1, max = 256)), example = ["Todo*"])]
    pub exclude_tools: Option<Vec<String>>,
    /// file that gets a line for each clearing
    #[schemars(length(min = 1, max = 4_096), example = "NOTES.md")]
    #[serde(deserialize_with = "ledger")]
    pub ledger: Option<String>,
    pub trims: TrimsSection,
    pub cuts: CutsSection,
    pub diet: DietSection,
    /// command that gets the signals; ignored in a project's file
    #[schemars(length(min = 1, max = 4_096), example = "notify-send ctx")]
    pub hook: Option<String>,
    /// local URL that gets the signals; ignored in a project's file
    #[schemars(length(min = 1, max = 4_096), example = "http://127.0.0.1:9000/hook", extend("writeOnly" = true))]
    #[serde(deserialize_with = "webhook")]
    pub webhook: Option<String>,
    #[serde(skip_serializing)]
    pub provider: ProviderEditing,
}

/// Token budgets for search results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttentionBudget {
    /// token budget for one search result
    #[schemars(range(min = 1, max = 100_000_000), example = 2_000)]
    pub single_search: Option<u64>,
    /// token budget for search results that are no longer recent
    #[schemars(range(min = 1, max = 100_000_000), example = 5_000)]
    pub accumulated: Option<u64>,
    /// token budget for all search results of a session
    #[schemars(range(min = 1, max = 100_000_000), example = 15_000)]
    pub session_total: Option<u64>,
}

/// Trims of results before they are first sent. They lose no information.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrimsSection {
    /// file views lose their line numbers; the range is given once
    #[schemars(example = false)]
    pub views: Option<bool>,
    /// search hits have the name of each file once, above its lines
    #[schemars(example = false)]
    pub searches: Option<bool>,
    /// outputs lose colours, trailing blanks and repeated lines
    #[schemars(example = false)]
    pub outputs: Option<bool>,
    /// calls of finished edits lose the text that they replaced
    #[schemars(example = false)]
    pub edits: Option<bool>,
}

/// Cuts of long results before they are first sent. All lines are kept in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CutsSection {
    /// outputs of builds and tests that are longer, in tokens, are cut to failures and both ends; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 3_000)]
    pub build: Option<u64>,
    /// longer search results are cut to some hits in every file; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 3_000)]
    pub search: Option<u64>,
    /// longer lists of files are cut to some entries of every folder; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 3_000)]
    pub listing: Option<u64>,
    /// longer logs are cut to failures and the end; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 3_000)]
    pub log: Option<u64>,
    /// longer fetched pages are cut to the beginning of every section; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 3_000)]
    pub page: Option<u64>,
    /// longer views of a file that an earlier result shows, unchanged, only refer to it; 0 = never
    #[schemars(range(min = 0, max = 100_000_000), example = 500)]
    pub repeated_view: Option<u64>,
}

/// The diet for tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DietSection {
    /// how far the diet for tools may go; never further than the automatic editor
    #[schemars(schema_with = "diet_modes", example = &"observe")]
    pub mode: Option<DietMode>,
    /// number of earlier conversations that must have offered a tool without calling it
    #[schemars(range(min = 1, max = 100), example = 10)]
    pub after_conversations: Option<u32>,
    /// shorten the lists that the client injects for deferred tools, such as skills
    #[schemars(example = true)]
    pub shorten_lists: Option<bool>,
    /// tools that always stay; * matches anything
    #[schemars(inner(length(min = 1, max = 256)), example = ["mcp__git__*"])]
    pub keep_tools: Option<Vec<String>>,
    /// tools to leave out if they were not called: the model cannot find them any more
    #[schemars(inner(length(min = 1, max = 256)), example = ["mcp__old__*"])]
    pub leave_out: Option<Vec<String>>,
}

/// Patterns of one artifact. One match is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Patterns {
    /// tools whose results belong to the artifact; * matches anything
    #[schemars(inner(length(min = 1, max = 256)), example = ["Plan*"])]
    pub tools: Vec<String>,
    /// paths of files that belong to the artifact
    #[schemars(inner(length(min = 1, max = 256)), example = ["*/plans/*"])]
    pub paths: Vec<String>,
    /// commands whose results belong to the artifact
    #[schemars(inner(length(min = 1, max = 256)), example = ["plan *"])]
    pub commands: Vec<String>,
    /// texts in results that belong to the artifact
    #[schemars(inner(length(min = 1, max = 256)), example = ["*the plan*"])]
    pub texts: Vec<String>,
}

impl From<Patterns> for Artifact {
    fn from(Patterns { tools, paths, commands, texts }: Patterns) -> Artifact {
        Artifact { tools, paths, commands, texts }
    }
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Mode::ALL})
}

fn diet_modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": [DietMode::Off, DietMode::Observe, DietMode::On]})
}

/// An absolute path, or a file in the project.
fn ledger<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(value)?;
    let path = Path::new(&text);
    let climbs = path.components().any(|part| matches!(part, Component::ParentDir));
    if climbs || text.starts_with('~') || path.file_name().is_none() || text.ends_with(['/', '\\']) {
        let why = "must be a file in the project, such as \"NOTES.md\", or an absolute path without `..`";
        return Err(de::Error::custom(why));
    }
    Ok(Some(text))
}

/// Signals never leave this machine. The error does not repeat the address, which may contain a secret.
fn webhook<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(value)?;
    let is_here = text.parse::<http::Uri>().is_ok_and(|uri| {
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        uri.scheme_str() == Some("http") && !has_user && uri.host().is_some_and(crate::project::is_this_machine)
    });
    let why = "must be a URL on this machine, such as \"http://127.0.0.1:9000/hook\"";
    if is_here { Ok(Some(text)) } else { Err(de::Error::custom(why)) }
}
