//! One message: its blocks are the reasoning beside it, its content and its calls, in this order. A message of role
//! `tool` is a message of the user with one result.

use crate::facts::{Bare, Facts, Reading, string_chars, visible_chars};
use crate::json::{self, Span, key};
use ctx_core::Lexicon;
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;

/// Members that hold reasoning, as the servers name them.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// Tokens of an image; its size is not parsed.
const IMAGE: u32 = 1_000;

/// The positions of a message's parts.
#[derive(Debug, Default, Clone)]
pub(super) struct Parts {
    pub members: Vec<json::Member>,
    pub role: Option<String>,
    /// The members with reasoning, by index.
    pub reasoning: Vec<usize>,
    pub content: Option<usize>,
    /// The elements of a content that is a list.
    pub elements: Option<Vec<Span>>,
    pub calls: Option<usize>,
    pub call_elements: Vec<Span>,
    pub tool_call_id: Option<Span>,
}

/// The position of one block of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Site {
    /// The value of a member with reasoning.
    Reasoning(usize),
    /// The content as one string.
    Text,
    /// An element of the content.
    Element(usize),
    /// An element of the calls.
    Call(usize),
    /// The whole message: the result of a call.
    Whole,
}

impl Parts {
    pub fn read(bytes: &[u8]) -> Parts {
        let mut parts = Parts::default();
        for member in json::members(bytes, 0).into_iter().flatten().flatten() {
            let (at, value) = (parts.members.len(), member.value.clone());
            let is = |first: u8| bytes.get(value.start) == Some(&first);
            match key(bytes, &member).as_ref() {
                "role" => parts.role = json::string_value(bytes, value).map(Cow::into_owned),
                "content" if is(b'[') => {
                    parts.content = Some(at);
                    parts.elements = Some(json::elements(bytes, value.start).into_iter().flatten().flatten().collect());
                }
                "content" if is(b'"') => parts.content = Some(at),
                "tool_calls" if is(b'[') => {
                    parts.calls = Some(at);
                    parts.call_elements = json::elements(bytes, value.start).into_iter().flatten().flatten().collect();
                }
                "tool_call_id" => parts.tool_call_id = Some(value),
                name if REASONING.contains(&name) && (is(b'"') || is(b'[')) => parts.reasoning.push(at),
                _ => {}
            }
            parts.members.push(member);
        }
        parts
    }

    pub fn is_tool(&self) -> bool {
        self.role.as_deref() == Some("tool")
    }

    /// The blocks in order.
    pub fn sites(&self) -> Vec<Site> {
        if self.is_tool() {
            return vec![Site::Whole];
        }
        let reasoning = self.reasoning.iter().map(|at| Site::Reasoning(*at));
        let content: Vec<Site> = match (&self.elements, self.content) {
            (Some(elements), _) => (0..elements.len()).map(Site::Element).collect(),
            (None, Some(_)) => vec![Site::Text],
            (None, None) => Vec::new(),
        };
        reasoning.chain(content).chain((0..self.call_elements.len()).map(Site::Call)).collect()
    }

    pub fn value(&self, member: usize) -> Span {
        self.members.get(member).map_or(0..0, |member| member.value.clone())
    }
}

/// Whether a message at the beginning belongs to the system prompt.
pub(super) fn leads(bytes: &[u8]) -> bool {
    role_of(role_name(bytes).as_deref()) == Role::System
}

fn role_name(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let mut members = json::members(bytes, 0)?.flatten();
    let role = members.find(|member| key(bytes, member) == "role")?;
    json::string_value(bytes, role.value)
}

/// The role of a message. No message has an effective cache breakpoint.
pub(super) fn glance(bytes: &[u8]) -> (Role, bool) {
    (role_of(role_name(bytes).as_deref()), false)
}

fn role_of(name: Option<&str>) -> Role {
    match name {
        Some("user" | "tool") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => Role::Other,
    }
}

/// Parses a message.
pub(super) fn read(bytes: &[u8], lexicon: &Lexicon) -> Reading {
    let parts = Parts::read(bytes);
    let mut facts = Facts::new(bytes, role_of(parts.role.as_deref()), lexicon);
    (facts.cuts, facts.marked) = bare_cuts(bytes, &parts);
    for site in parts.sites() {
        match site {
            Site::Reasoning(at) => {
                let span = parts.value(at);
                let chars = visible_chars(bytes, span.clone(), &|_, _| None).0;
                facts.reasoning(span, (chars, 0), None);
            }
            Site::Text => {
                let span = parts.value(parts.content.unwrap_or_default());
                let text = json::string_value(bytes, span.clone()).unwrap_or_default();
                facts.text(span, &text);
            }
            Site::Element(at) => {
                element(bytes, &parts.elements.as_ref().map_or(0..0, |list| list[at].clone()), &mut facts)
            }
            Site::Call(at) => call(bytes, &parts.call_elements[at], &mut facts),
            Site::Whole => result(bytes, &parts, &mut facts),
        }
    }
    facts.finish()
}

/// The member of an object.
pub(super) fn member(bytes: &[u8], object: &Span, name: &str) -> Option<Span> {
    crate::compose::spell::member(bytes, object.start, name).map(|member| member.value)
}

fn string<'b>(bytes: &'b [u8], object: &Span, name: &str) -> Option<Cow<'b, str>> {
    json::string_value(bytes, member(bytes, object, name)?)
}

