//! `ctx_phase`: the agent says when a phase of its work begins and when it ends.

use serde::Deserialize;
use serde_json::json;

use super::answer::Answer;
use super::ask::{Ask, Refusal, encoded};
use super::edit::AUTHOR;
use super::list::head;
use super::own::Own;
use super::settings::Settings;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
    pub action: String,
    pub name: Option<String>,
}

pub async fn phase(ask: &impl Ask, own: &Own, settings: &Settings, given: &Arguments) -> Result<Answer, Refusal> {
    settings.check("undo")?;
    let mut wish = json!({"action": given.action, "author": AUTHOR});
    if let Some(name) = &given.name {
        wish["name"] = name.as_str().into();
    }
    let view = ask.ask(format!("/conversations/{}/phases", encoded(&own.id)), Some(wish)).await?;
    let phases = view["phases"].as_array().into_iter().flatten();
    let open: Vec<&str> =
        phases.filter(|phase| phase["ended"].is_null()).filter_map(|phase| phase["name"].as_str()).collect();
    let words = match open.as_slice() {
        [] => "no phase is open".to_owned(),
        open => format!("open: {}", open.join(", ")),
    };
    Ok(Answer::about(own, json!({"head": head(own), "open": open})).in_words(words))
}
