//! Describes each cause of a cache miss.

use super::{CacheAnswer, Edit, MissedRequest};
use ctx_api::cache::{By, CacheMiss, Cause};
use ctx_api::requests::Usage;
use ctx_engine::log::{AnswerRecord, Differs};
use ctx_models::Models;

pub fn below_minimum(asked: &MissedRequest, told: &CacheAnswer, usage: &Usage, models: &Models) -> Option<CacheMiss> {
    let model = models.of(told.model.as_deref()?).model()?;
    let least = model.minimum.filter(|least| asked.marked && usage.cached() == 0 && usage.prompt() < *least)?;
    let (prompt, name) = (usage.prompt(), &model.name);
    let words = format!("The prompt has {prompt} tokens; {name} caches only prompts of at least {least}.");
    Some(CacheMiss::new(Cause::BelowMinimum, By::Provider, prompt, words))
}

pub fn first_request(usage: &Usage) -> Option<CacheMiss> {
    let anew = usage.prompt() - usage.cache_read;
    let words = "This is the first request: the cache was empty.".to_owned();
    let is_written = usage.cached() > 0 && usage.cache_read * 2 < usage.prompt();
    is_written.then(|| CacheMiss::new(Cause::FirstRequest, By::Client, anew, words))
}

pub fn model_changed(last: &MissedRequest, asked: &MissedRequest, tokens: u64) -> CacheMiss {
    let name = |asked: &MissedRequest| asked.model.clone().unwrap_or_else(|| "another".to_owned());
    let words =
        format!("The client changed the model from {} to {}; each model has its own cache.", name(last), name(asked));
    CacheMiss::new(Cause::ModelChanged, By::Client, tokens, words)
}

pub fn expired(idle: u64, ttl: u64, tokens: u64) -> CacheMiss {
    let words = format!("The cache lives for {} and was last used {} earlier.", duration(ttl), duration(idle));
    let miss = CacheMiss::new(Cause::Expired, By::Client, tokens, words);
    CacheMiss { by: By::Provider, idle_seconds: Some(idle), ttl_seconds: Some(ttl), ..miss }
}

/// A change before the messages, found here or reported by the provider.
pub fn around_changed(found: Option<(Cause, String)>, reason: &str, tokens: u64) -> Option<CacheMiss> {
    let (cause, place) = match (found, reason) {
        (Some((cause, place)), _) => (cause, Some(place)),
        (None, "tools_changed") => (Cause::ToolsChanged, None),
        (None, "system_changed") => (Cause::SystemChanged, None),
        _ => return None,
    };
    let first = place.as_ref().map(|place| format!(", first {place}")).unwrap_or_default();
    let words = match (cause, &place) {
        (Cause::MannerChanged, Some(member)) => {
            format!("The client changed `{member}`, on which the cache of the messages depends.")
        }
        (Cause::ToolsChanged, _) => {
            format!("The client changed its tools{first}; everything after the change is read again.")
        }
        _ => format!("The client changed its system prompt{first}; everything after the change is read again."),
    };
    Some(CacheMiss { place, ..CacheMiss::new(cause, By::Client, tokens, words) })
}

fn by_author(author: &str) -> By {
    match author {
        author if author.starts_with("policy") => By::Policy,
        "agent" | "mcp" => By::Agent,
        _ => By::User,
    }
}

pub fn edited(edit: &Edit, tokens: u64) -> CacheMiss {
    let by = by_author(&edit.author);
    let what = match (&edit.commit, &edit.place) {
        (None, _) => "Another branch was checked out".to_owned(),
        (Some(commit), Some(place)) => format!("Commit {commit} by {} changed {place}", edit.author),
        (Some(commit), None) => format!("Commit {commit} by {} changed it", edit.author),
    };
    let words = format!("{what}; everything after the change is read again once.");
    let commit = edit.commit.map(|commit| commit.to_string());
    CacheMiss { place: edit.place.clone(), commit, ..CacheMiss::new(Cause::Edited, by, tokens, words) }
}

/// A repair of the edited request that came or went without a commit. `author` made the edits.
pub fn repaired((rule, what): &(String, String), author: &str, tokens: u64) -> CacheMiss {
    let rule = ctx_wire::rules::named(rule);
    let words = format!(
        "The edited request was repaired differently from the one before ({what}: rule {rule}); everything after the \
         repair is read again once."
    );
    CacheMiss::new(Cause::Edited, by_author(author), tokens, words)
}

/// A change of the messages by the client or the provider.
pub fn of_history(asked: &MissedRequest, answered: &AnswerRecord, reason: &str, tokens: u64) -> Option<CacheMiss> {
    if let Some(Differs { place, what }) = &asked.differs {
        let words = format!("The client changed {place}, {what}.");
        let miss = CacheMiss::new(Cause::HistoryChanged, By::Client, tokens, words);
        return Some(CacheMiss { place: Some(place.clone()), ..miss });
    }
    let cleared = answered.cleared();
    if cleared > 0 {
        let words = format!("The provider cleared {cleared} tokens; everything after them is read again.");
        return Some(CacheMiss::new(Cause::Cleared, By::Provider, tokens, words));
    }
    if answered.summary.is_some() || answered.summarised {
        let words = "The provider's summary replaced earlier content; everything after it is read again.".to_owned();
        return Some(CacheMiss::new(Cause::Cleared, By::Provider, tokens, words));
    }
    if asked.rewritten || reason == "messages_changed" {
        let words = "The client changed its history.".to_owned();
        return Some(CacheMiss::new(Cause::HistoryChanged, By::Client, tokens, words));
    }
    None
}

/// No known change; if the miss was forecast, the breakpoints are the cause.
pub fn unexplained(is_foreseen: bool, tokens: u64) -> CacheMiss {
    if is_foreseen {
        let words = "No breakpoint of the request reaches the cached content: a breakpoint looks back only a few \
            blocks.";
        return CacheMiss::new(Cause::OutOfReach, By::Client, tokens, words.to_owned());
    }
    let words = "Nothing changed: the provider had dropped it from its cache.".to_owned();
    CacheMiss::new(Cause::Unknown, By::Provider, tokens, words)
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
