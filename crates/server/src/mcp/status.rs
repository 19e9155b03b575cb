//! `ctx_status`: which conversation it is and why, how full, what was edited, and what the cache gave last.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line, short};
use super::ask::{Ask, Refusal, encoded};
use super::list::head;
use super::own::Own;
use super::settings::{OPERATIONS, Settings};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
}

/// Events among which the newest answer is looked for.
const LOOKED_AT: usize = 8;

/// Wishes that are told.
const MOST_WISHES: usize = 10;

pub async fn status(ask: &impl Ask, own: &Own, settings: &Settings) -> Result<Answer, Refusal> {
    let id = encoded(&own.id);
    let list = ask.ask("/conversations".to_owned(), None).await?;
    let all = list["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let card = all.iter().find(|one| one["id"] == own.id.as_str()).unwrap_or(&Value::Null);
    let explained = ask.ask(format!("/conversations/{id}/explain"), None).await?;
    let timeline = ask.ask(format!("/conversations/{id}/timeline?limit={LOOKED_AT}"), None).await?;
    let mut events = timeline["events"].as_array().into_iter().flatten().rev();
    let usage =
        events.find(|event| event["kind"] == "answer" && event["usage"].is_object()).map(|event| &event["usage"]);
    let number = |name: &str| usage.and_then(|usage| usage[name].as_u64());
    let cache = usage.map(|_| {
        json!({
            "read": number("cache_read"),
            "written": number("cache_write"),
            "uncached": number("input"),
        })
    });
    let waiting = ask.ask(format!("/conversations/{id}/waiting"), None).await?;
    let commits = explained["commits"].as_array().map_or(0, Vec::len);
    let words = format!("{}: {}, head {}", own.id, own.found_by.in_words(), head(own));
    let answer = json!({
        "why": own.found_by.in_words(),
        "title": card["title"].as_str().map(|title| line(title, 80)),
        "class": card["class"],
        "session": card["session"],
        "agent": card["agent"],
        "parent": card["parent"],
        "model": card["model"],
        "frames": card["frames"],
        "tokens": explained["tokens"],
        "source_tokens": explained["source_tokens"],
        "branch": own.branch,
        "head": head(own),
        "active_commits": commits,
        "last_answer": cache,
        "problem": explained["problem"],
        "may": may(settings),
    });
    let mut answer = Answer::about(own, answer).in_words(words);
    answer.add("waiting", wishes(&waiting));
    Ok(answer)
}

/// Those that wait, and those that could not be made.
fn wishes(view: &Value) -> Value {
    let wishes = view["wishes"].as_array().into_iter().flatten();
    let open = wishes.filter(|wish| wish["state"] == "waiting" || wish["state"] == "failed");
    let told = open.map(|wish| {
        json!({"id": wish["id"], "state": wish["state"], "when": wish["when"], "summary": wish["summary"],
            "why": wish["failure"]["message"]})
    });
    told.map(short).take(MOST_WISHES).collect()
}

fn may(settings: &Settings) -> Value {
    match (settings.read_only, &settings.allow) {
        (true, _) => "read only".into(),
        (false, None) => "all operations".into(),
        (false, Some(_)) => settings.of(&OPERATIONS).into(),
    }
}
