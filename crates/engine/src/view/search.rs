//! Searches the texts of one conversation.

use super::show::{self, Texts};
use crate::compose::Ground;
use crate::conversation::{Conversation, SlotVersion, left};
use ctx_api::frames::LeftReason;
use ctx_api::search::Hit;
use ctx_api::show::{BlockView, MessageView};
use ctx_core::SlotId;
use ctx_core::edit::effect::PENDING;
use ctx_core::edit::fold::{Unit, View};
use ctx_core::edit::frame_id::FrameId;
use ctx_core::edit::resolve::{Scope, Target};
use std::collections::HashMap;

/// The exact bytes of messages, by slot: a path may move while the store is read.
pub type BySlot = HashMap<SlotId, Vec<u8>>;

/// The number of hits per conversation in a search over all: a frequent word in one does not hide the others.
pub const OF_EACH: usize = 5;

/// The number of messages read at a time.
pub const AT_A_TIME: usize = 64;

/// The number of characters around a hit.
const AROUND: usize = 60;

pub fn newest_versions(conversation: &Conversation) -> Vec<(SlotId, SlotVersion)> {
    let left = conversation.left_frames().runs.into_iter().flat_map(|run| run.slots);
    let slots = conversation.messages.tree.path().map(|slot| slot.id).chain(left);
    slots.filter_map(|slot| Some((slot, conversation.messages.versions.get(&slot)?.clone()))).collect()
}

/// The search terms in lower case: words, and phrases in quotes. In a phrase `\"` is a quote. A quote that is never
/// closed, or is inside a word, is an ordinary character.
pub fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (term, behind) = phrase(rest).unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            (word.to_owned(), behind)
        });
        let term = term.trim().to_lowercase();
        if !term.is_empty() && !terms.contains(&term) {
            terms.push(term);
        }
        rest = behind.trim_start();
    }
    terms
}

/// The quoted phrase at the start of a text, and the rest.
fn phrase(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut phrase = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' if chars.peek().is_some_and(|(_, next)| *next == '"') => {
                phrase.push('"');
                chars.next();
            }
            '"' => return Some((phrase, inside.get(at + 1..).unwrap_or_default())),
            other => phrase.push(other),
        }
    }
    None
}

/// The longest run of letters and digits, which are never escaped in JSON; other characters need a closer look.
pub fn longest_run(term: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | ':');
    term.split(|c| !is_plain(c)).max_by_key(|run| run.len()).unwrap_or_default()
}

pub fn may_hold(message: &[u8], runs: &[&str]) -> bool {
    std::str::from_utf8(&message.to_ascii_lowercase()).map_or(true, |text| runs.iter().all(|run| text.contains(run)))
}

/// The blocks that contain the words, in order; then those in frames that the client has left. The path may have grown
/// meanwhile.
pub fn hits(conversation: &Conversation, texts: BySlot, terms: &[String]) -> Vec<Hit> {
    let effects = || conversation.effects(conversation.history.head());
    let ground = Ground::of(conversation, true);
    let view = ground.lay(effects());
    let mut hits = hits_on(conversation, (&ground, &view), &texts, terms, &|_| Some(None));
    if !conversation.messages.left.is_empty() {
        let left = conversation.left_frames();
        let current = left::names(&view);
        let ground = Ground::with_left(conversation, &left);
        let all = ground.lay(effects());
        hits.extend(hits_on(conversation, (&ground, &all), &texts, terms, &|id| left.of(id, &current).map(Some)));
    }
    hits
}

/// `wanted`: whether to search a frame, and why it is no longer sent.
fn hits_on(
    conversation: &Conversation,
    (ground, view): (&Ground<'_>, &View<'_>),
    texts: &BySlot,
    terms: &[String],
    wanted: &dyn Fn(&FrameId) -> Option<Option<LeftReason>>,
) -> Vec<Hit> {
    let sent = ground.slots.iter().filter(|slot| **slot != PENDING).map(|slot| texts.get(slot));
    let pending = conversation.newest.pending.iter().map(|pending| Some(&pending.bytes));
    let texts: Texts = sent.chain(pending).enumerate().filter_map(|(at, text)| Some((at, text?.clone()))).collect();
    let mut hits = Vec::new();
    for (at, frame) in view.frames.iter().enumerate() {
        let Some(left) = wanted(&frame.id) else { continue };
        let mut units = view.units(frame, &ground.messages);
        units.retain(|laid| match laid.unit {
            Unit::Source { message, .. } => texts.contains_key(&message) || laid.result.is_some(),
            Unit::Made(_) => true,
        });
        if units.is_empty() {
            continue;
        }
        let name = frame.id.to_string();
        let target =
            Target { name: name.clone(), scope: Scope::Frame, frame: Some(at), units, covers: Vec::new(), weight: 0.0 };
        for message in show::message_views(conversation, view, &ground.source(), &target, &texts) {
            let found = message.blocks.iter().filter_map(|block| hit(&name, &message, block, terms));
            hits.extend(found.map(|hit| Hit { sent: hit.sent && left.is_none(), left, ..hit }));
        }
    }
    hits
}

