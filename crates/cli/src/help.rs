//! `ctx --help`: the verbs by purpose, each with an example.

use std::fmt::Write;

use clap::Command;

use crate::output::{Output, text};

/// The width if the terminal's is unknown.
const USUAL: usize = 100;
const INDENT: usize = 2;
/// The column of the descriptions.
const ABOUT: usize = 34;

type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// Verbs that are missing here appear in the last group.
const GROUPS: [Group; 9] = [
    (
        "Starting",
        &[
            ("demo", ""),
            ("init", ""),
            ("run", "-- claude"),
            ("ui", "--open"),
            ("install", "codex"),
            ("uninstall", "codex"),
            ("status-line", ""),
            ("mcp", ""),
        ],
    ),
    (
        "Inspecting",
        &[
            ("conversations", ""),
            ("list", "--steps"),
            ("show", "t3"),
            ("search", "'parser'"),
            ("compose", "--explain"),
            ("sent", "r17"),
            ("cat", "o-7f3a2c9104bd31aa"),
            ("timeline", ""),
            ("watch", ""),
            ("explain", "A65"),
        ],
    ),
    (
        "Editing",
        &[
            ("preview", "delete t3"),
            ("delete", "t2..t5"),
            ("edit", "'t3#0'"),
            ("compact", "t3 --text 'Fixed.'"),
            ("offload", "t3"),
            ("restore", "t3"),
            ("drop-results", "--tool Read"),
            ("summarize-results", "t3 --text 'Seven.'"),
            ("move", "t5 --after t2"),
            ("add", "--text 'Be brief.'"),
            ("import", "c3f9 t2"),
            ("combine", "t2 t3"),
            ("split", "t3 --each-step"),
            ("retitle", "t3 --title Fix"),
            ("pin", "t1"),
            ("unpin", "t1"),
            ("batch", "tidy.jsonl"),
            ("waiting", ""),
            ("phase", "begin testing"),
            ("heal", "--dry-run"),
        ],
    ),
    (
        "History",
        &[
            ("history", ""),
            ("diff", "source HEAD"),
            ("undo", ""),
            ("redo", ""),
            ("revert", "3f9a"),
            ("rollback", "3f9a"),
            ("branch", "trial"),
            ("checkout", "main"),
            ("tag", "good"),
        ],
    ),
    ("Planning", &[("plan", "tidy.json"), ("lab", "run --on DIR")]),
    ("Costs", &[("stats", "--by day"), ("why-miss", ""), ("models", "")]),
    (
        "Daemon",
        &[
            ("up", ""),
            ("service", "install"),
            ("status", ""),
            ("stop", ""),
            ("doctor", ""),
            ("config", "check"),
            ("trust", ""),
            ("helper", "test"),
            ("export", ""),
            ("purge", "--older-than 30"),
            ("store", "check"),
        ],
    ),
    (
        "Team",
        &[
            ("login", "https://ctx.example.com"),
            ("logout", ""),
            ("people", "add anna"),
            ("keys", "new anna"),
            ("share", "bob"),
            ("audit", "list"),
        ],
    ),
    ("Shell", &[("completions", "bash"), ("man", "DIR")]),
];

const OTHERS: &str = "More";

/// Global options: `ctx --help` lists them, and the help of verbs does not repeat them.
const GLOBAL: [&str; 4] = ["home", "listen", "gateway", "version"];

/// The command with grouped help.
pub fn grouped(command: Command, output: &Output) -> Command {
    let mut command = command.mut_subcommands(|verb| verb.disable_help_subcommand(true));
    // Building propagates the global options to the verbs.
    command.build();
    let command = command.mut_subcommands(without_global).mut_subcommands(in_flowing_text);
    let width = output.width.unwrap_or(USUAL).min(USUAL);
    let page = page(&command, width, output);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{page}{}\n{{options}}{{after-help}}",
        output.paint.strong("Global options:")
    ))
}

/// Hides the global options in the help of a verb.
fn without_global(verb: Command) -> Command {
    let hidden = verb.mut_args(|option| {
        let is_global = GLOBAL.contains(&option.get_id().as_str());
        if is_global { option.hide(true) } else { option }
    });
    hidden.mut_subcommands(without_global)
}

/// Joins the lines of the closing paragraphs, so that they are wrapped once, to the terminal's width.
fn in_flowing_text(verb: Command) -> Command {
    let verb = verb.mut_subcommands(in_flowing_text);
    match verb.get_after_help().map(|words| flowing(&words.ansi().to_string())) {
        Some(words) => verb.after_help(words),
        None => verb,
    }
}

/// Joins the lines of each paragraph. Indented lines are examples and stay unchanged.
fn flowing(words: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut joined = String::with_capacity(words.len());
    let mut before = "";
    for (number, line) in words.lines().enumerate() {
        let goes_on = is_prose(before) && is_prose(line);
        joined.push_str(if number == 0 {
            ""
        } else if goes_on {
            " "
        } else {
            "\n"
        });
        joined.push_str(line);
        before = line;
    }
    joined
}

