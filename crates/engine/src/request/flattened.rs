//! Side requests that carry the history as one text, such as summaries and safety checks: removed texts are cut out where
//! they occur verbatim. Such a request has no message of the conversation, so it cannot be composed.

use crate::compose::{Ground, OutgoingRequest};
use crate::conversation::Conversation;
use crate::conversation::sent_parts::Part;
use crate::{Engine, Problem};
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::message::Message;
use ctx_core::reconcile::{Sighting, reconcile};
use ctx_core::{Content, ErrorCode};
use ctx_wire::body::Body;
use std::collections::HashSet;
use std::ops::Range;

/// The minimum length of a text. Shorter ones may occur by chance.
const SHORTEST: usize = 24;

/// The number of leading characters to search for. Clients truncate long results.
const HEAD: usize = 200;

/// Replaces a text that an edit removed.
const REMOVED: &str = "[removed]";

/// A request without the removed texts, and the number of texts found.
pub struct CutRequest {
    pub outgoing: OutgoingRequest,
    pub found: usize,
    pub removed: usize,
}

impl Engine {
    /// Cuts the removed texts out of a request; `None` if it contains none of them, or messages of the conversation.
    /// `same`: the number of messages that it shares with the path.
    pub(super) fn cut(
        &self,
        conversation: &Conversation,
        body: &Body,
        same: usize,
    ) -> Result<Option<CutRequest>, Problem> {
        if !conversation.is_edited() || same > 0 || carries_messages(conversation, body) {
            return Ok(None);
        }
        match self.with_newest(conversation, |newest| removed_texts(conversation, newest.body)) {
            Ok(texts) => Ok(cut(&texts, body)),
            Err(refusal) if refusal.code == ErrorCode::Store => Err(Problem::History(refusal)),
            Err(_) => Ok(None),
        }
    }

    /// The number of the conversation's texts in a request that carries a history as one text; 0 unless an answer or a
    /// result is among them, because people begin several conversations with the same words.
    pub fn carried_texts(&self, conversation: &Conversation, body: &Body) -> usize {
        self.with_newest(conversation, |newest| carried_texts(conversation, newest.body, body)).unwrap_or(0)
    }
}

fn cut(texts: &[(String, String)], body: &Body) -> Option<CutRequest> {
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let mut found = 0;
    for (text, by) in texts {
        let places = places_of(text, body.bytes());
        found += usize::from(!places.is_empty());
        edits.extend(places.into_iter().map(|place| (place, by.as_str())));
    }
    edits.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
    let mut parts = Vec::new();
    let mut at = 0;
    for (place, by) in edits {
        if place.start < at {
            continue;
        }
        parts.push(Part::Source(at..place.start));
        parts.push(Part::Made(escaped(by).into_bytes()));
        at = place.end;
    }
    parts.push(Part::Source(at..body.bytes().len()));
    let outgoing = OutgoingRequest { parts, betas: Vec::new(), asks_to_drop: false, otherwise: None };
    (found > 0).then_some(CutRequest { outgoing, found, removed: texts.len() })
}

fn carried_texts(conversation: &Conversation, history: &Body, body: &Body) -> usize {
    let (mut texts, mut answers) = (0, 0);
    for (at, slot) in conversation.messages.tree.path().enumerate() {
        let contents = conversation.wire().contents(history.message(at));
        let words = contents.iter().filter_map(words).filter(|text| text.len() >= SHORTEST);
        let found = words.filter(|text| !places_of(text, body.bytes()).is_empty()).count();
        texts += found;
        answers += if slot.message.speaks.is_none() { found } else { 0 };
    }
    if answers > 0 { texts } else { 0 }
}

/// Whether a request contains a message of the conversation, and is therefore composed.
fn carries_messages(conversation: &Conversation, body: &Body) -> bool {
    let read = |at: usize| body.read_message(at, ctx_clients::lexicon()).facts;
    let rest: Vec<Message> = (0..body.spans().messages.len()).map(read).collect();
    let sighting = Sighting { same: 0, rest: &rest, compacted: false, unanswered: false };
    reconcile(&conversation.messages.tree, &sighting).known() > 0
}

