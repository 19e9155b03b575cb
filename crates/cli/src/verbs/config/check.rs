//! `ctx config check`: every value in force, where it was said, and what is wrong.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::arguments::{JsonArguments, non_empty_path};
use crate::config::Flags;
use crate::config::explain::{Explained, State, Told, ValueView, explain};
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::paint::{FAINT, ID, PLAIN};
use crate::terminal::table::{Cell, Column, Table};
use crate::terminal::{Output, text};

#[derive(Args, Debug)]
#[command(after_help = "The exit code is 1 if something is wrong.

Examples:
  ctx config check
  ctx config check --json | jq '.wrong'")]
pub struct Arguments {
    /// The project's folder [default: the current one]
    #[arg(long, value_name = "DIR", value_parser = non_empty_path)]
    project: Option<PathBuf>,
    /// The configuration file [env: CTX_CONFIG] [default: ctx.toml in the project, then in the home]
    #[arg(long, value_name = "FILE", value_parser = non_empty_path)]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let folder = match arguments.project {
        Some(folder) if !folder.is_dir() => {
            return Err(Failure::new("no-folder", format!("there is no folder {}", folder.display()))
                .hint("--project names the folder in which the agent works"));
        }
        Some(folder) => std::path::absolute(&folder).map_err(|error| Failure::file("find", &folder, &error))?,
        None => std::env::current_dir().unwrap_or_default(),
    };
    let flags = Flags { listen: context.place.listen, config: arguments.config, ..Flags::default() };
    let explained = explain(&flags, &context.environment, &context.home()?, &folder);
    if arguments.format.json {
        context.output.json(serde_json::to_string(&explained).unwrap_or_default().as_bytes())?;
    } else {
        context.output.print(&render(&explained, &context.output))?;
    }
    Ok(if explained.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn render(explained: &Explained, output: &Output) -> String {
    let paint = &output.paint;
    let mut page = String::new();
    let mut table = Table::new(&[
        Column::Left("KEY"),
        Column::Flexible("VALUE"),
        Column::Flexible("FROM"),
        Column::Flexible("WHAT IT IS"),
    ])
    .dispensing(&["WHAT IT IS"]);
    for value in &explained.values {
        let said = if value.from == "default" { FAINT } else { PLAIN };
        table.row([
            Cell::styled(&value.key, ID),
            Cell::styled(&in_words(&value.value), said),
            Cell::styled(&whence(value, &explained.project), said),
            Cell::styled(value.about, FAINT),
        ]);
    }
    page.push_str(&table.render(output));
    for skill in &explained.skills {
        let phases = skill.clear_after_phases.join(", ");
        let artifacts = skill.preserve_artifacts.join(", ");
        let added: Vec<String> = [("clears after", phases), ("preserves", artifacts)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {names}"))
            .collect();
        let path = shown(&skill.path, &explained.project);
        let words = format!("while the skill {} is active, it also {} ({path})", skill.name, added.join(", and "));
        page.push_str(&format!("{}\n", text::line(&words)));
    }
    page.push('\n');
    for file in &explained.files {
        let state = match file.state {
            State::Read => paint.good("read   "),
            State::Missing => paint.faint("missing"),
            State::Wrong => paint.bad("wrong  "),
        };
        page.push_str(&format!("{state} {}\n", text::line(&file.path.display().to_string())));
    }
    let lines = |page: &mut String, told: &[Told], level: &str| {
        for told in told {
            page.push_str(&format!("{level} {}\n", text::line(&sentence(told, &explained.project))));
        }
    };
    lines(&mut page, &explained.notes, &paint.warning("note   "));
    lines(&mut page, &explained.wrong, &paint.bad("wrong  "));
    page.push_str(&match explained.wrong.len() {
        0 => "Nothing is wrong.\n".to_owned(),
        number => {
            let are = if number == 1 { "1 thing is" } else { &format!("{number} things are") };
            format!(
                "{are} wrong. A section with something wrong does not count; a daemon that runs keeps what it said before.\n"
            )
        }
    });
    page
}

fn sentence(told: &Told, project: &Path) -> String {
    let Told { file, line, key, message } = told;
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("{}, line {line}: ", shown(file, project)),
        (Some(file), None) => format!("{}: ", shown(file, project)),
        // What belongs to no file names its key.
        (None, _) => key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default(),
    };
    format!("{place}{message}")
}

fn whence(value: &ValueView, project: &Path) -> String {
    match value.line {
        Some(line) => format!("{}:{line}", shown(Path::new(&value.from), project)),
        None => value.from.clone(),
    }
}

/// Files of the project are named from there.
fn shown(path: &Path, project: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).display().to_string()
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name} {}", in_words(value));
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
