//! `ctx completions SHELL`: prints shell completions.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::context::Context;
use crate::failure::Failure;

/// Print shell completions
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx completions bash > ~/.local/share/bash-completion/completions/ctx
  ctx completions zsh > ~/.zfunc/_ctx     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  ctx completions fish > ~/.config/fish/completions/ctx.fish")]
pub struct Arguments {
    /// Shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    context.output.bytes(&script(arguments.shell))?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ctx", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_can_be_completed_in_every_shell() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).expect("text");
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
}
