//! `ctx_show` and `ctx_search`: what a frame holds, and where something stands.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line};
use super::ask::{Ask, Refusal, encoded};
use super::list::head;
use super::own::Own;

/// Characters that are shown unless more is asked for, and at most.
const LENGTH: usize = 6_000;
const LONGEST: usize = 40_000;
/// A block among others is folded after so many; shown alone it is not.
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
}

pub async fn show(ask: &impl Ask, own: &Own, arguments: &ShowArguments) -> Result<Answer, Refusal> {
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
        "title": line(shown["title"].as_str().unwrap_or_default(), 80),
        "tokens": shown["tokens"],
        "left": shown["left"],
        "text": part,
        "characters": all,
        "next_from": next,
    });
    Ok(Answer::about(own, answer).in_words(words))
}

pub async fn fetch(ask: &impl Ask, conversation: &str, id: &str) -> Result<Value, Refusal> {
    ask.ask(format!("/conversations/{}/frames/{}", encoded(conversation), encoded(id.trim())), None).await
}

/// Messages and blocks under their ids, so that each can be named.
pub fn readable(shown: &Value, fold: Option<usize>) -> String {
    let blocks: Vec<(&Value, &Value)> = blocks(shown).collect();
    let fold = fold.filter(|_| blocks.len() > 1);
    let mut text = String::new();
    for (message, block) in blocks {
        let (id, kind) = (word(block, "id"), word(block, "kind"));
        let tool = block["tool"].as_str().map(|tool| format!(" {tool}")).unwrap_or_default();
        let gone = if block["covered"].is_string() { ", not sent" } else { "" };
        let new = if block["replaced"].is_string() { ", replaced" } else { "" };
        let error = if block["is_error"] == true { ", error" } else { "" };
        let role = word(message, "role");
        text.push_str(&format!("[{id} {role} {kind}{tool}, {} tokens{gone}{new}{error}]\n", block["tokens"]));
        let content = word(block, "text");
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

fn blocks(shown: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let messages = shown["messages"].as_array().into_iter().flatten();
    messages.flat_map(|message| message["blocks"].as_array().into_iter().flatten().map(move |block| (message, block)))
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
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
        return Err(Refusal::new("nothing-named", "There is nothing to search for.", "Give a `text`."));
    }
    let limit = arguments.limit.unwrap_or(HITS).clamp(1, MOST_HITS);
    let query = format!("/search?q={}&conv={}&limit={limit}", encoded(wanted), encoded(&own.id));
    let found = ask.ask(query, None).await?;
    let here = &found["conversations"][0];
    let count = here["matches"].as_u64().unwrap_or(0);
    let row = |hit: &Value| {
        let tool = hit["tool"].as_str().map(|tool| format!(" {tool}")).unwrap_or_default();
        let gone = match (hit["left"].as_str(), hit["sent"] == false) {
            (Some(left), _) => format!(", {}", left.replace('_', " ")),
            (None, true) => ", not sent".to_owned(),
            (None, false) => String::new(),
        };
        json!([hit["id"], format!("{} {}{tool}{gone}", word(hit, "role"), word(hit, "kind")), hit["snippet"]])
    };
    let rows: Vec<Value> = here["hits"].as_array().into_iter().flatten().map(row).collect();
    let words = format!("found in {count} blocks of {}", own.id);
    let answer = json!({ "head": head(own), "found": count, "columns": ["id", "kind", "excerpt"], "rows": rows });
    Ok(Answer::about(own, answer).in_words(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> Value {
        json!({"messages": [{"role": "user", "blocks": [
            {"id": "t1#0.0", "kind": "text", "tokens": 5, "text": "look"},
            {"id": "t1#0.1", "kind": "tool_result", "tool": "Read", "tokens": 900, "text": "é".repeat(2_000), "covered": "abc"},
        ]}]})
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
        alone["messages"][0]["blocks"].as_array_mut().expect("blocks").remove(0);
        assert!(readable(&alone, Some(100)).chars().count() > 2_000);
    }
}
