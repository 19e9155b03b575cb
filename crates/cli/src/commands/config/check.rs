//! `ctx config check`: shows every value in force, its source, and errors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ctx_core::ErrorCode;
use serde_json::Value;

use crate::arguments::{JsonArguments, non_empty_path};
use crate::config::Flags;
use crate::config::explain::{Note, State, ValueExplanation, ValueView, explain};
use crate::config::layer::PROVIDER;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text};

#[derive(Args, Debug)]
#[command(after_help = "Exits with 1 if there are errors.

Examples:
  ctx config check
  ctx config check --json | jq '.wrong'")]
pub struct Arguments {
    /// Project folder [default: the current one]
    #[arg(long, value_name = "DIR", value_parser = non_empty_path)]
    project: Option<PathBuf>,
    /// Configuration file [env: CTX_CONFIG] [default: ctx.toml in the home, and the project's]
    #[arg(long, value_name = "FILE", value_parser = non_empty_path)]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let folder = match arguments.project {
        Some(folder) if !folder.is_dir() => {
            return Err(Failure::new(ErrorCode::NoFolder, format!("no folder {}", folder.display()))
                .hint("--project must name the folder in which the agent works"));
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

fn render(explained: &ValueExplanation, output: &Output) -> String {
    let paint = &output.paint;
    let mut page = String::new();
    let mut left = explained.values.as_slice();
    while let Some(first) = left.first() {
        let section = section(&first.key);
        let number = left.iter().take_while(|value| self::section(&value.key) == section).count();
        let (here, others) = left.split_at(number);
        page.push_str(&format!("{}\n", paint.strong(&format!("[{section}]"))));
        page.push_str(&table(here, section, &explained.project).render(output));
        page.push('\n');
        left = others;
    }
    for skill in &explained.skills {
        let phases = skill.clear_after_phases.join(", ");
        let artifacts = skill.preserve_artifacts.join(", ");
        let added: Vec<String> = [("clears after", phases), ("preserves", artifacts)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {names}"))
            .collect();
        let path = shown(&skill.path, &explained.project);
        let words = format!("the skill {}, while active, also {} ({path})", skill.name, added.join(", and "));
        page.push_str(&format!("{}\n", text::line(&words)));
    }
    if !explained.skills.is_empty() {
        page.push('\n');
    }
    for file in &explained.files {
        let state = match file.state {
            State::Read => paint.good("read   "),
            State::Missing => paint.faint("missing"),
            State::Wrong => paint.bad("wrong  "),
        };
        page.push_str(&format!("{state} {}\n", text::line(&file.path.display().to_string())));
    }
    let lines = |page: &mut String, told: &[Note], level: &str| {
        for told in told {
            page.push_str(&format!("{level} {}\n", text::line(&sentence(told, &explained.project))));
        }
    };
    lines(&mut page, &explained.notes, &paint.warning("note   "));
    lines(&mut page, &explained.waiting, &paint.warning("waits  "));
    lines(&mut page, &explained.wrong, &paint.bad("wrong  "));
    if !explained.waiting.is_empty() {
        page.push_str("Some settings of this project need your trust: run `ctx trust`.\n");
    }
    page.push_str(&match explained.wrong.len() {
        0 => "No errors.\n".to_owned(),
        1 => "1 error. ".to_owned(),
        number => format!("{number} errors. "),
    });
    if !explained.starts {
        page.push_str("The daemon cannot start with these settings.\n");
    } else if !explained.healthy {
        page.push_str("Sections with errors are ignored; a running daemon keeps its previous settings.\n");
    }
    page
}

/// The section of a key.
fn section(key: &str) -> &str {
    [PROVIDER, "context_editing"]
        .into_iter()
        .find(|section| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.')))
        .unwrap_or_else(|| key.split('.').next().unwrap_or(key))
}

fn table(values: &[ValueView], section: &str, project: &Path) -> Table {
    let mut table = Table::new(&[Column::Left(""), Column::Left(""), Column::Flexible("")]);
    for value in values {
        let name = value.key.strip_prefix(section).unwrap_or(&value.key).trim_start_matches('.');
        let said = if value.line.is_none() { FAINT } else { PLAIN };
        let mut words = Cell::styled(&in_words(&value.value), PLAIN);
        if !value.about.is_empty() {
            words = words.then_safe("  ", PLAIN).then(value.about, FAINT);
        }
        table.row([Cell::indented(name, ID), Cell::styled(&whence(value, project), said), words]);
    }
    table
}

fn sentence(told: &Note, project: &Path) -> String {
    let Note { file, line, key, message } = told;
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("{}, line {line}: ", shown(file, project)),
        (Some(file), None) => format!("{}: ", shown(file, project)),
        // A note without a file starts with its key.
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

/// Paths of the project are relative to it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::explain::{FileView, SkillView};
    use serde_json::json;

    fn value(key: &str, value: Value, from: &str, line: Option<usize>) -> ValueView {
        ValueView { key: key.to_owned(), value, from: from.to_owned(), line, about: "what it is" }
    }

    #[test]
    fn the_page_tells_values_files_and_what_is_wrong() {
        let told = |file: Option<&str>, line, key: &str, message: &str| Note {
            file: file.map(PathBuf::from),
            line,
            key: Some(key.to_owned()),
            message: message.to_owned(),
        };
        let explained = ValueExplanation {
            healthy: false,
            starts: true,
            project: "/p".into(),
            files: vec![
                FileView { path: "/h/ctx.toml".into(), state: State::Wrong },
                FileView { path: "/p/.loa.config.yaml".into(), state: State::Read },
            ],
            values: vec![
                value("context_editing.mode", json!("on"), "/p/.loa.config.yaml", Some(2)),
                value("context_editing.clear_targets", json!(["a", "b"]), "default", None),
                value("context_editing.hook", Value::Null, "default", None),
                value(
                    "context_editing.artifacts.plans",
                    json!({"paths": ["*.md"], "tools": ["P"]}),
                    "/h/ctx.toml",
                    Some(7),
                ),
                value("context_editing.provider.compact.trigger", json!("80%"), "default", None),
                value("listen.address", json!("127.0.0.1:1"), "--listen", None),
            ],
            skills: vec![SkillView {
                name: "build".into(),
                path: "/p/.claude/skills/build/SKILL.md".into(),
                clear_after_phases: vec!["setup".into(), "coding".into()],
                preserve_artifacts: vec!["test_results".into()],
            }],
            wrong: vec![told(Some("/h/ctx.toml"), Some(3), "context_editing.x", "`x` is unknown")],
            waiting: vec![told(Some("/p/ctx.toml"), Some(2), "context_editing.mode", "`mode` waits")],
            notes: vec![told(None, None, "context_editing.target_percent", "it is odd")],
        };
        insta::assert_snapshot!(render(&explained, &Output::plain()), @r"
        [context_editing]
          mode             .loa.config.yaml:2  on  what it is
          clear_targets    default             a, b  what it is
          hook             default             -  what it is
          artifacts.plans  /h/ctx.toml:7       paths *.md; tools P  what it is

        [context_editing.provider]
          compact.trigger  default  80%  what it is

        [listen]
          address  --listen  127.0.0.1:1  what it is

        the skill build, while active, also clears after setup, coding, and preserves test_results (.claude/skills/build/SKILL.md)

        wrong   /h/ctx.toml
        read    /p/.loa.config.yaml
        note    context_editing.target_percent: it is odd
        waits   ctx.toml, line 2: `mode` waits
        wrong   /h/ctx.toml, line 3: `x` is unknown
        Some settings of this project need your trust: run `ctx trust`.
        1 error. Sections with errors are ignored; a running daemon keeps its previous settings.
        ");
    }
}
