//! `ctx_show` and `ctx_search`: the content of a frame, and the places of a text.

use ctx_api::call::Conversation;
use ctx_api::frames::AtQuery;
use ctx_api::offloaded::OffloadedQuery;
use ctx_api::search::{Hit, SearchQuery};
use ctx_api::show::{BlockView, ContentView, MessageView};
use ctx_core::ErrorCode;
use ctx_engine::edit::handle::is_handle;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line};
use super::ask::{Ask, Refusal, call};
use super::list::head;
use super::own::Own;

/// The default and maximum number of characters.
const LENGTH: usize = 6_000;
const LONGEST: usize = 40_000;
/// A block among others is folded after this many; alone it is not.
const FOLD: usize = 1_500;
const HITS: usize = 10;
const MOST_HITS: usize = 50;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowArguments {
    #[serde(default)]
    pub conv: Option<String>,
    id: String,
    #[serde(default)]
    from: usize,
    #[serde(default)]
    length: Option<usize>,
    #[serde(default)]
    lines: Option<String>,
    #[serde(default)]
    grep: Option<String>,
}

pub async fn show(ask: &impl Ask, own: &Own, arguments: &ShowArguments) -> Result<Answer, Refusal> {
    if is_handle(arguments.id.trim()) {
        return offloaded(ask, own, arguments).await;
    }
    let shown = fetch(ask, &own.id, &arguments.id).await?;
    let text = readable(&shown, Some(FOLD));
    let length = arguments.length.unwrap_or(LENGTH).clamp(1, LONGEST);
    let part: String = text.chars().skip(arguments.from).take(length).collect();
    let all = text.chars().count();
    let end = arguments.from.saturating_add(length);
    let next = (end < all).then_some(end);
    let words = format!("{} of {}, {all} characters", arguments.id, own.id);
    let answer = json!({
        "head": head(own),
        "id": arguments.id,
        "title": line(&shown.title, 80),
        "tokens": shown.tokens,
        "left": shown.left,
        "text": part,
        "characters": all,
        "next_from": next,
    });
    Ok(Answer::about(own, answer).in_words(words))
}

/// Offloaded content that is kept in the store.
async fn offloaded(ask: &impl Ask, own: &Own, arguments: &ShowArguments) -> Result<Answer, Refusal> {
    let ShowArguments { lines, grep, from, length, .. } = arguments;
    let query = OffloadedQuery { lines: lines.clone(), grep: grep.clone(), from: Some(*from) };
    let shown = call(ask, Conversation(&own.id).offloaded(arguments.id.trim(), &query)).await?;
    let length = length.unwrap_or(LENGTH).clamp(1, LONGEST);
    let end = from.saturating_add(length);
    let words = format!("{} of {}, {} lines", shown.id, own.id, shown.lines);
    let answer = json!({
        "id": shown.id,
        "lines": shown.lines,
        "text": shown.text.chars().take(length).collect::<String>(),
        "characters": shown.characters,
        "next_from": (end < shown.characters).then_some(end),
    });
    Ok(Answer::about(own, answer).in_words(words))
}

pub async fn fetch(ask: &impl Ask, conversation: &str, id: &str) -> Result<ContentView, Refusal> {
    call(ask, Conversation(conversation).show(id.trim(), &AtQuery::default())).await
}

/// Messages and blocks with their ids.
pub fn readable(shown: &ContentView, fold: Option<usize>) -> String {
    let blocks = shown.messages.iter().flat_map(|message| message.blocks.iter().map(move |block| (message, block)));
    let blocks: Vec<(&MessageView, &BlockView)> = blocks.collect();
    let fold = fold.filter(|_| blocks.len() > 1);
    let mut text = String::new();
    for (message, block) in blocks {
        let BlockView { id, kind, tokens, text: content, .. } = block;
        let tool = block.tool.as_ref().map(|tool| format!(" {tool}")).unwrap_or_default();
        let gone = if block.covered.is_some() { ", not sent" } else { "" };
        let new = if block.replaced.is_some() { ", replaced" } else { "" };
        let error = if block.is_error { ", error" } else { "" };
        text.push_str(&format!("[{id} {} {kind}{tool}, {tokens} tokens{gone}{new}{error}]\n", message.role));
        let whole = content.chars().count();
        match fold.filter(|most| whole > *most) {
            Some(most) => {
                text.extend(content.chars().take(most));
                text.push_str(&format!("\n… {} more characters: ctx_show {id}\n", whole - most));
            }
            None => {
                text.push_str(content);
                text.push('\n');
            }
        }
    }
    text
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    #[serde(default)]
    pub conv: Option<String>,
    text: String,
    #[serde(default)]
    limit: Option<usize>,
}

pub async fn search(ask: &impl Ask, own: &Own, arguments: &SearchArguments) -> Result<Answer, Refusal> {
    let wanted = arguments.text.trim();
    if wanted.is_empty() {
        return Err(Refusal::new(ErrorCode::NothingNamed, "The search is empty.", "Pass a `text`."));
    }
    let limit = arguments.limit.unwrap_or(HITS).clamp(1, MOST_HITS);
    let query = SearchQuery { q: wanted.to_owned(), conv: Some(own.id.clone()), limit: Some(limit) };
    let found = call(ask, ctx_api::call::search(&query)).await?;
    let here = found.conversations.first();
    let count = here.map_or(0, |here| here.matches);
    let rows: Vec<Value> = here.into_iter().flat_map(|here| &here.hits).map(row).collect();
    let words = format!("found in {count} blocks of {}", own.id);
    let answer = json!({ "head": head(own), "found": count, "columns": ["id", "kind", "excerpt"], "rows": rows });
    Ok(Answer::about(own, answer).in_words(words))
}

fn row(hit: &Hit) -> Value {
    let tool = hit.tool.as_ref().map(|tool| format!(" {tool}")).unwrap_or_default();
    let gone = match (hit.left, hit.sent) {
        (Some(left), _) => format!(", {}", left.state().replace('-', " ")),
        (None, false) => ", not sent".to_owned(),
        (None, true) => String::new(),
    };
    json!([hit.id, format!("{} {}{tool}{gone}", hit.role, hit.kind), hit.snippet])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> ContentView {
        let block = |id: &str, kind: &str, tokens: u64, text: &str| {
            json!({"id": id, "kind": kind, "tokens": tokens, "text": text, "tool": null, "tool_use_id": null,
                "is_error": false, "raw": null})
        };
        let mut result = block("t1#0.1", "tool_result", 900, &"é".repeat(2_000));
        (result["tool"], result["covered"]) = ("Read".into(), "abc".into());
        let message = json!({"id": "t1#0", "role": "user", "tokens": 905, "step": 0, "pending": false,
            "blocks": [block("t1#0.0", "text", 5, "look"), result]});
        let shown = json!({"conversation": "c1", "id": "t1", "kind": "turn", "title": "", "tokens": 905,
            "calibrated": true, "messages": [message]});
        serde_json::from_value(shown).expect("a frame")
    }

    #[test]
    fn long_blocks_are_folded_among_others_and_say_how_to_see_them() {
        let text = readable(&shown(), Some(100));
        assert!(
            text.starts_with(
                "[t1#0.0 user text, 5 tokens]\nlook\n[t1#0.1 user tool_result Read, 900 tokens, not sent]\n"
            )
        );
        assert!(text.ends_with("… 1900 more characters: ctx_show t1#0.1\n"), "{text}");
        let mut alone = shown();
        alone.messages[0].blocks.remove(0);
        assert!(readable(&alone, Some(100)).chars().count() > 2_000);
    }
}
