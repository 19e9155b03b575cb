//! One message: its facts, its key, and the positions of its cache breakpoints.

use super::image;
use crate::facts::{Bare, Facts, Reading, signature, string_chars, visible_chars};
use crate::json::{self, Member, Span, key};
use ctx_core::lexicon::Lexicon;
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;

/// Parses a message; `lexicon` distinguishes the client's words from the human's, and recognises tools. Anything that
/// is not a message gets the role `Other`.
pub fn read(bytes: &[u8], lexicon: &Lexicon) -> Reading {
    let mut role = Role::Other;
    let mut content = None;
    for member in json::members(bytes, 0).into_iter().flatten().flatten() {
        match key(bytes, &member).as_ref() {
            "role" => role = role_of(json::string_value(bytes, member.value).as_deref()),
            "content" => content = Some(member.value),
            _ => {}
        }
    }
    let mut reader = Reader { bytes, facts: Facts::new(bytes, role, lexicon) };
    match content {
        Some(span) if bytes.get(span.start) == Some(&b'[') => reader.list(span),
        Some(span) if bytes.get(span.start) == Some(&b'"') => reader.text(span.clone(), span),
        _ => {}
    }
    reader.facts.finish()
}

/// The role of a message, and whether a block has a cache breakpoint, without parsing the content.
pub fn glance(bytes: &[u8]) -> (Role, bool) {
    let (mut role, mut marked) = (Role::Other, false);
    for member in json::members(bytes, 0).into_iter().flatten().flatten() {
        match key(bytes, &member).as_ref() {
            "role" => role = role_of(json::string_value(bytes, member.value).as_deref()),
            "content" => {
                let blocks = json::elements(bytes, member.value.start).into_iter().flatten().flatten();
                marked = blocks.into_iter().any(|block| Fields::read(bytes, block.start).mark.is_some());
            }
            _ => {}
        }
    }
    (role, marked)
}

/// The cache breakpoint of the object at `at`, with its comma.
pub fn mark(bytes: &[u8], at: usize) -> Option<Span> {
    Fields::read(bytes, at).mark_cut()
}

fn role_of(name: Option<&str>) -> Role {
    match name {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::Other,
    }
}

/// The known members of a block.
#[derive(Default)]
struct Fields {
    members: Vec<Member>,
    kind: Option<Span>,
    text: Option<Span>,
    id: Option<Span>,
    tool_use_id: Option<Span>,
    name: Option<Span>,
    input: Option<Span>,
    content: Option<Span>,
    thinking: Option<Span>,
    secret: Option<Span>,
    source: Option<Span>,
    mark: Option<usize>,
}

impl Fields {
    fn read(bytes: &[u8], at: usize) -> Fields {
        let mut fields = Fields::default();
        for member in json::members(bytes, at).into_iter().flatten().flatten() {
            let value = Some(member.value.clone());
            match key(bytes, &member).as_ref() {
                "type" => fields.kind = value,
                "text" => fields.text = value,
                "id" => fields.id = value,
                "tool_use_id" => fields.tool_use_id = value,
                "name" => fields.name = value,
                "input" => fields.input = value,
                "content" => fields.content = value,
                "thinking" => fields.thinking = value,
                "signature" | "data" => fields.secret = value,
                "source" => fields.source = value,
                "cache_control" => fields.mark = Some(fields.members.len()),
                _ => {}
            }
            fields.members.push(member);
        }
        fields
    }

    /// The breakpoint, with its comma.
    fn mark_cut(&self) -> Option<Span> {
        let at = self.mark?;
        let whole = self.members[at].whole();
        Some(match (at.checked_sub(1).and_then(|before| self.members.get(before)), self.members.get(at + 1)) {
            (Some(before), _) => before.value.end..whole.end,
            (None, Some(after)) => whole.start..after.whole().start,
            (None, None) => whole,
        })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    facts: Facts<'a>,
}

impl<'a> Reader<'a> {
    fn list(&mut self, list: Span) {
        let spans: Vec<Span> = json::elements(self.bytes, list.start).into_iter().flatten().flatten().collect();
        for span in &spans {
            let fields = Fields::read(self.bytes, span.start);
            self.facts.marked |= fields.mark.is_some();
            let kind = self.string(&fields.kind).unwrap_or_default();
            let plain = fields.members.len() == 2 + usize::from(fields.mark.is_some());
            match (spans.len(), kind.as_ref(), &fields.text) {
                (1, "text", Some(text)) if plain && self.bytes.get(text.start) == Some(&b'"') => {
                    // A lone text block and a plain string are two spellings of the same message.
                    self.facts.cuts.push(list.start..text.start);
                    self.facts.cuts.push(text.end..list.end);
                }
                _ => self.facts.cuts.extend(fields.mark_cut()),
            }
            self.block(span.clone(), &kind, &fields);
        }
    }

    fn block(&mut self, at: Span, kind: &str, fields: &Fields) {
        match kind {
            "text" => self.text(at, fields.text.clone().unwrap_or(0..0)),
            "thinking" | "redacted_thinking" => self.thinking(at, fields),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(at, fields),
            _ if kind.ends_with("tool_result") => self.result(at, fields),
            _ => self.other(at, kind, fields),
        }
    }

    fn text(&mut self, at: Span, text: Span) {
        let text = json::string_value(self.bytes, text).unwrap_or_default();
        self.facts.text(at, &text);
    }

    fn thinking(&mut self, at: Span, fields: &Fields) {
        let signature =
            self.string(&fields.secret).filter(|secret| !secret.is_empty()).map(|secret| signature(&secret));
        let chars = fields.thinking.clone().map_or(0, |span| string_chars(&self.bytes[span]));
        self.facts.reasoning(at, (chars, 0), signature);
    }

    fn call(&mut self, at: Span, fields: &Fields) {
        let name = self.string(&fields.name).unwrap_or_default();
        let input = fields.input.clone().and_then(|span| self.bytes.get(span)).unwrap_or_default();
        self.facts.call(Bare { at: &at, cut: fields.mark_cut() }, self.string(&fields.id), name, input);
    }

    fn result(&mut self, at: Span, fields: &Fields) {
        let size = fields.content.clone().map_or((0, 0), |span| size(self.bytes, span));
        self.facts.result(Bare { at: &at, cut: fields.mark_cut() }, self.string(&fields.tool_use_id), size);
    }

    fn other(&mut self, at: Span, named: &str, fields: &Fields) {
        let (kind, size) = match named {
            "image" => (Kind::Image, (0, image::tokens(self.bytes, fields.source.clone()))),
            "document" => (Kind::Document, size(self.bytes, at.clone())),
            _ => (Kind::Other, size(self.bytes, at.clone())),
        };
        self.facts.other(Bare { at: &at, cut: fields.mark_cut() }, kind, named, size);
        // A failed compaction has no content, and the provider ignores it.
        if named == "compaction" && self.string(&fields.content).is_some_and(|content| !content.is_empty()) {
            self.facts.sums_up();
        }
    }

    fn string(&self, span: &Option<Span>) -> Option<Cow<'a, str>> {
        json::string_value(self.bytes, span.clone()?)
    }
}

/// The characters and image tokens of a value that the model reads.
fn size(bytes: &[u8], span: Span) -> (u32, u32) {
    visible_chars(bytes, span, &|bytes, members| {
        let is_image = members.iter().any(|m| key(bytes, m) == "type" && &bytes[m.value.clone()] == b"\"image\"");
        let source = members.iter().find(|member| key(bytes, member) == "source").filter(|_| is_image)?;
        Some((source.value.clone(), image::tokens(bytes, Some(source.value.clone()))))
    })
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
