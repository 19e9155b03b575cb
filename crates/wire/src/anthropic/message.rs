//! One message: what it says, how it is recognised, and where its cache marks stand.

use super::arguments::{main_argument, touch};
use super::image;
use crate::json::{self, Member, Span};
use crate::wire::Reading;
use ctx_core::ToolRole;
use ctx_core::key::{Key, KeyBuilder};
use ctx_core::lexicon::{Lexicon, SUMMARY_TITLE, Speech};
use ctx_core::message::{Anchor, Block, Kind, Message, Role};
use ctx_core::title::line;
use std::borrow::Cow;

/// A text of at least this many characters is not said twice by chance.
const LONG_TEXT: usize = 80;

/// Reads a message; `lexicon` tells the client's words from the human's, and tools by their names. Anything that is not
/// a message is carried as one of role `Other`.
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
    let mut reader = Reader::new(bytes, role, lexicon);
    match content {
        Some(span) if bytes.get(span.start) == Some(&b'[') => reader.list(span),
        Some(span) if bytes.get(span.start) == Some(&b'"') => reader.text(span.clone(), span),
        _ => {}
    }
    reader.finish()
}

/// The role of a message and whether any block carries a cache mark, without reading what it says.
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

/// What is remembered of a thinking block's signature.
pub fn signature(text: &str) -> Key {
    Key::of([b"signature".as_slice(), text.as_bytes()])
}

/// Where the cache mark of the object at `at` stands, with the comma that goes with it.
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

pub(super) fn key<'a>(bytes: &'a [u8], member: &Member) -> Cow<'a, str> {
    json::decode(bytes.get(member.key.clone()).unwrap_or_default())
}

