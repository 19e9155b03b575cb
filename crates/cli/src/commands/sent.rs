//! `ctx sent REQUEST`: shows the body that was sent for a request, and the response.

use std::process::ExitCode;

use clap::Args;
use ctx_api::requests::{SentAnswer, SentView};

use crate::arguments::{ConversationArguments, JsonArguments, request_name};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Show a request as it was sent, with its response
#[derive(Args, Debug)]
#[command(after_help = "`ctx timeline` lists the requests. For the request that would be sent now, see `ctx compose`.

Examples:
  ctx sent r17
  ctx sent r17 --dump > body.json        the exact bytes
  ctx sent r17 --json | jq .answer.usage")]
pub struct Arguments {
    /// Request, such as r17
    #[arg(value_name = "REQUEST", value_parser = request_name)]
    request: u32,
    /// Print only the exact bytes of the body
    #[arg(long, conflicts_with = "json")]
    dump: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let part = if arguments.dump { "/body" } else { "" };
    let question = format!("requests/r{}{part}", arguments.request);
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.dump {
        context.output.bytes(&answer)?;
    } else if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        context.output.print(&render(&understood(&answer)?, ctx_service::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(sent: &SentView, now: u64, output: &Output) -> String {
    let model = sent.model.as_deref().unwrap_or("unknown model");
    let mut lines = format!(
        "{} of {}, {}: {} {}, {}\n",
        output.paint.id(&sent.request),
        text::line(&sent.conversation),
        words::ago(now, sent.at),
        text::line(&sent.class),
        text::line(&sent.verdict),
        text::line(model)
    );
    let mut line = |name: &str, what: &str| lines.push_str(&format!("  {name:<9} {}\n", text::line(what)));
    let came = words::bytes(sent.client_bytes);
    match (sent.bytes, sent.changed) {
        (Some(_), false) => line("body", &format!("{came}, byte for byte as the agent sent it")),
        (Some(bytes), true) => line("body", &format!("{came} from the agent, {} sent", words::bytes(bytes))),
        (None, true) => line("body", &format!("{came} from the agent, edited")),
        (None, false) => line("body", &format!("{came} from the agent")),
    }
    if let Some(missing) = &sent.missing {
        line("", missing);
    }
    if let Some(head) = sent.head.as_deref().filter(|_| sent.changed) {
        line("edits", &format!("as of commit {head}"));
    }
    if !sent.asks.is_empty() {
        line("asked", &format!("by ctx, of the provider: {}", sent.asks.join(", ")));
    }
    match &sent.answer {
        Some(back) => answer(back).iter().for_each(|(name, what)| line(name, what)),
        None => line("answer", "none yet"),
    }
    sent.remarks.iter().for_each(|remark| line("", remark));
    if sent.missing.is_none() {
        lines.push_str(&format!("`ctx sent {} --dump` prints the exact body.\n", sent.request));
    }
    lines
}

fn answer(back: &SentAnswer) -> Vec<(&'static str, String)> {
    let status = if back.status == 0 { "no answer".to_owned() } else { back.status.to_string() };
    let ended = back.stop_reason.as_deref().unwrap_or(&back.ending);
    let mut lines = vec![("answer", format!("{status}, {ended}, after {}", words::duration(back.total_ms)))];
    if let Some(usage) = &back.usage {
        let figures = [
            ("input", usage.input),
            ("read from the cache", usage.cache_read),
            ("written to it", usage.cache_write),
            ("output", usage.output),
        ];
        let figures = figures.map(|(what, tokens)| format!("{} {what}", words::count(tokens)));
        lines.push(("tokens", figures.join(", ")));
    }
    lines.extend(back.error.as_ref().map(|error| ("error", format!("{}: {}", error.kind, error.message))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_with_its_body_and_its_answer() {
        let json = r#"{"conversation":"c3f9","request":"r17","number":17,"at":1000,"class":"main","verdict":"next",
            "model":"claude-opus-5","client_bytes":51234,"bytes":40000,"changed":true,"head":"00000000a1",
            "asks":["clear_tool_uses"],"missing":null,"answer":{"status":400,"ending":"complete","stop_reason":null,
            "usage":null,"error":{"kind":"invalid_request_error","message":"too\u001b long"},"first_byte_ms":3,"total_ms":340}}"#;
        let sent: SentView = serde_json::from_str(json).expect("a request");
        insta::assert_snapshot!(render(&sent, 61_000, &Output::plain()), @r"
        r17 of c3f9, 1 min ago: main next, claude-opus-5
          body      51.2 KB from the agent, 40.0 KB sent
          edits     as of commit 00000000a1
          asked     by ctx, of the provider: clear_tool_uses
          answer    400, complete, after 340 ms
          error     invalid_request_error: too\x1b long
        `ctx sent r17 --dump` prints the exact body.
        ");
        let older = SentView { missing: Some("An older version recorded it.".into()), bytes: None, ..sent };
        let told = render(&older, 61_000, &Output::plain());
        assert!(told.contains("An older version") && !told.contains("--dump"), "{told}");
    }
}
