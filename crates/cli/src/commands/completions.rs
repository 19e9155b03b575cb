//! `ctx completions SHELL`: prints shell completions. The scripts ask the running daemon for ids.

use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use ctx_api::call::{Conversation, conversations};
use ctx_api::frames::FramesQuery;
use ctx_api::history::HistoryQuery;

use crate::arguments::{Cli, conversation_meant};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

/// Print shell completions
#[derive(Args, Debug)]
#[command(after_help = "Ids of frames, commits and conversations are completed while the daemon runs.

Examples:
  ctx completions bash > ~/.local/share/bash-completion/completions/ctx
  ctx completions zsh > ~/.zfunc/_ctx     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  ctx completions fish > ~/.config/fish/completions/ctx.fish")]
pub struct Arguments {
    /// Shell
    #[arg(value_name = "SHELL", required_unless_present = "ids")]
    shell: Option<Shell>,
    /// Print ids of this kind, each with its title
    #[arg(long, value_name = "KIND", hide = true, value_enum)]
    ids: Option<Kind>,
}

/// The ids that a script asks for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Frames,
    Commits,
    Conversations,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    if let Some(kind) = arguments.ids {
        // Without a daemon there is nothing to complete; a message would land in the command line.
        context.output.print_lines(&ids(kind, context).unwrap_or_default())?;
    }
    if let Some(shell) = arguments.shell {
        context.output.print_lines(&script(shell))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ids(kind: Kind, context: &Context) -> Result<String, Failure> {
    let client = context.found()?;
    let named = conversation_meant(&context.environment);
    let conversation = Conversation(&named);
    let pairs: Vec<(String, String)> = match kind {
        Kind::Frames => {
            let frames = client.call(&conversation.frames(&FramesQuery { steps: true, ..FramesQuery::default() }))?;
            let each = frames.frames.into_iter().flat_map(|frame| {
                let steps = frame.step_list.into_iter().flatten().map(|step| (step.id, step.title));
                std::iter::once((frame.id, frame.title)).chain(steps).collect::<Vec<_>>()
            });
            each.collect()
        }
        Kind::Commits => {
            let history = client.call(&conversation.history(&HistoryQuery::default()))?;
            history.commits.into_iter().map(|commit| (commit.id.to_string(), commit.summary)).collect()
        }
        Kind::Conversations => {
            let all = client.call(&conversations())?.conversations;
            all.into_iter().map(|one| (one.id, one.title)).collect()
        }
    };
    Ok(pairs.iter().map(|(id, title)| format!("{id}\t{}\n", text::line(title))).collect())
}

/// The verbs with a positional argument of this name.
fn verbs_with(value: &str) -> Vec<String> {
    let takes = |verb: &&clap::Command| {
        verb.get_positionals()
            .any(|argument| argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == value)))
    };
    Cli::command().get_subcommands().filter(takes).map(|verb| verb.get_name().to_owned()).collect()
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ctx", &mut script);
    let script = String::from_utf8(script).unwrap_or_default();
    match shell {
        Shell::Bash => script + &for_bash(),
        Shell::Zsh => for_zsh(&script),
        Shell::Fish => script + &for_fish(),
        _ => script,
    }
}

fn for_bash() -> String {
    include_str!("completions/ids.bash")
        .replace("{frames}", &verbs_with("ID").join("|"))
        .replace("{commits}", &verbs_with("COMMIT").join("|"))
}

fn for_fish() -> String {
    let ask = |kind: &str| format!("(ctx completions --ids {kind} 2>/dev/null)");
    let mut lines = String::new();
    for (value, kind) in [("ID", "frames"), ("COMMIT", "commits")] {
        for verb in verbs_with(value) {
            let condition = format!("__fish_ctx_using_subcommand {verb}");
            lines.push_str(&format!("complete -c ctx -n \"{condition}\" -f -a \"{}\"\n", ask(kind)));
        }
    }
    lines + &format!("complete -c ctx -l conv -x -a \"{}\"\n", ask("conversations"))
}

/// Replaces the default completion of arguments that are ids.
fn for_zsh(script: &str) -> String {
    let is_id = |line: &str| {
        ["'*::ids --", "':ids --", "':id --", "'::id --", "'*:ids --"].iter().any(|start| line.starts_with(start))
    };
    let line = |line: &str| {
        let kind = match line {
            line if line.starts_with("'--conv=") => "conversations",
            line if line.contains(":COMMIT:_default") => "commits",
            line if is_id(line) => "frames",
            line => return format!("{line}\n"),
        };
        format!("{}\n", line.replace(":_default'", &format!(":_ctx_ids {kind}'")))
    };
    let (head, rest) = script.split_once('\n').unwrap_or((script, ""));
    format!("{head}\n\n{}\n{}", include_str!("completions/ids.zsh"), rest.lines().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_can_be_completed_in_every_shell() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for verb in Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()) {
                let known = match shell {
                    Shell::Bash => script.contains(&format!("ctx,{verb})")),
                    Shell::Zsh => script.contains(&format!("\n'{verb}:")),
                    _ => script.contains(&format!("-a \"{verb}\"")),
                };
                assert!(known, "{shell}: {verb}");
            }
            assert!(script.contains("dry-run"), "and flags: {shell}");
        }
    }

    #[test]
    fn ids_are_asked_for_where_they_are_taken() {
        assert!(["show", "delete", "pin"].iter().all(|verb| verbs_with("ID").contains(&(*verb).to_owned())));
        assert!(verbs_with("COMMIT").contains(&"revert".to_owned()));
        let zsh = script(Shell::Zsh);
        for action in [":_ctx_ids frames'", ":ID:_ctx_ids conversations'", ":COMMIT:_ctx_ids commits'"] {
            assert!(zsh.contains(action), "{action}");
        }
        let fish = script(Shell::Fish);
        assert!(fish.contains("using_subcommand delete\" -f -a \"(ctx completions --ids frames"), "{fish}");
    }
}