/// The members of a block that mean something to us.
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

    /// The mark with the comma that goes with it.
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
    lexicon: &'a Lexicon,
    role: Role,
    key: KeyBuilder,
    spoken: String,
    anchors: Vec<Anchor>,
    blocks: Vec<Block>,
    cuts: Vec<Span>,
    marked: bool,
    speech: Option<(u32, String)>,
    command: Option<(u32, String)>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], role: Role, lexicon: &'a Lexicon) -> Self {
        Reader {
            bytes,
            lexicon,
            role,
            key: KeyBuilder::default(),
            spoken: String::new(),
            anchors: Vec::new(),
            blocks: Vec::new(),
            cuts: Vec::new(),
            marked: false,
            speech: None,
            command: None,
        }
    }

    fn list(&mut self, list: Span) {
        let spans: Vec<Span> = json::elements(self.bytes, list.start).into_iter().flatten().flatten().collect();
        for span in &spans {
            let fields = Fields::read(self.bytes, span.start);
            self.marked |= fields.mark.is_some();
            let kind = self.string(&fields.kind).unwrap_or_default();
            let plain = fields.members.len() == 2 + usize::from(fields.mark.is_some());
            match (spans.len(), kind.as_ref(), &fields.text) {
                (1, "text", Some(text)) if plain && self.bytes.get(text.start) == Some(&b'"') => {
                    // A lone text block and a plain string are the same message in other clothes.
                    self.cuts.push(list.start..text.start);
                    self.cuts.push(text.end..list.end);
                }
                _ => self.cuts.extend(fields.mark_cut()),
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
        let words = self.lexicon.without_reminders(&text);
        let words = words.trim();
        let index = self.blocks.len() as u32;
        let mut kind = if self.role == Role::System { Kind::Reminder } else { Kind::Text };
        if !words.is_empty() {
            self.spoken.push_str(words);
            self.spoken.push('\n');
        }
        let label = match (self.role, self.lexicon.judge(words)) {
            (Role::User, Speech::Injected) => {
                kind = Kind::Reminder;
                Some(line(words)).filter(|words| !words.is_empty())
            }
            (Role::User, Speech::Human(title)) => {
                match &mut self.speech {
                    // The client's summary gives way to what the human says behind it.
                    Some((_, said)) if said == SUMMARY_TITLE => said.clone_from(&title),
                    Some(_) => {}
                    None => self.speech = Some((index, title.clone())),
                }
                Some(title)
            }
            (Role::User, Speech::Command(title)) => {
                // The client has answered the earlier ones by itself; the last is the one that the model is asked.
                let first = self.command.as_ref().map_or(index, |(first, _)| *first);
                self.command = Some((first, title.clone()));
                Some(title)
            }
            _ => Some(line(words)),
        };
        self.push(at, kind, text.chars().count() as u32, 0, label);
    }

    fn thinking(&mut self, at: Span, fields: &Fields) {
        let signature =
            self.string(&fields.secret).filter(|secret| !secret.is_empty()).map(|secret| signature(&secret));
        self.anchors.extend(signature.map(Anchor::Id));
        let chars = fields.thinking.clone().map_or(0, |span| string_chars(&self.bytes[span]));
        self.push(at, Kind::Thinking, chars, 0, None);
        if let Some(block) = self.blocks.last_mut() {
            block.signature = signature;
        }
    }

    fn call(&mut self, at: Span, fields: &Fields) {
        let name = self.string(&fields.name).unwrap_or_default();
        let id = self.id(b"call", &fields.id, &at, fields);
        let input = fields.input.clone().unwrap_or(0..0);
        let label = main_argument(self.bytes, input.clone(), self.lexicon).map(|text| line(&text));
        let chars = name.chars().count() as u32 + visible_chars(self.bytes, input).0;
        let role = self.lexicon.role(&name);
        let touches = touch(self.bytes, role, fields.input.clone(), self.lexicon);
        self.push(at, Kind::ToolUse, chars, 0, label);
        self.tool(Some(name), id);
        if let Some(block) = self.blocks.last_mut() {
            block.role = role;
            block.touches = touches.map(Box::new);
        }
    }

    fn result(&mut self, at: Span, fields: &Fields) {
        let id = self.id(b"result", &fields.tool_use_id, &at, fields);
        let (chars, fixed) = fields.content.clone().map_or((0, 0), |span| visible_chars(self.bytes, span));
        self.push(at, Kind::ToolResult, chars, fixed, None);
        self.tool(None, id);
    }

    fn other(&mut self, at: Span, kind: &str, fields: &Fields) {
        self.feed_raw(kind.as_bytes(), &at, fields);
        let (chars, fixed) = visible_chars(self.bytes, at.clone());
        match kind {
            "image" => self.push(at, Kind::Image, 0, image::tokens(self.bytes, fields.source.clone()), None),
            "document" => self.push(at, Kind::Document, chars, fixed, None),
            _ => self.push(at, Kind::Other, chars, fixed, (!kind.is_empty()).then(|| line(kind))),
        }
    }

    fn push(&mut self, at: Span, kind: Kind, chars: u32, fixed_tokens: u32, label: Option<String>) {
        let label = label.filter(|label| !label.is_empty()).map(String::into_boxed_str);
        let at = at.start as u32..at.end as u32;
        self.blocks.push(Block {
            kind,
            at,
            chars,
            fixed_tokens,
            tool: None,
            role: ToolRole::Other,
            tool_use_id: None,
            signature: None,
            label,
            touches: None,
        });
    }

    fn tool(&mut self, name: Option<Cow<'_, str>>, id: Option<String>) {
        if let Some(block) = self.blocks.last_mut() {
            block.tool = name.map(|name| name.as_ref().into());
            block.tool_use_id = id.map(String::into_boxed_str);
        }
    }

    /// An id recognises the block whatever became of the rest; a block without one is its bytes.
    fn id(&mut self, what: &[u8], id: &Option<Span>, at: &Span, fields: &Fields) -> Option<String> {
        let id = self.string(id).map(Cow::into_owned).filter(|id| !id.is_empty());
        match &id {
            Some(id) => {
                self.anchors.push(Anchor::Id(Key::of([what, id.as_bytes()])));
                self.key.feed(what);
                self.key.feed(id.as_bytes());
            }
            None => self.feed_raw(what, at, fields),
        }
        id
    }

    /// The bytes of a block without its mark, which comes and goes.
    fn feed_raw(&mut self, kind: &[u8], at: &Span, fields: &Fields) {
        self.key.feed(kind);
        match fields.mark_cut() {
            Some(cut) => self.key.feed(&[&self.bytes[at.start..cut.start], &self.bytes[cut.end..at.end]].concat()),
            None => self.key.feed(&self.bytes[at.clone()]),
        }
    }

    fn string(&self, span: &Option<Span>) -> Option<Cow<'a, str>> {
        json::string_value(self.bytes, span.clone()?)
    }

    fn finish(mut self) -> Reading {
        let spoken = self.spoken.trim_end();
        if spoken.chars().nth(LONG_TEXT - 1).is_some() {
            self.anchors.push(Anchor::Text(Key::of([self.role.name().as_bytes(), spoken.as_bytes()])));
        }
        if !spoken.is_empty() {
            self.key.feed(spoken.as_bytes());
        }
        if self.key.is_empty() {
            // Only reminders, only thinking, or not a message at all: it is what its bytes are.
            let bare = crate::dress::undress(self.bytes, &self.cuts).0;
            self.key.feed(&bare);
        }
        self.key.feed(self.role.name().as_bytes());
        let speaks = self.speaks();
        let title = match self.role {
            Role::User => {
                self.speech.or(self.command).map(|(_, title)| title).or_else(|| speaks.map(|_| "[image]".to_owned()))
            }
            _ => self
                .blocks
                .iter()
                .find(|block| block.kind == Kind::Text)
                .and_then(|block| block.label.as_deref().map(str::to_owned)),
        };
        let facts = Message {
            role: self.role,
            key: self.key.finish(),
            anchors: self.anchors,
            blocks: self.blocks,
            speaks,
            title: title.map(String::into_boxed_str),
        };
        Reading { facts, cuts: self.cuts, marked: self.marked }
    }

    /// The block from which on a human speaks: behind the tool results, if there are any.
    fn speaks(&self) -> Option<u32> {
        let results =
            self.blocks.iter().rposition(|block| block.kind == Kind::ToolResult).map_or(0, |last| last as u32 + 1);
        let shown =
            self.blocks.iter().position(|block| matches!(block.kind, Kind::Image | Kind::Document)).map(|at| at as u32);
        let first = self.speech.as_ref().or(self.command.as_ref()).map(|(at, _)| *at).or(shown)?;
        (self.role == Role::User).then_some(if first >= results { results } else { first })
    }
}

