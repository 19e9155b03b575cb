//! `ctx phase`: marks the beginning and end of phases, and lists them.

use std::io::Read;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_api::call::of_session;
use ctx_api::phases::{PhaseAction, PhaseRequest, PhaseView, PhasesView};
use ctx_clients::session_of_hook;
use ctx_core::ErrorCode;

use crate::arguments::{ConversationArguments, JsonArguments, author, non_empty};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Mark phases of the work, so that finished ones can be cleared
#[derive(Args, Debug)]
#[command(
    override_usage = "ctx phase\n       ctx phase begin NAME\n       ctx phase end [NAME]",
    after_help = "The automatic editor may clear the details of finished phases: see `clear_after_phases` in ctx.toml. Scripts, agents (MCP
tool ctx_phase) and agent hooks can mark phases too.

Examples:
  ctx phase begin testing
  ctx phase end                           ends the newest open phase
  ctx phase                               lists all phases"
)]
pub struct Arguments {
    /// list, begin or end
    #[arg(value_enum, value_name = "ACTION", default_value_t = What::List, hide_possible_values = true)]
    what: What,
    /// Name of the phase
    #[arg(value_parser = non_empty, required_if_eq("what", "begin"))]
    name: Option<String>,
    /// In an agent's hook: take the conversation from the hook's input
    #[arg(long)]
    hook: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    List,
    Begin,
    End,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let conversation = match arguments.hook {
        true => of_session(&told_by_hook(std::io::stdin())?),
        false => arguments.conversation.conversation.clone(),
    };
    let path = of_conversation(&conversation, "phases");
    let say = |action: PhaseAction| {
        let author = author(&context.environment).to_owned();
        client.post(&path, &PhaseRequest { action, name: arguments.name.clone(), author })
    };
    let answer = match arguments.what {
        What::List => client.get(&path)?,
        What::Begin => say(PhaseAction::Begin)?,
        What::End => say(PhaseAction::End)?,
    };
    let output = &context.output;
    if arguments.format.json {
        output.json(&answer)?;
    } else if !arguments.hook {
        // The output of a hook may end up in the agent's context.
        output.print(&render(&understood(&answer)?, ctx_service::now(), output))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An agent passes the session to its hooks.
fn told_by_hook(input: impl Read) -> Result<String, Failure> {
    const LONGEST: u64 = 10_000_000;
    let mut text = String::new();
    let read = input.take(LONGEST).read_to_string(&mut text);
    read.ok().and_then(|_| session_of_hook(&text)).ok_or_else(|| {
        Failure::new(ErrorCode::Hook, "the input names no session")
            .hint("--hook works only in an agent's hook, which gets JSON with a session_id; elsewhere, use --conv")
    })
}

fn render(view: &PhasesView, now: u64, output: &Output) -> String {
    if view.phases.is_empty() {
        return "No phases yet. `ctx phase begin NAME` begins one.\n".to_owned();
    }
    let paint = &output.paint;
    let line = |phase: &PhaseView| {
        let told = match phase.ended {
            None => format!("open, begun {}", words::ago(now, phase.began)),
            Some(ended) => {
                format!("ended {}, {}", words::ago(now, ended), words::plural(phase.messages as u64, "message"))
            }
        };
        format!("{}  {}\n", paint.id(&text::line(&phase.name)), paint.faint(&told))
    };
    view.phases.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_told_one_a_line() {
        let phase = |name: &str, ended| PhaseView { name: name.into(), began: 1_000, ended, messages: 4 };
        let phases = vec![phase("setup", Some(61_000)), phase("cod\u{1b}ing", None)];
        let view = PhasesView { conversation: "c1".into(), phases };
        insta::assert_snapshot!(render(&view, 121_000, &Output::plain()), @r"
        setup  ended 1 min ago, 4 messages
        cod\x1bing  open, begun 2 min ago
        ");
    }

    #[test]
    fn a_hook_is_told_its_session() {
        let told = |text: &str| told_by_hook(text.as_bytes()).ok();
        assert_eq!(told(r#"{"session_id":"s-1","cwd":"/p"}"#).as_deref(), Some("s-1"));
        assert_eq!((told("{}"), told("no JSON")), (None, None));
    }
}