fn page(command: &Command, width: usize, output: &Output) -> String {
    let mut page = String::new();
    let mut left: Vec<&Command> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    left.retain(|verb| verb.get_name() != "help");
    for (heading, verbs) in GROUPS {
        let mut lines = String::new();
        for (name, example) in verbs {
            let Some(at) = left.iter().position(|verb| verb.get_name() == *name) else { continue };
            lines.push_str(&line(left.remove(at), example, width, output));
        }
        write_group(&mut page, heading, &lines, output);
    }
    let lines: String = left.into_iter().map(|verb| line(verb, "", width, output)).collect();
    write_group(&mut page, OTHERS, &lines, output);
    page
}

fn write_group(page: &mut String, heading: &str, lines: &str, output: &Output) {
    if !lines.is_empty() {
        let _ = write!(page, "{}\n{lines}\n", output.paint.strong(&format!("{heading}:")));
    }
}

/// The line of a verb: example and description.
fn line(verb: &Command, example: &str, width: usize, output: &Output) -> String {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let typed = format!("ctx {} {example}", verb.get_name());
    let typed = typed.trim_end();
    let painted = format!("ctx {}", output.paint.id(verb.get_name())) + &output.paint.faint(rest(typed, verb));
    let used = INDENT + text::width(typed);
    // Next to the example if there is space, otherwise below it.
    let is_beside = used + 2 <= ABOUT && ABOUT + 30 <= width;
    let start = if is_beside { ABOUT } else { INDENT * 3 };
    let joint = if is_beside { " ".repeat(ABOUT - used) } else { format!("\n{}", " ".repeat(start)) };
    let about = text::wrap(&about, width.saturating_sub(start)).join(&format!("\n{}", " ".repeat(start)));
    format!("{}{painted}{joint}{about}\n", " ".repeat(INDENT))
}

