//! One line a conversation and policy, for a spreadsheet.

use crate::run::Outcome;
use std::fmt::Write;

const HEAD: &str = "policy,conversation,steps,final_tokens,cumulative_tokens,peak_tokens,cost,forced_cost,cache_read_share,clear_events,harmed_steps,harmed_edits";

pub fn csv(outcome: &Outcome, names: &[(String, String)]) -> String {
    let mut text = format!("{HEAD}\n");
    for (scores, (policy, _)) in outcome.scores.iter().zip(names) {
        for score in scores {
            let share = score.read / score.prompt.max(1.0);
            let _ = writeln!(
                text,
                "{policy},{},{},{},{},{},{:.6},{:.6},{share:.4},{},{},{}",
                quoted(&score.conversation),
                score.steps,
                score.final_tokens,
                score.cumulative_tokens,
                score.peak_tokens,
                score.cost(),
                score.forced_cost,
                score.clear_events,
                score.harmed,
                score.harmed_edits
            );
        }
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
        let score = Score { conversation: "a, \"b\"".into(), steps: 3, ..Score::default() };
        let outcome = Outcome { scores: vec![vec![score]], ..Outcome::default() };
        let text = csv(&outcome, &[("none".into(), String::new())]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), 12);
        assert_eq!(lines[1], "none,\"a, \"\"b\"\"\",3,0,0,0,0.000000,0.000000,0.0000,0,0,0");
    }
}
