//! `ctx_phase`: marks the beginning and end of a phase of the agent's work.

use ctx_api::call::Conversation;
use ctx_api::phases::{PhaseAction, PhaseRequest};
use serde::Deserialize;
use serde_json::json;

use super::answer::Answer;
use super::ask::{Ask, Refusal, call};
use super::edit::AUTHOR;
use super::list::head;
use super::own::Own;
use super::settings::Settings;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    pub conv: Option<String>,
    pub action: PhaseAction,
    pub name: Option<String>,
}

pub async fn phase(ask: &impl Ask, own: &Own, settings: &Settings, given: &Arguments) -> Result<Answer, Refusal> {
    settings.check("undo")?;
    let request = PhaseRequest { action: given.action, name: given.name.clone(), author: AUTHOR.to_owned() };
    let view = call(ask, Conversation(&own.id).phase(&request)).await?;
    let open = view.phases.iter().filter(|phase| phase.ended.is_none());
    let open: Vec<&str> = open.map(|phase| phase.name.as_str()).collect();
    let words = match open.as_slice() {
        [] => "no phase is open".to_owned(),
        open => format!("open: {}", open.join(", ")),
    };
    Ok(Answer::about(own, json!({"head": head(own), "open": open})).in_words(words))
}