/// The arguments after the verb.
fn rest<'a>(typed: &'a str, verb: &Command) -> &'a str {
    typed.strip_prefix("ctx ").and_then(|typed| typed.strip_prefix(verb.get_name())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::arguments::Cli;

    fn help(width: usize) -> String {
        let command = Cli::command().term_width(width);
        grouped(command, &Output::narrow(width)).render_help().to_string()
    }

    #[test]
    fn every_verb_stands_in_one_group() {
        let help = help(100);
        for verb in Cli::command().get_subcommands() {
            let said = |line: &&str| line.split(' ').filter(|word| !word.is_empty()).nth(1) == Some(verb.get_name());
            let lines: Vec<&str> = help.lines().filter(|line| line.starts_with("  ctx ")).filter(said).collect();
            assert_eq!(lines.len(), 1, "{}: {help}", verb.get_name());
        }
        assert!(!help.contains(OTHERS), "every verb has its place: {help}");
        for heading in ["Inspecting:", "Editing:", "History:", "Daemon:", "Global options:"] {
            assert!(help.contains(heading), "{heading} {help}");
        }
    }

    #[test]
    fn every_operation_has_the_help_of_the_registry() {
        let command = Cli::command();
        for operation in ctx_api::operations::OPERATIONS {
            let verb = command.find_subcommand(operation.name).expect(operation.name);
            let about = verb.get_about().expect("help").to_string();
            assert!(about.starts_with(operation.help), "{}: {about}", operation.name);
        }
    }

    #[test]
    fn hints_name_commands_that_exist() {
        use ctx_core::hint::Command as Hinted;
        let command = Cli::command();
        for hinted in Hinted::ALL.iter().filter(|hinted| ![Hinted::Version, Hinted::Operations].contains(hinted)) {
            let whole = hinted.words();
            let mut words = whole.split(' ');
            let verb = words.next().and_then(|verb| command.find_subcommand(verb)).expect(whole);
            for rest in words {
                let is_flag = verb.get_arguments().any(|flag| flag.get_long() == rest.strip_prefix("--"));
                let is_value = verb
                    .get_positionals()
                    .any(|position| position.get_possible_values().iter().any(|value| value.get_name() == rest));
                assert!(is_flag || is_value || verb.find_subcommand(rest).is_some(), "{whole}");
            }
        }
    }

    #[test]
    fn the_options_of_every_verb_are_listed_once_and_still_taken() {
        let top = help(100);
        let mut command = grouped(Cli::command(), &Output::plain());
        for name in ["--home", "--listen", "--gateway"] {
            assert!(top.contains(name), "{top}");
            for verb in ["list", "show", "waiting"] {
                let help = command.find_subcommand_mut(verb).expect("a verb").render_long_help().to_string();
                assert!(help.contains("--json") && !help.contains(name), "{verb}: {help}");
            }
        }
        let waiting = command.find_subcommand_mut("waiting").expect("a verb").render_long_help().to_string();
        assert!(waiting.contains("ctx waiting accept ID") && waiting.contains("ctx waiting cancel ID"), "{waiting}");
        let check = command.find_subcommand_mut("config").and_then(|verb| verb.find_subcommand_mut("check"));
        assert!(!check.expect("a verb").render_long_help().to_string().contains("--home"));
        let line = ["ctx", "list", "--home", "x", "--listen", "127.0.0.1:9"];
        assert!(command.try_get_matches_from(line).is_ok());
    }

    #[test]
    fn the_page_fits_the_terminal() {
        for width in [60, 80, 100] {
            let help = help(width);
            let long: Vec<&str> = help.lines().filter(|line| text::width(line) > width).collect();
            assert!(long.is_empty(), "{width}: {long:?}");
        }
    }

    #[test]
    fn the_help_of_a_command_fits_a_screen_and_ends_with_a_few_examples() {
        let command = grouped(Cli::command().term_width(100), &Output::narrow(100));
        let mut paths: Vec<Vec<String>> = Vec::new();
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let name = verb.get_name().to_owned();
            let parts = verb.get_subcommands().filter(|_| name != "preview");
            paths.extend(parts.map(|part| vec![name.clone(), part.get_name().to_owned()]));
            paths.push(vec![name.clone()]);
        }
        for path in paths {
            let line = std::iter::once("ctx").chain(path.iter().map(String::as_str)).chain(["--help"]);
            let help = command.clone().try_get_matches_from(line).expect_err("help").to_string();
            assert!(help.lines().count() <= 40, "{help}");
            let examples = help.split("\nExample").nth(1).unwrap_or_default().lines().skip(1);
            let count = examples.filter(|line| line.starts_with("  ")).count();
            assert!((1..=3).contains(&count), "{help}");
        }
    }

    #[test]
    fn the_words_below_the_options_are_wrapped_once() {
        fn check(verb: &mut Command, width: usize) {
            let help = verb.render_long_help().to_string();
            let after = help.split_once("Print help").map_or("", |(_, after)| after);
            let prose: Vec<&str> = after.lines().skip(1).collect();
            for pair in prose.windows(2) {
                let [line, next] = pair else { continue };
                let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
                if !is_text(line) || !is_text(next) {
                    continue;
                }
                let word = next.split(' ').next().unwrap_or_default();
                assert!(text::width(line) + 1 + text::width(word) > width, "broken twice: {line}\n{next}");
            }
            verb.get_subcommands_mut().for_each(|verb| check(verb, width));
        }
        for width in [60, 80, 100] {
            let command = Cli::command().term_width(width);
            let mut command = grouped(command, &Output::narrow(width));
            command.get_subcommands_mut().for_each(|verb| check(verb, width));
        }
        assert_eq!(flowing("a\nb\n\nc:\n  d\n  e\nf"), "a b\n\nc:\n  d\n  e\nf");
    }

    /// The words of a line. Handles quotes like a shell, and nothing else.
    fn words(line: &str) -> Vec<&str> {
        let pieces = line.split('\'').enumerate().map(|(number, piece)| match number % 2 {
            0 => piece.split_whitespace().collect(),
            _ => vec![piece],
        });
        pieces.collect::<Vec<_>>().concat()
    }

    /// The commands in the blocks of a page, without comments, variables, and what follows a pipe.
    fn commands(page: &str) -> Vec<&str> {
        let blocks = page.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
        let shell = blocks.filter(|(kind, _)| ["console", "sh"].contains(kind)).flat_map(|(kind, block)| {
            block.lines().filter_map(move |line| if kind == "console" { line.strip_prefix("$ ") } else { Some(line) })
        });
        let ends = [" #", " | ", " > ", " < ", " && ", " 2>"];
        let alone =
            shell.map(move |line| ends.iter().filter_map(|end| line.find(end)).min().map_or(line, |end| &line[..end]));
        alone.filter(|line| line.starts_with("ctx ") && !line.contains(['…', '\\', '$', '"'])).collect()
    }

    #[test]
    fn every_command_in_the_documentation_can_be_typed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).expect("docs").flatten().map(|entry| entry.path());
        let pages = docs.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|ext| ext == "md"));
        let mut count = 0;
        for path in pages {
            let page = std::fs::read_to_string(&path).expect("a page");
            for line in commands(&page) {
                count += 1;
                match Cli::try_parse_from(words(line)) {
                    Ok(_) => {}
                    // Help and version end the program too.
                    Err(error) if !error.use_stderr() => {}
                    Err(error) => panic!("{}: {line}: {error}", path.display()),
                }
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn every_example_can_be_typed() {
        let known = Cli::command();
        for (name, example) in GROUPS.iter().flat_map(|(_, verbs)| *verbs) {
            if known.find_subcommand(name).is_none() {
                continue;
            }
            let words = words(example);
            let line: Vec<&str> = ["ctx", name].into_iter().chain(words).collect();
            Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        }
    }
}
