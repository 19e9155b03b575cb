//! `ctx history`: lists the commits of a branch, newest first.

use std::process::ExitCode;

use clap::Args;
use ctx_api::history::HistoryView;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::commit;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, GOOD, ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text, words};

/// List commits: what changed, when, and by whom
#[derive(Args, Debug)]
#[command(
    after_help = "[off]: reverted or undone. [asleep]: the edited content left the conversation; the edit applies again if it
returns. [source changed]: the agent has rewritten the edited content.

Examples:
  ctx history
  ctx history --limit 5 --json | jq -r '.commits[0].id'"
)]
pub struct Arguments {
    /// List only the newest N commits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = arguments.limit.map_or("history".to_owned(), |limit| format!("history?limit={limit}"));
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        context.output.print(&render(&understood(&answer)?, ctx_service::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(history: &HistoryView, now: u64, output: &Output) -> String {
    let mut lines = match history.commits.is_empty() {
        true => format!("No commits on {} yet: requests pass unchanged.\n", history.branch),
        false => table(history, now).render(output),
    };
    let others: Vec<&str> =
        history.branches.iter().map(|branch| branch.name.as_str()).filter(|name| *name != history.branch).collect();
    if !others.is_empty() {
        let others = text::line(&others.join(", "));
        lines.push_str(&format!("On {}; other branches: {others}\n", text::line(&history.branch)));
    }
    lines
}

fn table(history: &HistoryView, now: u64) -> Table {
    let mut table = Table::new(&[
        Column::Left(" "),
        Column::Left("COMMIT"),
        Column::Left("WHEN"),
        Column::Left("BY"),
        Column::Right("TOKENS"),
        Column::Flexible("WHAT"),
    ])
    .dispensing(&["BY", "WHEN", "TOKENS"]);
    for commit in &history.commits {
        let is_head = history.head == Some(commit.id);
        let style = if commit.active { PLAIN } else { FAINT };
        table.row([
            Cell::styled(if is_head { "*" } else { "" }, GOOD),
            Cell::styled(&commit.id.to_string(), ID),
            words::ago(now, commit.at).into(),
            commit.author.as_str().into(),
            Cell::styled(&commit::tokens(commit), style),
            Cell::styled(&format!("{}{}", commit::names(commit), commit::in_words(commit)), style),
        ]);
        let whys = commit::whys(commit.note.as_deref(), &commit.operations, &commit.reasons);
        whys.iter().for_each(|why| table.remark(Cell::styled(why, FAINT)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str = r#"{"conversation":"c1","branch":"main","head":"00000000c3",
        "branches":[{"name":"main","head":"00000000c3","current":true,"commits":3},{"name":"trial","head":null,"current":false,"commits":0}],"tags":[{"name":"good","commit":"00000000a1","at":1000,"summary":"edited t2"}],
        "commits":[
        {"id":"00000000c3","parent":"00000000b2","at":125000,"author":"mcp","note":"too \u001b[2J long","kind":"edit","operations":[{"op":"delete","ids":["t3"]}],
         "reasons":["a dead end"],"reverts":[],"summary":"deleted t3 (412 tokens)","here":true,"active":true,"asleep":true,"source_changed":false,
         "tokens_before":18234,"tokens_after":17822,"branches":["main"],"tags":[]},
        {"id":"00000000b2","parent":"00000000a1","at":60000,"author":"cli","note":null,"kind":"edit","operations":[],"reasons":[],"reverts":[],
         "summary":"pinned t1","here":true,"active":false,"asleep":true,"source_changed":false,"tokens_before":18234,"tokens_after":18234,"branches":[],"tags":[]},
        {"id":"00000000a1","parent":null,"at":1000,"author":"cli","note":null,"kind":"edit","operations":[],"reasons":[],"reverts":[],
         "summary":"edited t2","here":true,"active":true,"asleep":false,"source_changed":true,"tokens_before":18500,"tokens_after":18234,
         "branches":[],"tags":["good"]}]}"#;

    #[test]
    fn commits_are_listed_with_what_is_odd_about_them() {
        let history = serde_json::from_str(HISTORY).expect("a history");
        insta::assert_snapshot!(render(&history, 126_000, &Output::plain()), @r"
           COMMIT      WHEN       BY            TOKENS  WHAT
        *  00000000c3  just now   mcp  18,234 → 17,822  (main) [asleep] deleted t3 (412 tokens)
            too \x1b[2J long
            delete t3: a dead end
           00000000b2  1 min ago  cli  18,234 → 18,234  [off] pinned t1
           00000000a1  2 min ago  cli  18,500 → 18,234  (tag good) [source changed] edited t2
        On main; other branches: trial
        ");
    }

    #[test]
    fn no_commit_is_no_empty_table() {
        let empty = r#"{"conversation":"c1","branch":"main","head":null,"branches":[],"tags":[],"commits":[]}"#;
        let history = serde_json::from_str(empty).expect("a history");
        assert!(render(&history, 0, &Output::plain()).starts_with("No commits on main yet"));
    }
}
