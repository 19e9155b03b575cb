//! Prints a plan: each operation with its reason and risk, then the whole.

use std::fmt::Display;

use ctx_api::plan::{Level, PlanView, PlannedView};
use ctx_core::edit::Operation;
use ctx_core::edit::operation::{Select, Where};
use ctx_service::now;

use crate::commands::change::{price, repaired, thinking};
use crate::output::{Output, text, words};

/// Characters to show of a new text.
const WORDS: usize = 60;

pub fn whole(plan: &PlanView, output: &Output) -> String {
    let paint = &output.paint;
    let applied = &plan.applied;
    let mut lines = format!(
        "{}  {}  {}\n",
        paint.warning("preview"),
        text::line(&words::grouped(&applied.summary)),
        paint.faint(&tokens(applied.tokens_before, applied.tokens_after))
    );
    plan.note.iter().for_each(|note| lines.push_str(&format!("  {}\n", paint.faint(&text::line(note)))));
    for warning in &applied.warnings {
        lines.push_str(&format!("  {}\n", paint.warning(&text::line(&format!("warning: {warning}")))));
    }
    for operation in &plan.operations {
        lines.push_str(&one(operation, output));
    }
    let preview = &applied.preview;
    let mut sum = vec![format!("overall risk: {}", level(plan.risk.unwrap_or_default(), output))];
    sum.extend(thinking(preview.thinking_dropped, preview.thinking_tokens));
    sum.extend(applied.remarks.iter().map(|remark| text::line(remark)));
    sum.extend(preview.repairs.iter().map(repaired));
    sum.extend(price::told(preview, now()).iter().map(|line| text::line(line)));
    if preview.tokens_reread > 0 {
        sum.push(marks(plan.marks));
    }
    sum.extend(applied.files.iter().map(|file| text::line(&format!("to be written: {}", file.display()))));
    for line in sum {
        lines.push_str(&format!("  {}\n", paint.faint(&line)));
    }
    lines
}

/// One operation, as the list and the questions show it.
pub fn one(planned: &PlannedView, output: &Output) -> String {
    let paint = &output.paint;
    let head = format!("{:>2}  {}", planned.number, text::line(&operation(&planned.operation)));
    if let Some(nothing) = &planned.nothing {
        return format!("{}\n      {}\n", paint.faint(&head), paint.faint(&text::line(&format!("skipped: {nothing}"))));
    }
    let size = tokens(planned.tokens_before, planned.tokens_after);
    let mut lines = format!("{head}  {}  {}\n", paint.faint(&size), level(planned.risk, output));
    if let Some(reason) = &planned.reason {
        lines.push_str(&format!("      {}\n", text::line(reason)));
    }
    for risk in &planned.risks {
        let told = text::line(&format!("{}: {}", risk.level.name(), risk.what));
        lines.push_str(&format!("      {}\n", paint.faint(&told)));
    }
    lines
}

fn level(level: Level, output: &Output) -> String {
    match level {
        Level::Low => output.paint.good("low"),
        Level::Medium => output.paint.warning("medium"),
        Level::High => output.paint.bad("high"),
    }
}

fn tokens(before: u64, after: u64) -> String {
    match before == after {
        true => words::plural(after, "token"),
        false => format!("{} → {} tokens", words::count(before), words::count(after)),
    }
}

fn marks(marks: usize) -> String {
    if marks == 0 {
        "the request has no cache breakpoint".to_owned()
    } else {
        format!("{} in the request", words::plural(marks as u64, "cache breakpoint"))
    }
}

/// An operation in one line: its name, its target, and the start of its text.
pub fn operation(operation: &Operation) -> String {
    let mut line = Line(vec![operation.name().to_owned()]);
    match operation {
        Operation::Delete { ids, select, force } => line.all(ids).select(select).flag("force", *force),
        Operation::Edit { id, text, raw, content, force } => {
            line.word(id).flag("force", *force).quoted(text.as_ref());
            line.0.extend(raw.as_ref().map(|raw| text::fit(&raw.to_string(), WORDS)));
            let content = content.as_ref().and_then(|content| serde_json::to_string(content).ok());
            line.0.extend(content.map(|content| text::fit(&content, WORDS)));
            &mut line
        }
        Operation::Compact { ids, select, text } | Operation::Offload { ids, select, summary: text } => {
            line.all(ids).select(select).quoted(text.as_ref())
        }
        Operation::Restore { ids } | Operation::Pin { ids } | Operation::Unpin { ids } => line.all(ids),
        Operation::Move { ids, to } => line.all(ids).place(to),
        Operation::Add { text, to, title, role: _ } => line.place(to).quoted(title.as_ref()).quoted(Some(text)),
        Operation::Combine { ids, after } => line.all(ids).value("after", after.as_ref()),
        Operation::Split { id, at, at_step, each_step } => {
            line.word(id).numbers("at", at).numbers("at-step", at_step).flag("each-step", *each_step)
        }
        Operation::DropResults { ids, select, result } => line.all(ids).select(select).value("result", result.as_ref()),
        Operation::SummarizeResults { ids, select, result, text } => {
            line.all(ids).select(select).value("result", result.as_ref()).quoted(text.as_ref())
        }
        Operation::Retitle { id, title, summary, auto } => {
            line.word(id).flag("auto", *auto).quoted(title.as_ref()).quoted(summary.as_ref())
        }
        Operation::Import { from, ids, to, edits } => line.word(from).all(ids).flag("edits", *edits).place(to),
    };
    line.0.join(" ")
}

/// The text of an operation.
struct Line(Vec<String>);

