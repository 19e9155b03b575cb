//! `ctx explain`: explains a rule or an error code, without a daemon.

use std::process::ExitCode;

use clap::Args;
use ctx_api::explain::{Term, TermKind, Terms};
use serde_json::json;

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text};

/// Explain a provider rule or an error code
#[derive(Args, Debug)]
#[command(after_help = "Repairs and refusals name rules, such as A30. Errors have codes, in --json output and the API.

Examples:
  ctx explain A65
  ctx explain unknown-id
  ctx explain                            list all rules and codes")]
pub struct Arguments {
    /// Rule or code [default: list all]
    #[arg(value_name = "RULE|CODE", value_parser = non_empty)]
    name: Option<String>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let terms = ctx_server::explain::known();
    let output = &context.output;
    let (json, words) = match &arguments.name {
        None => (json!(terms), list(&terms, output)),
        Some(name) => {
            let found = ctx_server::explain::find(&terms, name);
            let term = found.map_err(|error| Failure::new(error.code, error.message).hint(error.hint.to_string()))?;
            (json!(term), entry(term, output))
        }
    };
    match arguments.format.json {
        true => output.json(json.to_string().as_bytes())?,
        false => output.print(&words)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Columns for text if the terminal's width is unknown.
const USUAL_WIDTH: usize = 100;

fn entry(term: &Term, output: &Output) -> String {
    let mut lines = format!("{}  {}\n", output.paint.strong(&term.name), term.meaning);
    let width = output.width.unwrap_or(USUAL_WIDTH).min(USUAL_WIDTH).saturating_sub(2);
    for paragraph in term.why.iter().chain([&term.advice]) {
        let wrapped = text::wrap(paragraph, width);
        lines.extend(wrapped.iter().map(|line| format!("  {line}\n")));
    }
    lines
}

fn list(terms: &Terms, output: &Output) -> String {
    let group = |heading: &str, kind: TermKind| {
        let of_kind: Vec<&Term> = terms.terms.iter().filter(|term| term.kind == kind).collect();
        let widest = of_kind.iter().map(|term| term.name.len()).max().unwrap_or(0);
        let line = |term: &&Term| {
            let space = " ".repeat(widest - term.name.len() + 2);
            format!("  {}{space}{}\n", output.paint.id(&term.name), term.meaning)
        };
        format!("{}\n{}", output.paint.strong(heading), of_kind.iter().map(line).collect::<String>())
    };
    let hint = "`ctx explain NAME` gives details and advice.\n";
    format!("{}\n{}\n{hint}", group("Provider rules", TermKind::Rule), group("Error codes", TermKind::Code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_explained_with_its_reason_and_what_to_do() {
        let terms = ctx_server::explain::known();
        insta::assert_snapshot!(entry(ctx_server::explain::find(&terms, "a30").expect("a rule"), &Output::plain()), @r"
        A30  every tool call has its result
          Each tool call must be answered by a tool result in the next user message.
          When the result is gone, ctx removes the call. To keep the call, drop the result's content instead
          of deleting it.
        ");
        insta::assert_snapshot!(entry(ctx_server::explain::find(&terms, "stale").expect("a code"), &Output::plain()), @r"
        stale  the head has moved: another commit was made in the meantime
          Review the new commits, then retry with the new head.
        ");
    }

    #[test]
    fn the_list_has_every_rule_and_every_code_once() {
        let terms = ctx_server::explain::known();
        let list = list(&terms, &Output::plain());
        for term in &terms.terms {
            let named = |line: &&str| line.split_whitespace().next() == Some(term.name.as_str());
            assert_eq!(list.lines().filter(named).count(), 1, "{}", term.name);
        }
    }
}