fn hit(frame: &str, message: &MessageView, block: &BlockView, terms: &[String]) -> Option<Hit> {
    Some(Hit {
        id: block.id.clone(),
        frame: frame.to_owned(),
        role: message.role.clone(),
        kind: block.kind.clone(),
        tool: block.tool.clone(),
        sent: block.is_sent(),
        left: None,
        snippet: snippet(&block.text, terms)?,
    })
}

/// The first word with its surroundings, on one line; `None` if a word is missing.
fn snippet(text: &str, terms: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    let places: Option<Vec<(usize, &String)>> = terms.iter().map(|term| Some((lower.find(term)?, term))).collect();
    let (at, needle) = places?.into_iter().min()?;
    // Lower case has the same length, with rare exceptions, which shift the excerpt a little.
    let before = lower.get(..at)?.chars().count();
    let start = before.saturating_sub(AROUND);
    let length = before - start + needle.chars().count() + AROUND;
    let shown: String = text.chars().skip(start).take(length).collect();
    let mut line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if start > 0 {
        line.insert(0, '…');
    }
    if text.chars().nth(start + length).is_some() {
        line.push('…');
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(text: &str, query: &str) -> Option<String> {
        super::snippet(text, &terms(query))
    }

    fn may_hold(message: &[u8], query: &str) -> bool {
        let terms = terms(query);
        super::may_hold(message, &terms.iter().map(|term| longest_run(term)).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_looked_for_one_by_one_and_phrases_whole() {
        assert_eq!(terms("  Connection refused "), ["connection", "refused"]);
        assert_eq!(terms(r#""connection refused" port"#), ["connection refused", "port"]);
        assert_eq!(terms(r#""say \"hi\"" x"#), [r#"say "hi""#, "x"]);
        assert_eq!(terms(r#"a"b "never closed"#), [r#"a"b"#, r#""never"#, "closed"]);
        assert_eq!(terms(r#""" " " word word"#), ["word"]);
        assert!(terms(" \t").is_empty());
    }

    #[test]
    fn all_words_must_be_there_in_any_order() {
        let text = "the port was refused: no connection";
        assert!(snippet(text, "connection refused").is_some());
        assert_eq!(snippet(text, "\"connection refused\""), None);
        assert_eq!(snippet(text, "connection granted"), None);
        assert!(snippet("Connection  refused; connection refused", "\"connection refused\"").is_some());
    }

    #[test]
    fn a_snippet_is_one_line_around_the_words() {
        assert_eq!(snippet("a\n  Needle\tb", "needle").as_deref(), Some("a Needle b"));
        let long = format!("{}NEEDLE{}", "x ".repeat(100), " y".repeat(100));
        let found = snippet(&long, "needle").expect("found");
        assert!(found.starts_with("…x x") && found.ends_with("y y…") && found.contains(" NEEDLE "), "{found}");
        assert_eq!(snippet("İİİİ needle", "needle").as_deref(), Some("İİİİ needle"));
        assert_eq!(snippet("hay", "needle"), None);
    }

    #[test]
    fn a_message_is_only_left_out_when_it_cannot_hold_the_words() {
        assert!(may_hold(br#"{"content":"The NEEDLE"}"#, "needle"));
        assert!(!may_hold(br#"{"content":"hay"}"#, "needle"));
        assert!(!may_hold(br#"{"content":"The needle"}"#, "needle thread"), "one of them is missing");
        assert!(may_hold(br#"{"content":"a\"b"}"#, "a\"b"), "it may be spelt otherwise");
        assert!(may_hold("{\"content\":\"\\u00e9\"}".as_bytes(), "é"));
        assert!(!may_hold(br#"{"content":"hay"}"#, "a \"needle\""), "its plain part is missing");
        assert!(may_hold(b"\xff", "needle"));
    }
}
