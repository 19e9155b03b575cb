//! `ctx compose`: shows the body that the provider would get if the newest request came again now.

use std::process::ExitCode;

use clap::Args;
use ctx_api::history::{CommitView, HistoryView};
use ctx_api::requests::CompositionView;
use ctx_wire::outline::{Outline, outline};
use serde_json::Value;

use super::change::repaired;
use crate::arguments::{AtArguments, ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::commit;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{text, words};

/// Show the request that would be sent now
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx compose --explain                  list edits and repairs, with the rules
  ctx compose --dump > body.json         the exact bytes
  ctx compose --dump --at 3f9a           the same, as of that commit")]
pub struct Arguments {
    /// Print only the exact bytes of the body
    #[arg(long, conflicts_with = "json")]
    dump: bool,
    /// List the differences from the agent's own request, with reasons
    #[arg(long, conflicts_with = "dump")]
    explain: bool,
    #[command(flatten)]
    at: AtArguments,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = arguments.at.of(if arguments.explain { "explain" } else { "compose" });
    let client = context.client()?;
    let body = client.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.dump {
        context.output.bytes(&body)?;
    } else if arguments.format.json {
        context.output.json(&body)?;
    } else if arguments.explain {
        let explained: CompositionView = understood(&body)?;
        let history: HistoryView = understood(&client.get(&of_conversation(&explained.conversation, "history"))?)?;
        context.output.print(&explanation(&explained, &history.commits))?;
    } else {
        context.output.print(&summary(&body))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(body: &[u8]) -> String {
    let Outline { messages, system, tools, settings } = outline(body);
    let size = words::bytes(body.len() as u64);
    let mut lines = format!("The request would have {size}: {}", words::plural(messages as u64, "message"));
    for (count, what) in [(system, "system block"), (tools, "tool")].into_iter().filter(|(count, _)| *count > 0) {
        lines.push_str(&format!(", {}", words::plural(count as u64, what)));
    }
    lines.push_str(".\n");
    for (name, json) in settings {
        lines.push_str(&format!("  {name}: {}\n", text::line(&plain(&json))));
    }
    lines.push_str("`ctx compose --dump` prints its exact bytes, `ctx sent r1 --dump` those of a sent request.\n");
    lines
}

/// Only the ids of commits on other branches are known.
fn explanation(explained: &CompositionView, commits: &[CommitView]) -> String {
    let tokens = words::plural(explained.tokens, "token");
    if explained.untouched {
        return format!("Unedited: {tokens}, byte for byte as the agent sends it.\n");
    }
    let mut lines = format!("Edited: {} → {tokens}.\n", words::count(explained.source_tokens));
    let mut remark = |remark: &str| lines.push_str(&format!("  {}\n", text::line(remark)));
    if !explained.commits.is_empty() {
        remark(&format!("by {}:", words::plural(explained.commits.len() as u64, "commit")));
    }
    for id in &explained.commits {
        let did = commits.iter().find(|commit| commit.id.to_string() == *id).map(commit::in_words).unwrap_or_default();
        lines.push_str(format!("    {}  {}", text::line(id), text::line(&did)).trim_end());
        lines.push('\n');
    }
    let mut remark = |remark: &str| lines.push_str(&format!("  {}\n", text::line(remark)));
    explained.repairs.iter().for_each(|repair| remark(&repaired(repair)));
    remark(&words::plural(explained.marks as u64, "cache breakpoint"));
    lines
}

/// A string without quotes, a number with grouped digits.
fn plain(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(Value::String(text)) => text,
        Ok(Value::Number(number)) => number.as_u64().map_or_else(|| json.to_owned(), words::count),
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_the_request_holds() {
        let body = br#"{"model":"claude-opus-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},
            "system":"You help.","tools":[{},{}],"messages":[{}]}"#;
        insta::assert_snapshot!(summary(body), @r#"
        The request would have 155 bytes: 1 message, 1 system block, 2 tools.
          model: claude-opus-5
          max_tokens: 32,000
          stream: true
          thinking: {"type":"adaptive"}
        `ctx compose --dump` prints its exact bytes, `ctx sent r1 --dump` those of a sent request.
        "#);
    }

    #[test]
    fn an_explanation_names_commits_and_repairs() {
        let json = r#"{"conversation":"c1","untouched":false,"repairs":[{"rule":"A30","what":"a result without its call went"}],
            "thinking_dropped":2,"marks":4,"tokens":17822,"source_tokens":18234,"commits":["00000000a1","00000000b2"]}"#;
        let explained = serde_json::from_str(json).expect("explained");
        let commit = r#"{"id":"00000000a1","parent":null,"at":0,"author":"cli","note":null,"kind":"edit","operations":[],
            "reasons":[],"reverts":[],"summary":"deleted t3 (4120 tokens)","here":true,"active":true,"asleep":false,
            "source_changed":false,"tokens_before":0,"tokens_after":0,"branches":[],"tags":[]}"#;
        let commit: CommitView = serde_json::from_str(commit).expect("a commit");
        let other = CommitView { id: "00000000c3".parse().expect("an id"), active: false, ..commit.clone() };
        let commits = [other, commit];
        insta::assert_snapshot!(explanation(&explained, &commits), @r"
        Edited: 18,234 → 17,822 tokens.
          by 2 commits:
            00000000a1  deleted t3 (4,120 tokens)
            00000000b2
          repaired by rule A30 (every tool call has its result): a result without its call went
          4 cache breakpoints
        ");
        let untouched = CompositionView { untouched: true, tokens: 7, ..CompositionView::default() };
        assert_eq!(explanation(&untouched, &[]), "Unedited: 7 tokens, byte for byte as the agent sends it.\n");
    }

    #[test]
    fn a_body_that_is_not_json_has_a_size_at_least() {
        assert!(summary(b"\xff\xfe").starts_with("The request would have 2 bytes: 0 messages."));
    }
}
