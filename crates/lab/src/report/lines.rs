//! One line per conversation and policy, for spreadsheets and programs.

use crate::run::Outcome;
use serde::Serialize;
use std::fmt::Write;

/// One conversation under one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line<'o> {
    pub policy: &'o str,
    pub conversation: &'o str,
    pub steps: usize,
    pub final_tokens: u64,
    pub cumulative_tokens: u64,
    pub peak_tokens: u64,
    pub cost: f64,
    pub forced_cost: f64,
    pub cache_read_share: f64,
    pub clear_events: usize,
    pub harmed_steps: usize,
    pub harmed_edits: usize,
    /// The substitute models, if its own are not listed.
    pub stand_in: String,
    /// It was recorded larger than its model's window.
    pub beyond_window: bool,
    /// The cost by cause; that of re-reads is `forced_cost`.
    pub reads_cost: f64,
    pub first_writes_cost: f64,
    pub edit_rewrites_cost: f64,
    pub cold_rewrites_cost: f64,
    pub answers_cost: f64,
    /// The project, or the conversation itself if that is unknown.
    pub project: &'o str,
}

const HEAD: &str = "policy,conversation,steps,final_tokens,cumulative_tokens,peak_tokens,cost,forced_cost,\
cache_read_share,clear_events,harmed_steps,harmed_edits,stand_in,beyond_window,reads_cost,first_writes_cost,edit_rewrites_cost,\
cold_rewrites_cost,answers_cost,project";

/// By policy, in the given order. `names`: the policies with a description each.
pub fn lines<'o>(outcome: &'o Outcome, names: &'o [(String, String)]) -> Vec<Line<'o>> {
    let mut lines = Vec::new();
    for (scores, (policy, _)) in outcome.scores.iter().zip(names) {
        lines.extend(scores.iter().map(|score| Line {
            policy,
            conversation: &score.conversation,
            steps: score.steps,
            final_tokens: score.final_tokens,
            cumulative_tokens: score.cumulative_tokens,
            peak_tokens: score.peak_tokens,
            cost: score.cost(),
            forced_cost: score.forced_cost,
            cache_read_share: score.read / score.prompt.max(1.0),
            clear_events: score.clear_events,
            harmed_steps: score.harmed,
            harmed_edits: score.harmed_edits,
            stand_in: score.stand_in.join(" "),
            beyond_window: score.beyond_window,
            reads_cost: score.causes.reads,
            first_writes_cost: score.causes.first_writes,
            edit_rewrites_cost: score.causes.edit_rewrites,
            cold_rewrites_cost: score.causes.cold_rewrites,
            answers_cost: score.causes.answers,
            project: &score.project,
        }));
    }
    lines
}

pub fn csv(lines: &[Line<'_>]) -> String {
    let mut text = format!("{HEAD}\n");
    for line in lines {
        let Line { policy, steps, final_tokens, cumulative_tokens, peak_tokens, cost, forced_cost, .. } = line;
        let Line { cache_read_share, clear_events, harmed_steps, harmed_edits, beyond_window, .. } = line;
        let Line { reads_cost, first_writes_cost, edit_rewrites_cost, cold_rewrites_cost, answers_cost, .. } = line;
        let [conversation, stand_in, project] = [line.conversation, &line.stand_in, line.project].map(quoted);
        let _ = writeln!(
            text,
            "{policy},{conversation},{steps},{final_tokens},{cumulative_tokens},{peak_tokens},{cost:.6},{forced_cost:.6},\
             {cache_read_share:.4},{clear_events},{harmed_steps},{harmed_edits},{stand_in},{beyond_window},\
             {reads_cost:.6},{first_writes_cost:.6},{edit_rewrites_cost:.6},{cold_rewrites_cost:.6},{answers_cost:.6},{project}"
        );
    }
    text
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Score;

    #[test]
    fn every_line_has_every_column() {
        let stand_in = vec!["x".into(), "y".into()];
        let score =
            Score { conversation: "a, \"b\"".into(), project: "p".into(), steps: 3, stand_in, ..Score::default() };
        let outcome = Outcome { scores: vec![vec![score]], ..Outcome::default() };
        let names = [("none".into(), String::new())];
        let (lines, text) = (lines(&outcome, &names), csv(&lines(&outcome, &names)));
        let written: Vec<&str> = text.lines().collect();
        assert_eq!(
            written[1],
            "none,\"a, \"\"b\"\"\",3,0,0,0,0.000000,0.000000,0.0000,0,0,0,x y,false,0.000000,0.000000,0.000000,0.000000,0.000000,p"
        );
        let json = serde_json::to_value(&lines[0]).expect("JSON");
        let columns: Vec<&str> = written[0].split(',').collect();
        let fields = json.as_object().expect("an object");
        assert!(columns.len() == fields.len() && columns.iter().all(|column| fields.contains_key(*column)), "{json}");
    }
}