impl Line {
    fn word(&mut self, word: &str) -> &mut Line {
        self.0.push(word.to_owned());
        self
    }

    fn all(&mut self, ids: &[String]) -> &mut Line {
        self.0.extend(ids.iter().cloned());
        self
    }

    fn flag(&mut self, name: &str, is_set: bool) -> &mut Line {
        self.0.extend(is_set.then(|| format!("--{name}")));
        self
    }

    fn value(&mut self, name: &str, value: Option<impl Display>) -> &mut Line {
        self.0.extend(value.map(|value| format!("--{name} {value}")));
        self
    }

    fn numbers(&mut self, name: &str, numbers: &[usize]) -> &mut Line {
        let all: Vec<String> = numbers.iter().map(usize::to_string).collect();
        self.value(name, (!all.is_empty()).then(|| all.join(",")))
    }

    fn quoted(&mut self, text: Option<&String>) -> &mut Line {
        self.0.extend(text.map(|text| format!("“{}”", text::fit(&text::line(text), WORDS))));
        self
    }

    fn select(&mut self, select: &Select) -> &mut Line {
        let Select { tool, larger_than, older_than, superseded, calls } = select;
        self.value("tool", tool.as_ref()).value("larger-than", *larger_than).value("older-than", *older_than);
        // Call ids are omitted: they mean nothing to a reader.
        let count = calls.len() as u64;
        self.0.extend((count > 0).then(|| format!("({})", words::plural(count, "call"))));
        self.flag("superseded", *superseded)
    }

    fn place(&mut self, to: &Where) -> &mut Line {
        self.value("after", to.after.as_ref()).flag("start", to.start).flag("end", to.end)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan() -> PlanView {
        serde_json::from_value(json!({
            "conversation": "c1", "commit": null, "branch": "main", "frames": ["t1", "t3"], "tokens_before": 18234,
            "tokens_after": 12000, "summary": "delete, drop-results t1, t3, 6234 tokens less",
            "preview": {"first_change": "t1", "first_step": "t1/2", "tokens_ahead": 3000, "tokens_reread": 9000, "thinking_dropped": 1, "thinking_tokens": 812,
                "cost": {"cache": "unused", "without": 18234, "next_without": 18234, "first": 12000, "later": 12000, "once": -6234,
                    "saves": 6234, "pays_off_after": 1},
                "repairs": [{"rule": "A30", "what": "the call of \u{1b}[2J went too"}]},
            "problem": null, "files": [], "head": null, "note": "tidy", "risk": "high", "thinking_lost": 1, "marks": 2,
            "cost": {"without": 1823, "first": 11550, "later": 1200, "pays_off_after": 17},
            "operations": [
                {"number": 1, "operation": {"op": "delete", "ids": ["t3"]}, "reason": "a dead end", "frames": ["t3"],
                 "tokens_before": 18234, "tokens_after": 17000, "thinking_lost": 1, "repairs": [], "risk": "high",
                 "risks": [{"level": "high", "what": "t3 is pinned"}, {"level": "low", "what": "removes the request in t3"}]},
                {"number": 3, "operation": {"op": "drop-results", "ids": [], "select": {"tool": "Read", "larger_than": 9}},
                 "reason": null, "frames": ["t1"], "tokens_before": 17000, "tokens_after": 12000, "thinking_lost": 0,
                 "repairs": [], "risk": "low", "risks": []},
                {"number": 4, "operation": {"op": "pin", "ids": ["t1"]}, "reason": null, "frames": [], "tokens_before": 1,
                 "tokens_after": 1, "thinking_lost": 0, "repairs": [], "risk": "low", "risks": [],
                 "nothing": "`t1` is pinned already."},
            ],
        }))
        .expect("a plan")
    }

    #[test]
    fn a_plan_is_told_operation_by_operation_and_in_sum() {
        insta::assert_snapshot!(whole(&plan(), &Output::plain()), @r"
        preview  delete, drop-results t1, t3, 6,234 tokens less  18,234 → 12,000 tokens
          tidy
         1  delete t3  18,234 → 17,000 tokens  high
              a dead end
              high: t3 is pinned
              low: removes the request in t3
         3  drop-results --tool Read --larger-than 9  17,000 → 12,000 tokens  low
         4  pin t1
              skipped: `t1` is pinned already.
          overall risk: high
          1 thinking block is no longer sent (812 tokens): thinking is bound to the content before it
          repaired by rule A30 (every tool call has its result): the call of \x1b[2J went too
          the first change is in t1/2; the 3,000 tokens before it are unchanged
          this context is not cached
          the next request costs 12,000 instead of 18,234, later ones 12,000 instead of 18,234: pays off at once (in input tokens; a cache write counts 1.25, a cache read 0.1)
          2 cache breakpoints in the request
        ");
    }

    #[test]
    fn an_operation_fits_a_line() {
        let line = |json| operation(&serde_json::from_value(json).expect("an operation"));
        assert_eq!(line(json!({"op": "move", "ids": ["t5"], "to": {"after": "t2"}})), "move t5 --after t2");
        assert_eq!(line(json!({"op": "edit", "id": "t3#0", "text": "a\nb", "force": true})), "edit t3#0 --force “a b”");
        assert_eq!(line(json!({"op": "split", "id": "t3", "at": [2, 4]})), "split t3 --at 2,4");
        assert_eq!(
            line(json!({"op": "import", "from": "c3f9", "ids": ["t2"], "to": {"end": true}})),
            "import c3f9 t2 --end"
        );
        assert!(line(json!({"op": "add", "text": "long ".repeat(50), "to": {"end": true}})).chars().count() < 80);
    }
}
