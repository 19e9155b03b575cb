//! `ctx why-miss`: explains cache misses, and reports the accuracy of the cache forecast.

use std::process::ExitCode;

use clap::Args;
use ctx_api::cache::{By, CacheMiss, MissView, Misses};

use crate::arguments::{ConversationArguments, JsonArguments, request_name};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, ID, WARNING};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};

/// Explain misses of the provider's cache
#[derive(Args, Debug)]
#[command(
    after_help = "EXPECTED is ctx's forecast of the tokens that the provider reads from its cache, READ the provider's report. ANEW counts
cacheable tokens that it processed again. BY names the cause: the client, the user, an agent, a policy or the provider.

Examples:
  ctx why-miss
  ctx why-miss r12 --conv c3f9
  ctx why-miss --json | jq '.misses[].miss.words'"
)]
pub struct Arguments {
    /// Request, such as r12 [default: the newest misses]
    #[arg(value_name = "REQUEST", value_parser = request_name)]
    request: Option<u32>,
    /// Show at most N misses
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut question = format!("misses?limit={}", arguments.limit);
    if let Some(request) = arguments.request {
        question.push_str(&format!("&request={request}"));
    }
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let is_one = arguments.request.is_some();
        context.output.print(&render(&understood(&answer)?, is_one, ctx_service::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(found: &Misses, is_one: bool, now: u64, output: &Output) -> String {
    let mut lines = String::new();
    if found.misses.is_empty() {
        lines.push_str("No cached content was read again.\n");
    } else {
        let mut table = Table::new(&[
            Column::Right("REQUEST"),
            Column::Left("WHEN"),
            Column::Right("EXPECTED"),
            Column::Right("READ"),
            Column::Right("ANEW"),
            Column::Left("CAUSE"),
            Column::Left("BY"),
            Column::Left("WHERE"),
        ])
        .dispensing(&["WHEN", "BY"]);
        for view in &found.misses {
            table.row(row(view, now));
            let words = view.miss.as_ref().map_or("No cached content was read again.", |miss| &miss.words);
            table.remark(Cell::styled(words, FAINT));
        }
        lines.push_str(&table.render(output));
    }
    if found.more > 0 && !is_one {
        lines
            .push_str(&format!("{}\n", output.paint.faint(&format!("… {} more: --limit N", words::count(found.more)))));
    }
    lines.push_str(&match found.foreseen {
        0 => "No forecast yet: it needs a response to a request with cache breakpoints.\n".to_owned(),
        all => format!(
            "The forecast was right within 5% for {} of {} ({}%).\n",
            words::count(found.came_true),
            words::plural(all, "request"),
            found.came_true * 100 / all
        ),
    });
    lines
}

fn row(view: &MissView, now: u64) -> Vec<Cell> {
    let miss = view.miss.as_ref();
    let text = |of: fn(&CacheMiss) -> Option<String>| miss.and_then(of).unwrap_or_default();
    vec![
        Cell::styled(&format!("r{}", view.request), ID),
        words::ago(now, view.at).into(),
        view.expected.map(words::count).unwrap_or_default().into(),
        words::count(view.read).into(),
        miss.map(|miss| words::count(miss.tokens)).unwrap_or_default().into(),
        Cell::styled(&text(|miss| Some(cause(miss))), WARNING),
        text(|miss| Some(by(miss.by).to_owned())).into(),
        Cell::styled(&text(|miss| miss.place.clone()), ID),
    ]
}

fn cause(miss: &CacheMiss) -> String {
    let name = serde_json::to_value(miss.cause).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().replace('-', " ")
}

fn by(by: By) -> &'static str {
    match by {
        By::Client => "client",
        By::User => "user",
        By::Agent => "agent",
        By::Policy => "policy",
        By::Provider => "provider",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses() -> Misses {
        let json = r#"{"conversation":"c1","foreseen":41,"came_true":40,"more":3,"misses":[
            {"request":12,"at":1000,"expected":5200,"read":5210,"prompt":18000,"miss":{"cause":"edited","by":"user",
             "place":"t2/1","commit":"00000000a1","tokens":12345,"idle_seconds":null,"ttl_seconds":null,
             "words":"Commit 00000000a1 by cli changed t2/1; everything after the change is read again once."}},
            {"request":9,"at":500,"expected":null,"read":0,"prompt":900,"miss":null}]}"#;
        serde_json::from_str(json).expect("misses")
    }

    #[test]
    fn a_miss_is_told_with_its_cause() {
        insta::assert_snapshot!(render(&misses(), false, 121_000, &Output::plain()), @r"
        REQUEST  WHEN       EXPECTED   READ    ANEW  CAUSE   BY    WHERE
            r12  2 min ago     5,200  5,210  12,345  edited  user  t2/1
            Commit 00000000a1 by cli changed t2/1; everything after the change is read again once.
             r9  2 min ago                0
            No cached content was read again.
        … 3 more: --limit N
        The forecast was right within 5% for 40 of 41 requests (97%).
        ");
        let narrow = render(&misses(), false, 121_000, &Output::narrow(80));
        assert!(narrow.lines().take(2).all(|line| crate::output::text::width(line) <= 80), "{narrow}");
    }

    #[test]
    fn where_nothing_was_missed_that_is_said() {
        let none = Misses { misses: Vec::new(), more: 0, foreseen: 0, ..misses() };
        let told = render(&none, false, 0, &Output::plain());
        assert!(told.starts_with("No cached content") && told.contains("No forecast yet"), "{told}");
    }
}