/// The client's texts that are not sent unchanged, each with its replacement. The pending reply counts: the client has it.
fn removed_texts(conversation: &Conversation, history: &Body) -> Vec<(String, String)> {
    let count = history.spans().messages.len();
    let bytes = |message: usize| match message.checked_sub(count) {
        None => history.message(message),
        Some(at) => conversation.newest.pending.get(at).map_or(&[][..], |pending| &pending.bytes),
    };
    let ground = Ground::of(conversation, true);
    let view = ground.lay(conversation.effects(conversation.history.head()));
    let mut texts = Vec::new();
    let mut told: HashSet<EffectId> = HashSet::new();
    for laid in view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages)) {
        let Unit::Source { message, block: Some(block) } = laid.unit else { continue };
        if laid.covered.is_none() && laid.result.is_none() {
            continue;
        }
        let content = conversation.wire().contents(bytes(message)).into_iter().nth(block);
        let Some(text) = content.as_ref().and_then(words).filter(|text| text.len() >= SHORTEST) else { continue };
        texts.push((text, replacement(&view, &laid, &mut told)));
    }
    texts
}

fn words(content: &Content) -> Option<String> {
    match content {
        Content::Text { text } => Some(text.clone()),
        Content::Result { parts, .. } => {
            let texts: Vec<&str> = parts.iter().filter_map(Content::as_text).collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

/// The replacement of a removed text. If one edit covers several, the first one gets it.
fn replacement(view: &View<'_>, laid: &ViewUnit, told: &mut HashSet<EffectId>) -> String {
    let Some(covered) = laid.covered else { return view.new_result(laid).unwrap_or(REMOVED).to_owned() };
    let made = view.effect(covered).map(Effect::made).unwrap_or_default();
    let texts: Vec<&str> = made.iter().flat_map(|made| &made.content).filter_map(Content::as_text).collect();
    match (told.insert(covered), texts.is_empty()) {
        (true, false) => texts.join("\n"),
        (true, true) | (false, true) => REMOVED.to_owned(),
        (false, false) => String::new(),
    }
}

/// The text as in a JSON string, without quotes.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// The positions of a text in JSON, whole or truncated behind its head.
fn places_of(text: &str, body: &[u8]) -> Vec<Range<usize>> {
    let text = text.trim();
    let head: String = text.chars().take(HEAD).collect();
    let starts: Vec<usize> = memchr::memmem::find_iter(body, escaped(&head).as_bytes()).collect();
    if starts.is_empty() {
        return Vec::new();
    }
    let whole = escaped(text);
    let reach = |start: usize| {
        let same = body[start..].iter().zip(whole.as_bytes()).take_while(|(one, other)| one == other).count();
        // No character or escape is split.
        let mut end = 0;
        for character in text.chars() {
            let length = escaped(character.encode_utf8(&mut [0; 4])).len();
            if end + length > same {
                break;
            }
            end += length;
        }
        start..start + end
    };
    starts.into_iter().map(reach).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_whole_or_cut_off_and_nothing_is_torn() {
        let text = "a \"quoted\" line\nand another one";
        let body = serde_json::json!({"text": format!("[User]: {text} [Assistant]: ok")}).to_string();
        let found = places_of(text, body.as_bytes());
        assert_eq!(found.len(), 1);
        assert_eq!(&body[found[0].clone()], r#"a \"quoted\" line\nand another one"#);

        let long = "ü\n".repeat(300);
        let cut: String = long.chars().take(250).collect();
        let body = serde_json::json!({"text": format!("{cut}… truncated")}).to_string();
        let found = places_of(&long, body.as_bytes());
        assert_eq!(&body[found[0].end..], "… truncated\"}");
        assert_eq!(places_of("a text that is not in it at all", body.as_bytes()), []);
    }
}
