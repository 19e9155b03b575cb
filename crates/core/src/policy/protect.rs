//! Protected results: patterns on the tool, path, command or text of a call.

use crate::pattern::matches;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A call and its result, as patterns see them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'c> {
    /// The name of the tool.
    pub tool: &'c str,
    /// The file that the call is about.
    pub path: Option<&'c str>,
    /// The command that it runs, or the pattern that it searches for.
    pub command: Option<&'c str>,
    /// The text of its result.
    pub text: Option<&'c str>,
}

/// Results that belong together, described by patterns. One match is enough; `*` matches anything, case is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Artifact {
    pub tools: Vec<String>,
    pub paths: Vec<String>,
    pub commands: Vec<String>,
    /// Words in the result.
    pub texts: Vec<String>,
}

/// The predefined artifacts.
pub const KNOWN: [&str; 5] =
    ["trajectory_events", "quality_gate_results", "decision_records", "notes_session_continuity", "active_beads"];

/// The patterns of the predefined artifacts.
pub fn known() -> BTreeMap<String, Artifact> {
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
    let artifact = |paths: &[&str], commands: &[&str], texts: &[&str]| Artifact {
        tools: Vec::new(),
        paths: words(paths),
        commands: words(commands),
        texts: words(texts),
    };
    let meaning = |name: &str| match name {
        "trajectory_events" => artifact(&["*/trajectory/*", "*trajectory*.jsonl"], &["*trajectory*"], &[]),
        "quality_gate_results" => artifact(
            &["*quality-gate*", "*quality_gate*", "*auditor-sprint-feedback*", "*engineer-feedback*"],
            &["*quality-gate*", "*quality_gate*"],
            &["*quality gate*", "*gate: pass*", "*gate: fail*"],
        ),
        "decision_records" => artifact(
            &["*/adr/*", "*/adrs/*", "*/decisions/*", "*decision-record*", "*decision_record*", "*DECISIONS.md"],
            &[],
            &["*decision record*"],
        ),
        "notes_session_continuity" => {
            artifact(&["*NOTES.md", "*session-continuity*", "*session_continuity*"], &["*NOTES.md*"], &[])
        }
        _ => artifact(&["*/.beads/*"], &["bd *", "br *", "* bd *", "* br *", "*beads*"], &[]),
    };
    KNOWN.iter().map(|&name| (name.to_owned(), meaning(name))).collect()
}

impl Artifact {
    /// The artifact of a name without patterns: `test_results` matches `test-results.json`, `run test results`,
    /// `test_results/`.
    pub fn named(name: &str) -> Artifact {
        let spelled: Vec<String> =
            ["_", "-", " "].iter().map(|gap| format!("*{}*", name.replace(['_', '-', ' '], gap))).collect();
        Artifact { tools: spelled.clone(), paths: spelled.clone(), commands: spelled, texts: Vec::new() }
    }

    /// Whether a call or its result belongs to this artifact.
    pub fn holds(&self, call: &Call<'_>) -> bool {
        let any = |patterns: &[String], text: Option<&str>| {
            text.is_some_and(|text| patterns.iter().any(|pattern| matches(pattern, text)))
        };
        any(&self.tools, Some(call.tool))
            || any(&self.paths, call.path)
            || any(&self.commands, call.command)
            || any(&self.texts, call.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_found_and_nothing_else() {
        let known = known();
        let holds = |name: &str, call: Call<'_>| known[name].holds(&call);
        let read = |path| Call { tool: "Read", path: Some(path), ..Call::default() };
        assert!(holds("notes_session_continuity", read("/p/grimoires/loa/NOTES.md")));
        assert!(holds("decision_records", read("/p/docs/decisions/004.md")));
        assert!(holds("trajectory_events", read("/p/a2a/trajectory/2026-01-01.jsonl")));
        assert!(holds("active_beads", Call { tool: "Bash", command: Some("bd show 12"), ..Call::default() }));
        assert!(holds("quality_gate_results", Call { text: Some("Quality Gate passed"), ..Call::default() }));
        assert!(known.values().all(|artifact| !artifact.holds(&read("/p/src/main.rs"))));
        assert_eq!(known.len(), KNOWN.len());
    }
}
