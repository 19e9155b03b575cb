//! `ctx_status`: the conversation and how it was selected, its usage, its edits, and the last cache figures.

use ctx_api::call::Conversation;
use ctx_api::frames::AtQuery;
use ctx_api::timeline::{TimelineQuery, What};
use ctx_api::waiting::WaitingView;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line, short};
use super::ask::{Ask, Refusal, call};
use super::list::head;
use super::own::Own;
use super::settings::{OPERATIONS, Settings};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
}

/// The number of events in which the newest response is searched.
const LOOKED_AT: usize = 8;

/// The number of deferred edits to report.
const MOST_WISHES: usize = 10;

pub async fn status(ask: &impl Ask, own: &Own, settings: &Settings) -> Result<Answer, Refusal> {
    let here = Conversation(&own.id);
    let list = call(ask, ctx_api::call::conversations()).await?;
    let card = list.conversations.iter().find(|one| one.id == own.id);
    let explanation = call(ask, here.explain(&AtQuery::default())).await?;
    let explained = &explanation.explained;
    let timeline = call(ask, here.timeline(&TimelineQuery { limit: Some(LOOKED_AT), brief: false })).await?;
    let usage = timeline.events.iter().rev().find_map(|event| match &event.what {
        What::Answer { usage, .. } => usage.as_ref(),
        _ => None,
    });
    let cache =
        usage.map(|usage| json!({"read": usage.cache_read, "written": usage.cache_write, "uncached": usage.input}));
    let waiting = call(ask, here.waiting()).await?;
    let words = format!("{}: {}, head {}", own.id, own.found_by.in_words(), head(own));
    let answer = json!({
        "why": own.found_by.in_words(),
        "title": card.map(|card| line(&card.title, 80)),
        "class": card.map(|card| &card.class),
        "session": card.map(|card| &card.session),
        "agent": card.map(|card| &card.agent),
        "parent": card.map(|card| &card.parent),
        "model": card.map(|card| &card.model),
        "frames": card.map(|card| &card.frames),
        "tokens": explained.tokens,
        "source_tokens": explained.source_tokens,
        "branch": own.branch,
        "head": head(own),
        "active_commits": explained.commits.len(),
        "last_answer": cache,
        "problem": explanation.problem,
        "may": may(settings),
    });
    let mut answer = Answer::about(own, answer).in_words(words);
    answer.add("waiting", deferred(&waiting));
    Ok(answer)
}

/// Deferred edits, and failed ones.
fn deferred(view: &WaitingView) -> Value {
    let open = view.wishes.iter().filter(|deferred| deferred.state == "waiting" || deferred.state == "failed");
    let told = open.map(|deferred| {
        let why = deferred.failure.as_ref().map(|failure| &failure.message);
        json!({"id": deferred.id, "state": deferred.state, "when": deferred.when, "summary": deferred.summary, "why": why})
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
