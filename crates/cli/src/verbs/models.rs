//! `ctx models`: prices, windows, and what caches ask for.

use std::process::ExitCode;

use clap::Args;
use ctx_composer::view::{ModelView, ModelsView};

use crate::arguments::JsonArguments;
use crate::client::understood;
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::paint::{FAINT, ID, PLAIN, WARNING};
use crate::terminal::table::{Cell, Column, Table};
use crate::terminal::{Output, words};

/// Show what is known of models: prices, windows, caches
#[derive(Args, Debug)]
#[command(
    after_help = "Prices are list prices in dollars for a million tokens: what is read afresh (IN), what is said (OUT), what the cache
is given for five minutes (5M) or an hour (1H), and what is read from it (READ). LEAST is the shortest prompt that is
cached at all. The provider's own context editing: `clear`, `compact`; `bound`: its thinking is bound to what stands
before it. A * stands where your settings differ: [models.\"NAME\"] in ctx.toml.

Examples:
  ctx models
  ctx models --json | jq '.models[] | select(.name == \"claude-opus-5-5\")'"
)]
pub struct Arguments {
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let answer = context.client()?.get("/models")?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        context.output.print(&render(&understood(&answer)?, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(models: &ModelsView, output: &Output) -> String {
    let mut table = Table::new(&[
        Column::Left("MODEL"),
        Column::Right("WINDOW"),
        Column::Right("IN"),
        Column::Right("OUT"),
        Column::Right("5M"),
        Column::Right("1H"),
        Column::Right("READ"),
        Column::Right("LEAST"),
        Column::Left("EDITING"),
    ])
    .dispensing(&["EDITING", "1H"]);
    for model in &models.models {
        table.row(row(model));
        if let (Some(above), Some(times)) = (model.dearer_above, model.dearer_times) {
            let above = words::count(above);
            table.remark(Cell::styled(&format!("{times} times as much for a prompt above {above} tokens"), FAINT));
        }
    }
    let is_set = models.models.iter().any(|model| !model.overridden.is_empty());
    let lifetimes: Vec<String> = models.lifetimes.iter().map(|seconds| format!("{} min", seconds / 60)).collect();
    let mut lines = table.render(output);
    lines.push_str(&format!(
        "Dollars for a million tokens, as of {}. A cache lives for {}; a mark looks back {} blocks.\n",
        models.as_of,
        lifetimes.join(" or "),
        models.look_back
    ));
    if is_set {
        lines.push_str("* your settings say otherwise than the table.\n");
    }
    lines
}

fn row(model: &ModelView) -> Vec<Cell> {
    let cell = |names: &[&str], text: String| {
        let is_set = names.iter().any(|name| model.overridden.iter().any(|other| other == name));
        match is_set {
            true => Cell::styled(&text, PLAIN).then("*", WARNING),
            false => text.into(),
        }
    };
    let price =
        |name: &str, price: Option<f64>| cell(&[name], price.map(|price| price.to_string()).unwrap_or_default());
    let tokens = |names: &[&str], count: Option<u64>| cell(names, count.map(words::short).unwrap_or_default());
    let abilities = [("clear", model.clearing), ("compact", model.compaction), ("bound", model.bound_thinking)];
    let abilities: Vec<&str> = abilities.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| *name).collect();
    vec![
        Cell::styled(&model.name, ID),
        tokens(&["window", "max_output"], model.window),
        price("input", model.input),
        price("output", model.output),
        price("write_5m", model.write_5m),
        price("write_1h", model.write_1h),
        price("read", model.read),
        cell(&["minimum"], model.minimum.map(words::count).unwrap_or_default()),
        cell(&["clearing", "compaction", "bound_thinking"], abilities.join(" ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::text;
    use ctx_wire::anthropic::models::{Models, Setting};

    fn view(models: &Models) -> ModelsView {
        ModelsView {
            as_of: models.as_of.clone(),
            lifetimes: models.lifetimes.clone(),
            look_back: models.look_back,
            models: models.list.iter().map(ModelView::from).collect(),
        }
    }

    #[test]
    fn the_table_fits_eighty_columns_and_tells_where_it_was_set_otherwise() {
        let mut models = Models::listed().clone();
        models.list.retain(|model| model.name.contains("haiku") || model.name.contains("opus-5-5"));
        let setting = Setting { input: Some(0.2), window: Some(200_000), ..Setting::default() };
        models.set("claude-haiku-5-5", &setting).expect("set");
        let shown = render(&view(&models), &Output::narrow(80));
        insta::assert_snapshot!(shown, @"");
        let all = render(&view(Models::listed()), &Output::narrow(80));
        let long: Vec<&str> = all.lines().filter(|line| text::width(line) > 80).collect();
        assert!(long.is_empty() && all.contains("bound") && !all.contains('*'), "{all}");
    }
}