fn element(bytes: &[u8], span: &Span, facts: &mut Facts<'_>) {
    let kind = string(bytes, span, "type").unwrap_or_default();
    let bare = Bare { at: span, cut: mark_cut(bytes, span) };
    match kind.as_ref() {
        // Displayed synthetic calls and results beside texts.
        "function" | "custom" => call(bytes, span, facts),
        "" if string(bytes, span, "role").is_some_and(|role| role == "tool") => {
            let id = string(bytes, span, "tool_call_id");
            let size = member(bytes, span, "content").map_or((0, 0), |content| size(bytes, content));
            facts.result(bare, id, size);
        }
        "text" => facts.text(span.clone(), &string(bytes, span, "text").unwrap_or_default()),
        "refusal" => facts.text(span.clone(), &string(bytes, span, "refusal").unwrap_or_default()),
        "image_url" => facts.other(bare, Kind::Image, "image_url", (0, IMAGE)),
        "file" => facts.other(bare, Kind::Document, "file", size(bytes, span.clone())),
        other => facts.other(bare, Kind::Other, other, size(bytes, span.clone())),
    }
}

/// The bytes that do not count for the identity of a message, and whether it has a cache breakpoint: the breakpoints of
/// its parts (C40), or the list around a lone text, which clients write as a string when they move a breakpoint.
pub(super) fn bare_cuts(bytes: &[u8], parts: &Parts) -> (Vec<Span>, bool) {
    let Some(elements) = &parts.elements else { return (Vec::new(), false) };
    let marks: Vec<Span> = elements.iter().filter_map(|element| mark_cut(bytes, element)).collect();
    let is_marked = !marks.is_empty();
    let lone = match (elements.as_slice(), parts.content) {
        ([element], Some(content)) => lone_text(bytes, element).map(|text| (parts.value(content), text)),
        _ => None,
    };
    match lone {
        Some((content, text)) => (vec![content.start..text.start, text.end..content.end], is_marked),
        None => (marks, is_marked),
    }
}

/// The text of a part that has nothing else but a breakpoint.
fn lone_text(bytes: &[u8], part: &Span) -> Option<Span> {
    let mut text = None;
    for member in json::members(bytes, part.start)?.flatten() {
        match key(bytes, &member).as_ref() {
            "type" if bytes.get(member.value.clone()) == Some(br#""text""#.as_slice()) => {}
            "text" if bytes.get(member.value.start) == Some(&b'"') => text = Some(member.value),
            "cache_control" => {}
            _ => return None,
        }
    }
    text
}

/// The element with a cache breakpoint at its end. A text becomes a list only if `may_list`: a server that reads lists
/// only beside tools would lose it (C24).
pub(super) fn marked(bytes: &[u8], mark: &[u8], may_list: bool) -> Option<Vec<u8>> {
    let parts = Parts::read(bytes);
    let with_mark = |mut before: Vec<u8>| {
        before.extend_from_slice(b"\"cache_control\":");
        before.extend_from_slice(mark);
        before
    };
    let edit = match (&parts.elements, parts.content) {
        // Calls stand behind the content, so a breakpoint there would not cover the message.
        _ if !parts.call_elements.is_empty() => return None,
        (Some(elements), _) => {
            let last = elements.last()?;
            let (at, comma) = crate::compose::spell::end_of_members(bytes, last);
            (at..at, with_mark(if comma { b",".to_vec() } else { Vec::new() }))
        }
        (None, Some(content)) if may_list => {
            let value = parts.value(content);
            let text = bytes.get(value.clone()).filter(|text| text.len() > 2)?;
            let mut list = with_mark([br#"[{"type":"text","text":"#.as_slice(), text, b","].concat());
            list.extend_from_slice(b"}]");
            (value, list)
        }
        _ => return None,
    };
    Some(crate::compose::spell::spliced(bytes, vec![edit]))
}

/// The cache breakpoint of a part, with its comma.
fn mark_cut(bytes: &[u8], span: &Span) -> Option<Span> {
    memchr::memmem::find(bytes.get(span.clone())?, b"\"cache_control\"")?;
    let members: Vec<json::Member> = json::members(bytes, span.start)?.flatten().collect();
    let wholes: Vec<Span> = members.iter().map(json::Member::whole).collect();
    let at = members.iter().position(|member| key(bytes, member) == "cache_control")?;
    Some(crate::compose::spell::cut(&wholes, at))
}

fn call(bytes: &[u8], span: &Span, facts: &mut Facts<'_>) {
    let function = member(bytes, span, "function").or_else(|| member(bytes, span, "custom"));
    let within = |name: &str| function.as_ref().and_then(|function| string(bytes, function, name));
    let name = within("name").unwrap_or_default();
    let input = within("arguments").or_else(|| within("input")).unwrap_or_default();
    facts.call(Bare { at: span, cut: None }, string(bytes, span, "id"), name, input.as_bytes());
}

fn result(bytes: &[u8], parts: &Parts, facts: &mut Facts<'_>) {
    let whole = 0..bytes.len();
    let id = parts.tool_call_id.clone().and_then(|span| json::string_value(bytes, span));
    let size = match (&parts.elements, parts.content) {
        (Some(elements), _) => elements.iter().fold((0, 0), |(chars, fixed), span| {
            let text = member(bytes, span, "text").map(|text| string_chars(&bytes[text]));
            let (more, tokens) = text.map_or_else(|| size(bytes, span.clone()), |chars| (chars, 0));
            (chars + more, fixed + tokens)
        }),
        (None, Some(content)) => (string_chars(&bytes[parts.value(content)]), 0),
        (None, None) => (0, 0),
    };
    facts.result(Bare { at: &whole, cut: None }, id, size);
}

/// The characters and image tokens of a value that the model reads.
fn size(bytes: &[u8], span: Span) -> (u32, u32) {
    visible_chars(bytes, span, &|bytes, members| {
        let image = members.iter().find(|member| key(bytes, member) == "image_url")?;
        Some((image.value.clone(), IMAGE))
    })
}
