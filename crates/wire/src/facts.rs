//! Builds the facts of one message, for every wire: its key, its speaker and its blocks.

use crate::arguments::{main_argument, touch};
use crate::json::{self, Member, Span, key};
use ctx_core::ToolRole;
use ctx_core::key::{Key, KeyBuilder};
use ctx_core::lexicon::{Lexicon, SUMMARY_TITLE, Speech};
use ctx_core::message::{Anchor, Block, Kind, Message, Role};
use ctx_core::title::line;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text of at least this many characters does not occur twice by chance.
const LONG_TEXT: usize = 80;

/// A message parsed from its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub facts: Message,
    /// The cuts that produce the bare message: cache breakpoints, and the list around a single text.
    pub cuts: Vec<Span>,
    /// Whether a block has a cache breakpoint.
    pub marked: bool,
}

/// Collects the blocks of a message; `lexicon` distinguishes the client's words from the human's, and recognises tools.
pub struct Facts<'a> {
    bytes: &'a [u8],
    lexicon: &'a Lexicon,
    role: Role,
    key: KeyBuilder,
    spoken: String,
    anchors: Vec<Anchor>,
    blocks: Vec<Block>,
    /// The cuts that produce the bare message.
    pub cuts: Vec<Span>,
    /// Whether a block has a cache breakpoint.
    pub marked: bool,
    speech: Option<(u32, String)>,
    command: Option<(u32, String)>,
}

/// The bytes that identify a block without an id: everything but its cache breakpoint.
pub struct Bare<'s> {
    pub at: &'s Span,
    pub cut: Option<Span>,
}

