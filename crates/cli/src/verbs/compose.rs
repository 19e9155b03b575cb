//! `ctx compose`: the body that the provider would get if the newest request came again now.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::of_conversation;
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::{text, words};

/// Compose the request that would be sent now
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx compose                            what would be sent, in short
  ctx compose --dump > body.json         exactly what would be sent, byte for byte
  ctx compose --dump | jq '.messages | length'")]
pub struct Arguments {
    /// Print the exact bytes of the body and nothing else, not even a newline
    #[arg(long, conflicts_with = "json")]
    dump: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let body = context.client()?.get(&of_conversation(&arguments.conversation.conversation, "compose"))?;
    if arguments.dump {
        context.output.bytes(&body)?;
    } else if arguments.format.json {
        context.output.json(&body)?;
    } else {
        context.output.print(&summary(&body))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(body: &[u8]) -> String {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let items = |name: &str| match &request[name] {
        Value::Array(items) => items.len() as u64,
        Value::Null => 0,
        _ => 1,
    };
    let size = words::bytes(body.len() as u64);
    let mut lines = format!("The request would have {size}: {}", words::plural(items("messages"), "message"));
    if items("system") > 0 {
        lines.push_str(&format!(", {}", words::plural(items("system"), "system block")));
    }
    if items("tools") > 0 {
        lines.push_str(&format!(", {}", words::plural(items("tools"), "tool")));
    }
    lines.push_str(".\n");
    let settings: Vec<String> = ["model", "max_tokens", "stream", "thinking", "output_config", "context_management"]
        .into_iter()
        .filter(|name| !request[*name].is_null())
        .map(|name| format!("{name}: {}", text::line(&plain(&request[name]))))
        .collect();
    for setting in settings {
        lines.push_str(&format!("  {setting}\n"));
    }
    lines.push_str("`ctx compose --dump` prints its exact bytes.\n");
    lines
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_the_request_holds() {
        let body = br#"{"model":"claude-opus-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},
            "system":"You help.","tools":[{},{}],"messages":[{}]}"#;
        insta::assert_snapshot!(summary(body), @r#"
        The request would have 155 bytes: 1 message, 1 system block, 2 tools.
          model: claude-opus-5
          max_tokens: 32000
          stream: true
          thinking: {"type":"adaptive"}
        `ctx compose --dump` prints its exact bytes.
        "#);
    }

    #[test]
    fn a_body_that_is_not_json_has_a_size_at_least() {
        assert!(summary(b"\xff\xfe").starts_with("The request would have 2 bytes: 0 messages."));
    }
}
