//! `ctx_sent`: a request as sent, and its response.

use ctx_api::call::Conversation;
use serde::Deserialize;

use super::answer::Answer;
use super::ask::{Ask, Refusal, call};
use super::own::Own;

/// Characters of a body per answer.
const LENGTH: usize = 6_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default)]
    pub conv: Option<String>,
    request: String,
    #[serde(default)]
    body: bool,
    #[serde(default)]
    from: usize,
}

pub async fn sent(ask: &impl Ask, own: &Own, arguments: &Arguments) -> Result<Answer, Refusal> {
    let sent = Conversation(&own.id).sent(arguments.request.trim());
    let body = format!("{}/body", sent.path);
    let answer = serde_json::to_value(call(ask, sent).await?).unwrap_or_default();
    let words = format!("{} of {}", arguments.request.trim(), own.id);
    let mut answer = Answer::about(own, answer).in_words(words);
    if arguments.body {
        let body = ask.ask(body, None).await?;
        let text = String::from_utf8_lossy(&body);
        let all = text.chars().count();
        let end = arguments.from.saturating_add(LENGTH);
        answer.add("body", text.chars().skip(arguments.from).take(LENGTH).collect::<String>().into());
        answer.add("characters", all.into());
        if end < all {
            answer.add("next_from", end.into());
        }
    }
    Ok(answer)
}
