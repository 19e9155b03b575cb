//! `ctx conversations`: lists the conversations.

use std::process::ExitCode;

use clap::Args;
use ctx_api::conversations::{ConversationView, Conversations};

use crate::arguments::JsonArguments;
use crate::client::understood;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, GOOD, ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};

/// List conversations; * marks the active one
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx conversations
  ctx conversations --json | jq '.conversations[0].id'")]
pub struct Arguments {
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let answer = context.client()?.get("/conversations")?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let found: Conversations = understood(&answer)?;
        context.output.print(&render(&found.conversations, ctx_service::now(), &context.output))?;
        if let Some(note) = words::unread(found.unread) {
            context.note(&note);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn render(conversations: &[ConversationView], now: u64, output: &Output) -> String {
    if conversations.is_empty() {
        return "No conversation has been recorded yet. Start one with `ctx run -- claude`.\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Left(" "),
        Column::Left("ID"),
        Column::Right("TOKENS"),
        Column::Right("FRAMES"),
        Column::Right("REQUESTS"),
        Column::Left("LAST"),
        Column::Flexible("TITLE"),
        Column::Left("CLIENT"),
        Column::Flexible("MODEL"),
    ])
    .dispensing(&["MODEL", "CLIENT", "REQUESTS", "FRAMES", "LAST"]);
    for conversation in conversations {
        let title = format!("{}{}", kinship(conversation), conversation.title);
        table.row([
            Cell::styled(if conversation.active { "*" } else { "" }, GOOD),
            Cell::styled(&conversation.id, ID),
            words::tokens(conversation.tokens, conversation.calibrated).into(),
            words::count(conversation.frames as u64).into(),
            words::count(conversation.requests.into()).into(),
            words::ago(now, conversation.last_activity).into(),
            Cell::styled(&title, if conversation.class == "main" { PLAIN } else { FAINT }),
            Cell::styled(client(conversation), FAINT),
            Cell::styled(conversation.model.as_deref().unwrap_or_default(), FAINT),
        ]);
    }
    table.render(output)
}

/// The title of the client; an unknown client keeps its own name.
fn client(conversation: &ConversationView) -> &str {
    let product = conversation.client.as_deref().unwrap_or_default();
    ctx_clients::of_product(product).map_or(product, |client| client.title)
}

/// The relation of a conversation to another one.
fn kinship(conversation: &ConversationView) -> String {
    match (&conversation.parent, &conversation.forked_from) {
        (Some(parent), _) => format!("(agent of {parent}) "),
        (None, Some(other)) => format!("(fork of {other}) "),
        (None, None) if conversation.class == "main" => String::new(),
        (None, None) => format!("({}) ", conversation.class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(id: &str, title: &str) -> ConversationView {
        ConversationView {
            id: id.into(),
            active: false,
            class: "main".into(),
            title: title.into(),
            model: Some("claude-opus-5".into()),
            client: None,
            session: None,
            agent: None,
            parent: None,
            forked_from: None,
            folder: None,
            imported: false,
            frames: 4,
            messages: 31,
            requests: 12,
            tokens: 18_234,
            calibrated: true,
            last_activity: 1_000_000,
            owner: None,
            side: Vec::new(),
        }
    }

    #[test]
    fn the_active_one_is_marked_and_kin_is_told() {
        let list = [
            ConversationView {
                active: true,
                client: Some("claude-cli/2.1.325".into()),
                ..conversation("c3f9a1", "Fix the parser")
            },
            ConversationView {
                class: "subagent".into(),
                parent: Some("c3f9a1".into()),
                calibrated: false,
                tokens: 900,
                ..conversation("c77", "Search for \u{1b}[31musages")
            },
            ConversationView {
                forked_from: Some("c3f9a1".into()),
                client: Some("node-fetch".into()),
                model: None,
                ..conversation("c8", "Fix the parser")
            },
        ];
        insta::assert_snapshot!(render(&list, 1_125_000, &Output::plain()), @r"
           ID      TOKENS  FRAMES  REQUESTS  LAST       TITLE                                        CLIENT       MODEL
        *  c3f9a1  18,234       4        12  2 min ago  Fix the parser                               Claude Code  claude-opus-5
           c77       ≈900       4        12  2 min ago  (agent of c3f9a1) Search for \x1b[31musages               claude-opus-5
           c8      18,234       4        12  2 min ago  (fork of c3f9a1) Fix the parser              node-fetch
        ");
    }

    #[test]
    fn no_conversation_is_no_empty_table() {
        assert!(render(&[], 0, &Output::plain()).contains("ctx run"));
    }
}