/// Characters of a string value, quotes and escapes not counted.
fn string_chars(raw: &[u8]) -> u32 {
    let bytes = raw.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let mut extra = 2;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &raw[at..]) {
        let unicode = raw.get(at + found + 1) == Some(&b'u');
        extra += if unicode { 5 } else { 1 };
        at = (at + found + if unicode { 6 } else { 2 }).min(raw.len());
    }
    bytes.saturating_sub(extra) as u32
}

/// Characters, and tokens of images, that the model reads of a value. Encrypted fields are not read.
fn visible_chars(bytes: &[u8], span: Span) -> (u32, u32) {
    // Each level is scanned once more, so a value that is nested deeper is counted by its bytes.
    const DEEP: usize = 8;
    fn walk(bytes: &[u8], span: Span, depth: usize) -> (u32, u32) {
        let mut sum = (0, 0);
        let mut add = |(chars, fixed): (u32, u32)| sum = (sum.0 + chars, sum.1 + fixed);
        match bytes.get(span.start) {
            Some(b'"') => add((string_chars(&bytes[span]), 0)),
            Some(b'[') if depth < DEEP => {
                json::elements(bytes, span.start)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .for_each(|item| add(walk(bytes, item, depth + 1)));
            }
            Some(b'{') if depth < DEEP => {
                let members: Vec<Member> = json::members(bytes, span.start).into_iter().flatten().flatten().collect();
                let is_image =
                    members.iter().any(|m| key(bytes, m) == "type" && &bytes[m.value.clone()] == b"\"image\"");
                for member in members {
                    match key(bytes, &member).as_ref() {
                        "source" if is_image => add((0, image::tokens(bytes, Some(member.value)))),
                        "signature" | "cache_control" | "data" => {}
                        name if name.starts_with("encrypted_") => {}
                        _ => {
                            add((member.key.len() as u32 + 4, 0));
                            add(walk(bytes, member.value, depth + 1));
                        }
                    }
                }
            }
            _ => add((span.len() as u32, 0)),
        }
        sum
    }
    walk(bytes, span, 0)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
