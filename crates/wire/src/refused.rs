//! The part of a request that a provider's refusal names: by its path (`messages.3.content.1`, `input[66].id`,
//! `contents[1].parts[0]`), or by an id.

use crate::body::Body;
use crate::json::{self, Span, key_is};

/// The words of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused<'r> {
    pub message: &'r str,
    /// The path that stands beside the message.
    pub param: Option<&'r str>,
}

/// A part of the request as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPart {
    pub at: Span,
    /// Whether the part does not belong there at all, as opposed to its content.
    pub misplaced: bool,
}

/// Members that tell what a part is and belongs to, not its content.
const STRUCTURE: [&str; 7] = ["role", "type", "id", "call_id", "tool_call_id", "name", "tool_calls"];

/// The members that hold ids.
const IDS: [&str; 3] = ["id", "call_id", "tool_call_id"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'p> {
    Member(&'p str),
    Element(usize),
}

impl Refused<'_> {
    /// The part that a path names.
    pub(crate) fn by_path(&self, sent: &Body) -> Option<RefusedPart> {
        let texts = [self.param, Some(self.message)];
        texts.into_iter().flatten().find_map(|text| {
            let path = path(text, sent.wire().shape().list)?;
            let Some((Step::Element(index), rest)) = path.split_first() else { return None };
            part(sent.bytes(), element(sent, *index)?, rest)
        })
    }
}

/// The element of the history with this index, which also counts those of the system prompt.
pub(crate) fn element(sent: &Body, index: usize) -> Option<Span> {
    let spans = sent.spans();
    spans.lead.iter().chain(&spans.messages).nth(index).cloned()
}

/// The parts with an id: elements of the history, or calls inside them; `is_fit` selects by the element's JSON.
pub(crate) fn with_id(sent: &Body, id: &str, is_fit: impl Fn(&[u8]) -> bool) -> Vec<RefusedPart> {
    let (bytes, spans) = (sent.bytes(), sent.spans());
    let is_named = |at: &Span| {
        let mut members = json::members(bytes, at.start).into_iter().flatten().flatten();
        members.any(|member| {
            IDS.iter().any(|name| key_is(&bytes[member.key.clone()], name))
                && json::string_value(bytes, member.value.clone()).as_deref() == Some(id)
        })
    };
    let mut found = Vec::new();
    for span in spans.lead.iter().chain(&spans.messages).filter(|span| is_fit(&bytes[(*span).clone()])) {
        let calls = member(bytes, span, "tool_calls").and_then(|calls| json::elements(bytes, calls.start));
        let calls = calls.into_iter().flatten().flatten();
        found.extend([span.clone()].into_iter().chain(calls).filter(is_named));
    }
    found.into_iter().map(|at| RefusedPart { at, misplaced: true }).collect()
}

/// The word behind `before`, without punctuation.
pub(crate) fn word_behind<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(before)?;
    let word = rest.split([' ', ',', '\n']).next()?;
    let word = word.trim_matches(['\'', '"', '`', '.', ':', '(', ')']);
    (!word.is_empty()).then_some(word)
}

/// The first path in a text that begins with an element of `list`.
fn path<'t>(text: &'t str, list: &str) -> Option<Vec<Step<'t>>> {
    text.match_indices(list).find_map(|(at, _)| {
        let steps = steps(text.get(at + list.len()..)?);
        matches!(steps.first(), Some(Step::Element(_))).then_some(steps)
    })
}

fn steps(mut rest: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    loop {
        let dotted = rest.strip_prefix('.');
        let after = dotted.unwrap_or(rest);
        if let Some((digits, behind)) = after.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            let Ok(index) = digits.parse() else { return steps };
            steps.push(Step::Element(index));
            rest = behind;
            continue;
        }
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        if dotted.is_none() || name.is_empty() {
            return steps;
        }
        steps.push(name.parse().map_or(Step::Member(name), Step::Element));
        rest = behind;
    }
}

/// The value at the end of a path, as far as the path leads. Names that are no members are types of a choice.
fn part(bytes: &[u8], start: Span, path: &[Step<'_>]) -> Option<RefusedPart> {
    let mut at = start;
    for (place, step) in path.iter().enumerate() {
        let next = match step {
            Step::Element(index) => match json::elements(bytes, at.start) {
                Some(mut elements) => elements.nth(*index)?.ok(),
                None => None,
            },
            Step::Member(name) if place + 1 == path.len() && STRUCTURE.contains(name) => {
                return Some(RefusedPart { at, misplaced: true });
            }
            Step::Member(name) => match member(bytes, &at, name) {
                None => continue,
                found => found,
            },
        };
        let Some(next) = next else { break };
        at = next;
    }
    Some(RefusedPart { at, misplaced: false })
}

/// A member in either spelling of its name: `function_response`, `functionResponse`.
fn member(bytes: &[u8], object: &Span, name: &str) -> Option<Span> {
    let mut members = json::members(bytes, object.start)?.flatten();
    let camel = camel(name);
    members.find_map(|member| {
        let key = bytes.get(member.key.clone())?;
        (key_is(key, name) || key_is(key, &camel)).then(|| member.value.clone())
    })
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_ascii_uppercase() + tail
    })
}

#[cfg(test)]
mod tests;
