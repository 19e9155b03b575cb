//! `ctx stats`: shows usage, costs and savings.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_api::stats::{GroupView, Grouping, Spending, Stats};

use crate::arguments::{JsonArguments, non_empty};
use crate::client::{encoded, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::bar::sparkline;
use crate::output::paint::{BAD, FAINT, GOOD, ID, PLAIN, STRONG};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, date, text, words};

/// The default number of rows.
const USUAL: usize = 30;

/// Show usage, costs and savings
#[derive(Args, Debug)]
#[command(
    after_help = "INPUT is uncached, READ is read from the provider's cache, WRITTEN is written to it. COST uses list prices (`ctx models`).
SAVED is the cost of the same requests without edits, minus COST; it is negative just after an edit, when part of the cache
is lost. CLEARED counts tokens that the provider itself cleared. Days are in UTC. In a team, `--by person` and `--by group` show
all people to auditors and admins, and you to others; who is in several groups counts in each, and once in the sum.

Examples:
  ctx stats --by day --since 7d
  ctx stats --by person --since 30d
  ctx stats --by project --since 2026-11-01 --csv > november.csv"
)]
pub struct Arguments {
    /// Group by
    #[arg(long, value_enum, default_value_t = By::Conversation)]
    by: By,
    /// Start at this day (2026-11-01), or this long ago (7d, 24h)
    #[arg(long, value_name = "WHEN", value_parser = date::since)]
    since: Option<date::Since>,
    /// Only this conversation: an id, the start of one, words of its title, or `active`
    #[arg(long = "conv", value_name = "ID", value_parser = non_empty)]
    conversation: Option<String>,
    /// In a team: the figures of all people, for auditors and admins
    #[arg(long, conflicts_with = "conversation")]
    everyone: bool,
    /// Show all rows, not only the 30 newest or most expensive
    #[arg(long)]
    all: bool,
    /// Print CSV with all rows
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Conversation,
    Project,
    Day,
    Request,
    Model,
    Person,
    Group,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Conversation => "conversation",
            By::Project => "project",
            By::Day => "day",
            By::Request => "request",
            By::Model => "model",
            By::Person => "person",
            By::Group => "group",
        }
    }
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut question = format!("/stats?by={}", arguments.by.name());
    if let Some(since) = &arguments.since {
        question.push_str(&format!("&since={}", since.at(ctx_service::now())));
    }
    if let Some(conversation) = &arguments.conversation {
        question.push_str(&format!("&conv={}", encoded(conversation, "")));
    }
    if arguments.everyone {
        question.push_str("&everyone=true");
    }
    if !arguments.csv && !arguments.format.json && !arguments.all {
        question.push_str(&format!("&limit={USUAL}"));
    }
    let answer = context.client()?.get(&question)?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else if arguments.csv {
        context.output.print_lines(&csv(&understood(&answer)?))?;
    } else {
        context.output.print(&render(&understood(&answer)?, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(stats: &Stats, output: &Output) -> String {
    if stats.total.requests == 0 {
        return "No matching request has a response.\n".to_owned();
    }
    let heading = match stats.by {
        Grouping::Conversation => "CONVERSATION",
        Grouping::Project => "PROJECT",
        Grouping::Day => "DAY",
        Grouping::Request => "REQUEST",
        Grouping::Model => "MODEL",
        Grouping::Person => "PERSON",
        Grouping::Group => "GROUP",
    };
    let mut table = Table::new(&[
        Column::Left(heading),
        Column::Right("REQUESTS"),
        Column::Right("INPUT"),
        Column::Right("READ"),
        Column::Right("WRITTEN"),
        Column::Right("OUTPUT"),
        Column::Right("COST"),
        Column::Right("SAVED"),
        Column::Right("CLEARED"),
        Column::Flexible(match stats.by {
            Grouping::Conversation => "TITLE",
            Grouping::Request => "MODEL",
            Grouping::Project | Grouping::Day | Grouping::Model | Grouping::Person | Grouping::Group => "",
        }),
    ])
    .dispensing(&["MODEL", "TITLE", "CLEARED", "REQUESTS"]);
    for group in &stats.groups {
        let about = group.title.as_deref().or(group.model.as_deref()).unwrap_or_default();
        table.row(row(Cell::styled(&name(group, stats.by), ID), &group.spent, about));
    }
    if stats.groups.len() + stats.more > 1 {
        let about = match stats.more {
            0 => String::new(),
            more => format!("and {} not shown (--all)", words::count(more as u64)),
        };
        table.row(row(Cell::styled("all", STRONG), &stats.total, &about));
    }
    let mut lines = table.render(output);
    lines.push_str(&remarks(stats, output));
    lines
}

fn name(group: &GroupView, by: Grouping) -> String {
    // The number of the timeline.
    if let Some((conversation, number)) =
        group.key.as_deref().filter(|_| by == Grouping::Request).and_then(|key| key.rsplit_once('/'))
    {
        return format!("{} r{number}", text::line(conversation));
    }
    // The end of a path is more specific than its beginning.
    const MOST: usize = 30;
    let Some(key) = &group.key else {
        return if by == Grouping::Group { "(no group)" } else { "(unknown)" }.to_owned();
    };
    let key = text::line(key);
    match key.chars().count().checked_sub(MOST) {
        Some(gone) if gone > 0 && key.contains('/') => format!("…{}", key.chars().skip(gone + 1).collect::<String>()),
        _ => key,
    }
}

fn row(name: Cell, spent: &Spending, about: &str) -> Vec<Cell> {
    let cost = match spent.unpriced == spent.requests {
        true => "unknown".to_owned(),
        false => format!("{}{}", if spent.nearest > 0 { "≈" } else { "" }, words::dollars(spent.cost)),
    };
    let saved = match spent.saved {
        saved if saved > 0.0 => Cell::styled(&words::dollars(saved), GOOD),
        saved if saved < 0.0 => Cell::styled(&words::dollars(saved), BAD),
        _ => Cell::styled("", PLAIN),
    };
    let cleared = if spent.cleared > 0 { words::short(spent.cleared) } else { String::new() };
    vec![
        name,
        words::count(spent.requests).into(),
        words::short(spent.input).into(),
        words::short(spent.cache_read).into(),
        words::short(spent.cache_write).into(),
        words::short(spent.output).into(),
        cost.into(),
        saved,
        cleared.into(),
        Cell::styled(about, FAINT),
    ]
}

fn remarks(stats: &Stats, output: &Output) -> String {
    let mut lines = String::new();
    if let [first, .., last] = stats.days.as_slice() {
        let costs: Vec<f64> = stats.days.iter().map(|day| day.cost).collect();
        let room = output.width.unwrap_or(80).saturating_sub(40).clamp(10, 60);
        lines.push_str(&format!("Cost by day  {}  {} to {}\n", sparkline(&costs, room), first.day, last.day));
    }
    let mut remark = |number: u64, what: &str| {
        if number > 0 {
            lines
                .push_str(&format!("{}\n", output.paint.faint(&format!("{}{what}", words::plural(number, "request")))));
        }
    };
    let total = &stats.total;
    remark(total.nearest, " to unknown models: ≈ priced as the nearest of their family.");
    remark(total.unpriced, " to models without a known price: not counted in COST.");
    remark(total.unweighed, " edited before savings were recorded: not counted in SAVED.");
    if stats.skipped > 0 {
        let skipped = words::plural(stats.skipped, "record");
        lines.push_str(&format!("{skipped} could not be read; `ctx doctor` has details.\n"));
    }
    lines
}

fn csv(stats: &Stats) -> String {
    let mut lines = "key,title,model,at,requests,input,cache_read,cache_write,output,cleared,removed,cost,saved,nearest,unpriced,unweighed,clearings\n".to_owned();
    for group in &stats.groups {
        let Spending {
            requests,
            input,
            cache_read,
            cache_write,
            output,
            cleared,
            clearings,
            removed,
            cost,
            saved,
            nearest,
            unpriced,
            unweighed,
        } = group.spent;
        let [key, title, model] =
            [&group.key, &group.title, &group.model].map(|text| quoted(text.as_deref().unwrap_or_default()));
        let at = group.at;
        // Unknown is not zero.
        let money = |amount: f64| if unpriced == requests { String::new() } else { amount.to_string() };
        let (cost, saved) = (money(cost), money(saved));
        lines.push_str(&format!(
            "{key},{title},{model},{at},{requests},{input},{cache_read},{cache_write},{output},{cleared},{removed},{cost},{saved},{nearest},{unpriced},{unweighed},{clearings}\n"
        ));
    }
    lines
}

/// A field that a spreadsheet reads as text.
fn quoted(field: &str) -> String {
    let field = text::line(field);
    let is_formula = field.starts_with(['=', '+', '-', '@']);
    match is_formula || field.contains([',', '"']) {
        true => format!("\"{}{}\"", if is_formula { "'" } else { "" }, field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats() -> Stats {
        let spent = r#""input":1200,"cache_read":9123456,"cache_write":45000,"output":812,"cleared":0,"removed":0,"nearest":0,"unpriced":0,"unweighed":0"#;
        let json = format!(
            r#"{{"by":"conversation","since":null,"prices_as_of":"2026-11-15","more":2,"skipped":1,
            "groups":[{{"key":"c3f9a1","title":"Fix, the \u001b[31mparser","model":null,"at":5,"requests":12,"cost":2.5,"saved":-0.012,{spent}}},
              {{"key":"c77","title":"=2+3","model":null,"at":6,"requests":1,"cost":0.0004,"saved":0.5,{}}}],
            "total":{{"requests":1013,"cost":123.456,"saved":0.488,{}}},
            "days":[{{"day":"2026-11-13","cost":1.0}},{{"day":"2026-11-14","cost":0.0}},{{"day":"2026-11-15","cost":8.0}}]}}"#,
            spent.replace("\"nearest\":0", "\"nearest\":1"),
            spent.replace("\"nearest\":0", "\"nearest\":1").replace("\"cleared\":0", "\"cleared\":52000"),
        );
        serde_json::from_str(&json).expect("stats")
    }

    #[test]
    fn money_is_told_in_a_table_that_fits() {
        insta::assert_snapshot!(render(&stats(), &Output::plain()), @r"
        CONVERSATION  REQUESTS  INPUT  READ  WRITTEN  OUTPUT      COST    SAVED  CLEARED  TITLE
        c3f9a1              12   1.2K  9.1M      45K     812     $2.50  -$0.012           Fix, the \x1b[31mparser
        c77                  1   1.2K  9.1M      45K     812  ≈$0.0004   $0.500           =2+3
        all              1,013   1.2K  9.1M      45K     812  ≈$123.46   $0.488      52K  and 2 not shown (--all)
        Cost by day  ▂▁█  2026-11-13 to 2026-11-15
        1 request to unknown models: ≈ priced as the nearest of their family.
        1 record could not be read; `ctx doctor` has details.
        ");
        let narrow = render(&stats(), &Output::narrow(80));
        let table: Vec<&str> = narrow.lines().take(4).collect();
        assert!(table.iter().all(|line| text::width(line) <= 80), "{narrow}");
        assert!(table[0].contains("SAVED") && table[0].contains("READ"), "{narrow}");
    }

    #[test]
    fn a_spreadsheet_gets_every_figure_and_no_formula() {
        let csv = csv(&stats());
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with(r#"c3f9a1,"Fix, the \x1b[31mparser",,5,12,1200,9123456,"#), "{csv}");
        assert!(lines[2].starts_with(r#"c77,"'=2+3",,6,1,"#), "{csv}");
    }

    #[test]
    fn where_nothing_was_asked_that_is_said() {
        let mut stats = stats();
        stats.total = Spending::default();
        assert!(render(&stats, &Output::plain()).contains("No matching request"));
    }
}
