//! What must not be cleared, told by patterns on the tool, the path, the command or the text.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A call with what is known of it and of its result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'c> {
    pub tool: &'c str,
    /// The file that it is about.
    pub path: Option<&'c str>,
    /// The command that it runs, or what it searches for.
    pub command: Option<&'c str>,
    /// The text of its result.
    pub text: Option<&'c str>,
}

/// What is told by patterns. One that fits is enough; in a pattern `*` stands for anything, and case does not matter.
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

/// The names that are defined from the start.
pub const KNOWN: [&str; 5] =
    ["trajectory_events", "quality_gate_results", "decision_records", "notes_session_continuity", "active_beads"];

/// What they mean.
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
    /// What is called so: `test_results` is in `test-results.json`, in `run test results`, in `test_results/`.
    pub fn named(name: &str) -> Artifact {
        let spelled: Vec<String> =
            ["_", "-", " "].iter().map(|gap| format!("*{}*", name.replace(['_', '-', ' '], gap))).collect();
        Artifact { tools: spelled.clone(), paths: spelled.clone(), commands: spelled, texts: Vec::new() }
    }

    pub fn holds(&self, call: &Call<'_>) -> bool {
        let any = |patterns: &[String], text: Option<&str>| {
            text.is_some_and(|text| patterns.iter().any(|pattern| fits(pattern, text)))
        };
        any(&self.tools, Some(call.tool))
            || any(&self.paths, call.path)
            || any(&self.commands, call.command)
            || any(&self.texts, call.text)
    }
}

/// Whether a text is as a pattern says: `*` stands for anything, and case does not matter.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(first) = pieces.next() else { return false };
    let Some(mut rest) = strip(text, first) else { return false };
    let mut last = first;
    let mut is_open = false;
    for piece in pieces {
        is_open = true;
        last = piece;
        let Some(at) = find(rest, piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    if !is_open {
        return rest.is_empty();
    }
    // The last piece stands at the end.
    last.is_empty() || rest.is_empty() || text.len() >= last.len() && ends(text, last)
}

fn strip<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| &text[start.len()..])
}

fn ends(text: &str, end: &str) -> bool {
    text.get(text.len() - end.len()..).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

fn find(text: &str, piece: &str) -> Option<usize> {
    let (text, piece) = (text.as_bytes(), piece.as_bytes());
    let Some(first) = piece.first() else { return Some(0) };
    // Texts are long, and most hold nothing of it.
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
        .find(|&at| text.get(at..at + piece.len()).is_some_and(|here| here.eq_ignore_ascii_case(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_case_does_not_matter() {
        for (pattern, text) in [
            ("*notes.md", "/home/me/NOTES.md"),
            ("bd *", "bd ready --json"),
            ("*", ""),
            ("read", "Read"),
            ("a*b*c", "a-b-b-c"),
            ("*ä*", "xäy"),
            ("*aa", "baaa"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("*notes.md", "NOTES.md.bak"),
            ("bd *", "abd x"),
            ("read", "Reader"),
            ("a*b*c", "a-b-c-d"),
            ("ab", "a"),
            ("*x*", "ä"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

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