impl<'a> Facts<'a> {
    pub fn new(bytes: &'a [u8], role: Role, lexicon: &'a Lexicon) -> Self {
        Facts {
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

    /// Adds a text of the human, the model or the client.
    pub fn text(&mut self, at: Span, text: &str) {
        let words = self.lexicon.without_reminders(text);
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
                    // The human's words behind the client's summary take precedence.
                    Some((_, said)) if said == SUMMARY_TITLE => said.clone_from(&title),
                    Some(_) => {}
                    None => self.speech = Some((index, title.clone())),
                }
                Some(title)
            }
            (Role::User, Speech::Command(title)) => {
                // The client has answered the earlier commands itself; the last one is for the model.
                let first = self.command.as_ref().map_or(index, |(first, _)| *first);
                self.command = Some((first, title.clone()));
                Some(title)
            }
            _ => Some(line(words)),
        };
        self.push(at, kind, text.chars().count() as u32, 0, label);
        let said = Some(words).filter(|_| kind == Kind::Text);
        self.blocks.last_mut().into_iter().for_each(|block| block.words = said.map(|said| Key::of([said.as_bytes()])));
    }

    /// Identifies the message by an id of its own, whatever happens to the rest.
    pub fn anchor(&mut self, id: Key) {
        self.anchors.push(Anchor::Id(id));
    }

    /// Includes these bytes in the identity of the message.
    pub fn identify(&mut self, bytes: &[u8]) {
        self.key.feed(bytes);
    }

    /// Adds reasoning; its signature binds and identifies it. `size`: its characters and the tokens of a sealed text.
    pub fn reasoning(&mut self, at: Span, size: (u32, u32), signature: Option<Key>) {
        self.anchors.extend(signature.map(Anchor::Id));
        self.push(at, Kind::Thinking, size.0, size.1, None);
        if let Some(block) = self.blocks.last_mut() {
            block.signature = signature;
        }
    }

    /// Adds a tool call; `input` is the JSON of its arguments.
    pub fn call(&mut self, bare: Bare<'_>, id: Option<Cow<'_, str>>, name: Cow<'_, str>, input: &[u8]) {
        let id = self.id((b"call", Anchor::of_call), id, &bare);
        self.push_call(bare.at, id, &name, input);
    }

    /// Adds a tool call of a wire without ids: identified by its name and arguments, in any spelling.
    pub fn nameless_call(&mut self, at: &Span, name: &str, input: &[u8]) {
        let arguments = serde_json::from_slice::<BTreeMap<String, serde_json::Value>>(input);
        self.key.feed(b"call");
        self.key.feed(name.as_bytes());
        match arguments.and_then(|arguments| serde_json::to_vec(&arguments)) {
            Ok(sorted) => self.key.feed(&sorted),
            Err(_) => self.key.feed(input),
        }
        self.push_call(at, None, name, input);
    }

    fn push_call(&mut self, at: &Span, id: Option<Arc<str>>, name: &str, input: &[u8]) {
        let label = main_argument(input, self.lexicon).map(|text| line(&text));
        let chars = name.chars().count() as u32 + visible_chars(input, 0..input.len(), &|_, _| None).0;
        let role = self.lexicon.role(name);
        let touches = touch(input, role, self.lexicon);
        self.push(at.clone(), Kind::ToolUse, chars, 0, label);
        if let Some(block) = self.blocks.last_mut() {
            block.tool = Some(name.into());
            block.tool_use_id = id;
            block.role = role;
            block.touches = touches.map(Box::new);
        }
    }

    /// Adds the result of a call; `size`: its characters and image tokens.
    pub fn result(&mut self, bare: Bare<'_>, call: Option<Cow<'_, str>>, size: (u32, u32)) {
        let id = self.id((b"result", Anchor::of_result), call, &bare);
        self.push(bare.at.clone(), Kind::ToolResult, size.0, size.1, None);
        if let Some(block) = self.blocks.last_mut() {
            block.tool_use_id = id;
        }
    }

    /// Adds a copy of a result in the same message, which is the same message without it.
    pub fn repeated_result(&mut self, at: &Span, call: Option<Cow<'_, str>>, size: (u32, u32)) {
        self.push(at.clone(), Kind::ToolResult, size.0, size.1, None);
        self.belongs_together(call.filter(|id| !id.is_empty()));
    }

    /// Names the tool of the result added last, if the wire states it.
    pub fn answers_tool(&mut self, name: Option<Cow<'_, str>>) {
        if let Some(block) = self.blocks.last_mut() {
            block.tool = name.map(|name| name.as_ref().into());
        }
    }

    /// Names the pair that the block added last belongs to.
    pub fn belongs_together(&mut self, id: Option<Cow<'_, str>>) {
        if let Some(block) = self.blocks.last_mut() {
            block.tool_use_id = id.map(|id| id.as_ref().into());
        }
    }

    /// Adds a block whose identity was fed before.
    pub fn identified(&mut self, at: &Span, kind: Kind, named: &str, size: (u32, u32)) {
        let label = (kind == Kind::Other && !named.is_empty()).then(|| line(named));
        self.push(at.clone(), kind, size.0, size.1, label);
    }

    /// Adds any other block, identified by its bytes; `named`: its type on the wire.
    pub fn other(&mut self, bare: Bare<'_>, kind: Kind, named: &str, size: (u32, u32)) {
        self.feed_raw(named.as_bytes(), &bare);
        self.identified(bare.at, kind, named, size);
        let words = Key::of([self.raw(&bare).as_ref()]);
        self.blocks.last_mut().into_iter().for_each(|block| block.words = Some(words));
    }

    /// Says that the block added last is the provider's summary of everything before it.
    pub fn sums_up(&mut self) {
        self.blocks.last_mut().into_iter().for_each(|block| block.sums_up = true);
    }

    fn push(&mut self, at: Span, kind: Kind, chars: u32, fixed_tokens: u32, label: Option<String>) {
        let label = label.filter(|label| !label.is_empty()).map(String::into_boxed_str);
        self.blocks.push(Block {
            kind,
            at: at.start as u32..at.end as u32,
            chars,
            fixed_tokens,
            tool: None,
            role: ToolRole::Other,
            tool_use_id: None,
            signature: None,
            label,
            touches: None,
            words: None,
            sums_up: false,
        });
    }

    /// Identifies the block by its id, whatever happens to the rest, or else by its bytes.
    fn id(
        &mut self,
        (what, anchor): (&[u8], fn(&str) -> Anchor),
        id: Option<Cow<'_, str>>,
        bare: &Bare<'_>,
    ) -> Option<Arc<str>> {
        let id = id.filter(|id| !id.is_empty());
        match &id {
            Some(id) => {
                self.anchors.push(anchor(id));
                self.key.feed(what);
                self.key.feed(id.as_bytes());
            }
            None => self.feed_raw(what, bare),
        }
        id.map(|id| id.as_ref().into())
    }

    fn feed_raw(&mut self, kind: &[u8], bare: &Bare<'_>) {
        let raw = self.raw(bare);
        self.key.feed(kind);
        self.key.feed(&raw);
    }

    fn raw(&self, bare: &Bare<'_>) -> Cow<'a, [u8]> {
        let at = bare.at;
        match &bare.cut {
            Some(cut) => [&self.bytes[at.start..cut.start], &self.bytes[cut.end..at.end]].concat().into(),
            None => self.bytes[at.clone()].into(),
        }
    }

    /// The facts of the message.
    pub fn finish(mut self) -> Reading {
        let spoken = self.spoken.trim_end();
        if spoken.chars().nth(LONG_TEXT - 1).is_some() {
            self.anchors.push(Anchor::Text(Key::of([self.role.name().as_bytes(), spoken.as_bytes()])));
        }
        if !spoken.is_empty() {
            self.key.feed(spoken.as_bytes());
        }
        if self.key.is_empty() {
            // Only reminders, only thinking, or not a message at all: identified by its bytes.
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

    /// The first block in which a human speaks: behind the tool results, if there are any.
    fn speaks(&self) -> Option<u32> {
        let results =
            self.blocks.iter().rposition(|block| block.kind == Kind::ToolResult).map_or(0, |last| last as u32 + 1);
        let shown =
            self.blocks.iter().position(|block| matches!(block.kind, Kind::Image | Kind::Document)).map(|at| at as u32);
        let first = self.speech.as_ref().or(self.command.as_ref()).map(|(at, _)| *at).or(shown)?;
        (self.role == Role::User).then_some(if first >= results { results } else { first })
    }
}

/// The characters of a string value, without quotes and escapes.
pub(crate) fn string_chars(raw: &[u8]) -> u32 {
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

/// Finds the member of an object with a fixed weight: the tokens of an image instead of its characters.
pub(crate) type FixedWeight<'f> = &'f dyn Fn(&[u8], &[Member]) -> Option<(Span, u32)>;

/// The characters and image tokens of a value that the model reads. Encrypted fields do not count; `fixed` finds the
/// member of an object with a fixed weight, and its tokens.
pub(crate) fn visible_chars(bytes: &[u8], span: Span, fixed: FixedWeight<'_>) -> (u32, u32) {
    // Each level is scanned once more, so deeper values are counted by their bytes.
    const DEEP: usize = 8;
    fn walk(bytes: &[u8], span: Span, fixed: FixedWeight<'_>, depth: usize) -> (u32, u32) {
        let mut sum = (0, 0);
        let mut add = |(chars, tokens): (u32, u32)| sum = (sum.0 + chars, sum.1 + tokens);
        match bytes.get(span.start) {
            Some(b'"') => add((string_chars(&bytes[span]), 0)),
            Some(b'[') if depth < DEEP => {
                json::elements(bytes, span.start)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .for_each(|item| add(walk(bytes, item, fixed, depth + 1)));
            }
            Some(b'{') if depth < DEEP => {
                let members: Vec<Member> = json::members(bytes, span.start).into_iter().flatten().flatten().collect();
                let weighed = fixed(bytes, &members);
                for member in members {
                    match (key(bytes, &member).as_ref(), &weighed) {
                        (_, Some((value, tokens))) if *value == member.value => add((0, *tokens)),
                        ("signature" | "cache_control" | "data", _) => {}
                        (name, _) if name.starts_with("encrypted_") => {}
                        _ => {
                            add((member.key.len() as u32 + 4, 0));
                            add(walk(bytes, member.value, fixed, depth + 1));
                        }
                    }
                }
            }
            _ => add((span.len() as u32, 0)),
        }
        sum
    }
    walk(bytes, span, fixed, 0)
}

/// The stored form of a reasoning signature.
pub(crate) fn signature(text: &str) -> Key {
    Key::of([b"signature".as_slice(), text.as_bytes()])
}
