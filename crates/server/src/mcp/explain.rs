//! `ctx_explain`: what a rule or an error code means, and what to do about it.

use serde::Deserialize;

use super::answer::Answer;
use super::ask::{Ask, Refusal, encoded};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
    pub name: String,
}

pub async fn explain(ask: &impl Ask, given: &Arguments) -> Result<Answer, Refusal> {
    let term = ask.ask(format!("/explain/{}", encoded(&given.name)), None).await?;
    let word = |name: &str| term[name].as_str().unwrap_or_default().to_owned();
    let words = format!("{}: {}. {}", word("name"), word("meaning"), word("advice"));
    let value = term.as_object().cloned().unwrap_or_default();
    Ok(Answer { value: value.into_iter().filter(|(_, value)| !value.is_null()).collect(), text: words })
}
