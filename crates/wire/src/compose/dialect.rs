//! The part of composing that a wire without bound reasoning supplies, and the plan that it works on.

use super::layout::{self, block_count, facts, opened};
use super::writer::span;
use super::{Input, Out, Piece, Repair};
use ctx_core::content::Content;
use ctx_core::edit::effect::NewMessageId;
use ctx_core::edit::fold::{Unit, View, Visit};
use ctx_core::fast_map::{FastMap, FastSet, NameMap};
use ctx_core::message::{Block, Kind, Message, Role};
use std::borrow::Cow;
use std::cell::OnceCell;

/// A wire's part of composing: how it writes, and what its provider refuses.
pub trait Dialect: Sync {
    /// Whether synthetic content can be sent in this role.
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair>;

    /// Whether one step of the model may be several elements in a row, with the results behind all of them.
    fn has_flat_steps(&self) -> bool;

    /// The rule by which a synthetic system message becomes a user message, if the history has none.
    fn no_system(&self) -> Option<Repair> {
        None
    }

    /// Takes out calls and results that only this wire refuses.
    fn close(&self, _: &mut Plan<'_>) {}

    /// The client's message without which this one is refused, other than the call of a result.
    fn needed_by(&self, _: &Plan<'_>, _message: usize) -> Option<usize> {
        None
    }

    /// Makes the repairs that only this wire needs, once it is settled which calls are sent.
    fn repair(&self, plan: &mut Plan<'_>);

    /// Writes the rest of a client's element, as none, one or several.
    fn rewrite(&self, element: &[u8], message: &Message, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>>;

    /// Writes a synthetic message.
    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>>;

    /// Reports repairs that are counted over the whole request.
    fn report(&self, _: &mut Plan<'_>) {}

    /// Applies changes that depend on neighbouring elements, once all are written.
    fn polish(&self, elements: Vec<Element>, _: &Plan<'_>) -> Vec<Element> {
        elements
    }

    /// Whether a request can be composed in two parts, the second from this message on, and what the second part has to
    /// know of the first: [`Plan::carried`].
    fn divide(&self, _: &Plan<'_>, _message: usize) -> Option<bool> {
        Some(false)
    }

    /// Writes a text of the system prompt in place of a client's piece, whose bytes are `like`.
    fn system(&self, text: &str, like: &[u8]) -> Vec<u8>;

    /// The name of a cache breakpoint in quotes, on wires whose clients set them in messages.
    fn breakpoint(&self) -> Option<&'static [u8]> {
        None
    }

    /// The element with this breakpoint at its end; `None` if it cannot have one.
    fn marked(&self, _element: &[u8], _mark: &[u8], _: &Plan<'_>) -> Option<Vec<u8>> {
        None
    }

    /// The element as it counts for the cache: without breakpoints, and a lone text in one spelling.
    fn bare<'e>(&self, element: &'e [u8]) -> Cow<'e, [u8]> {
        Cow::Borrowed(element)
    }

    /// Members that are meaningless without tools.
    fn with_tools(&self) -> &'static [&'static str];
}

/// A block of a rewritten element.
#[derive(Debug, Clone, Copy)]
pub enum KeptBlock<'a> {
    /// A block of the client.
    Own(usize),
    /// A client's tool result with another text.
    Text(usize, &'a str),
    Made(&'a Content),
}

/// A synthetic block.
#[derive(Debug, Clone)]
pub struct MadeBlock<'a> {
    pub content: Cow<'a, Content>,
    /// The message of the view and the block's index there; none if a rule required it.
    pub from: Option<(NewMessageId, u32)>,
}

/// A request while it is composed, or its part behind the settled messages.
pub struct Plan<'a> {
    pub input: &'a Input<'a>,
    /// The number of the client's messages that are settled.
    pub from: usize,
    /// The facts that the wire needs about them.
    pub carried: bool,
    /// Whether a rule reaches from the open messages into the settled ones.
    pub reaches_back: bool,
    pub outs: Vec<Out>,
    pub made: Vec<MadeBlock<'a>>,
    pub texts: Vec<&'a str>,
    pub repairs: Vec<Repair>,
    /// Elements to rewrite although all their blocks are sent, by index.
    pub restyled: FastSet<u32>,
    /// The number of elements that lose their ids, settled ones included.
    pub loosened: usize,
    pub reasoning_dropped: usize,
    /// The client's messages with calls, by id; computed on demand.
    pub calls: OnceCell<NameMap<&'a str, u32>>,
}

/// The kind of a piece, for rules shared by all wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag<'p> {
    Call(Option<&'p str>),
    Result(Option<&'p str>),
    Reasoning,
    Other,
}

impl<'a> Plan<'a> {
    pub fn new(input: &'a Input<'a>, outs: Vec<Out>, texts: Vec<&'a str>) -> Plan<'a> {
        Plan {
            input,
            from: 0,
            carried: false,
            reaches_back: false,
            outs,
            made: Vec::new(),
            texts,
            repairs: Vec::new(),
            restyled: FastSet::default(),
            loosened: 0,
            reasoning_dropped: 0,
            calls: OnceCell::new(),
        }
    }

    /// The client's messages that are composed, by index.
    pub fn messages(&self) -> impl Iterator<Item = (u32, &'a Message)> + use<'a> {
        let open = self.input.messages.get(self.from..).unwrap_or_default();
        (self.from as u32..).zip(open.iter().copied())
    }

    pub fn tag(&self, piece: Piece) -> Tag<'_> {
        match piece {
            Piece::Made(at) => match self.made.get(at as usize).map(|made| &*made.content) {
                Some(Content::Call { id, .. }) => Tag::Call(id.as_deref()),
                Some(Content::Result { id, .. }) => Tag::Result(id.as_deref()),
                Some(Content::Raw { calls: Some(id), .. }) => Tag::Call(Some(id)),
                Some(Content::Raw { answers: Some(id), .. }) => Tag::Result(Some(id)),
                _ => Tag::Other,
            },
            Piece::Client { message, block, .. } => match facts(self.input, message, block) {
                Some(block) if block.kind == Kind::ToolUse => Tag::Call(block.tool_use_id.as_deref()),
                Some(block) if block.kind == Kind::ToolResult => Tag::Result(block.tool_use_id.as_deref()),
                Some(block) if block.kind == Kind::Thinking => Tag::Reasoning,
                _ => Tag::Other,
            },
        }
    }

    /// The client's message with this call.
    pub fn message_with_call(&self, id: &str) -> Option<u32> {
        let calls = self.calls.get_or_init(|| {
            let mut calls = NameMap::default();
            for (at, message) in self.messages() {
                let made = message.blocks.iter().filter(|block| block.kind == Kind::ToolUse);
                for id in made.filter_map(|block| block.tool_use_id.as_deref()) {
                    calls.entry(id).or_insert(at);
                }
            }
            calls
        });
        calls.get(id).copied()
    }

    /// Adds a piece that a rule requires.
    pub fn add(&mut self, content: &'a Content) -> Piece {
        self.made.push(MadeBlock { content: Cow::Borrowed(content), from: None });
        Piece::Made(self.made.len() as u32 - 1)
    }

    /// Removes pieces from a message.
    pub fn retain(&mut self, out: usize, mut stays: impl FnMut(&Plan<'a>, Piece) -> bool) {
        let mut held = std::mem::replace(&mut self.outs[out], Out::ours(Role::Other, Vec::new(), None));
        let list = opened(self.input, &mut held);
        let left: Vec<Piece> = list.iter().copied().filter(|piece| stays(self, *piece)).collect();
        *list = left;
        self.outs[out] = held;
    }

    /// Removes messages that are empty, or hold only reasoning and texts that the client itself sent empty (X3).
    pub fn drop_empty(&mut self) {
        let outs = std::mem::take(&mut self.outs);
        for out in outs {
            let list = out.pieces.as_deref().unwrap_or_default();
            let reasoning = list.iter().filter(|piece| self.tag(**piece) == Tag::Reasoning).count();
            let empty = list.iter().filter(|piece| self.is_empty_text(**piece)).count();
            // A message that the client itself sent without words stays.
            let is_own = empty > 0 && layout::has_all_blocks(self.input, &out);
            if !out.is_whole() && reasoning + empty == list.len() && !is_own {
                self.reasoning_dropped += reasoning;
            } else {
                self.outs.push(out);
            }
        }
    }

    fn is_empty_text(&self, piece: Piece) -> bool {
        let Piece::Client { message, block, .. } = piece else { return false };
        let block = facts(self.input, message, block);
        block.is_some_and(|block| matches!(block.kind, Kind::Text | Kind::Reminder) && block.chars == 0)
    }

    /// Shortens each message: one with all its blocks is whole again. Of several with the same source, the first that
    /// has blocks of it keeps its object.
    pub fn settle(&mut self) {
        let has_own = |out: &Out| {
            let list = out.pieces.as_deref();
            list.is_none_or(|list| list.iter().any(|piece| matches!(piece, Piece::Client { .. })))
        };
        let with_own: FastSet<u32> = self.outs.iter().filter(|out| has_own(out)).filter_map(|out| out.source).collect();
        let mut seen = FastSet::default();
        for out in &mut self.outs {
            let Some(source) = out.source else { continue };
            out.first = (has_own(out) || !with_own.contains(&source)) && seen.insert(source);
            let Some(list) = &out.pieces else { continue };
            let count = block_count(self.input, source);
            let own = (0..count).map(|block| Piece::Client { message: source, block, text: 0 });
            if count > 0 && list.iter().copied().eq(own) {
                out.pieces = None;
            }
        }
    }

    /// Ensures that the request ends with words of the user, or results, because the model answers the last message
    /// (X2); and that it is not empty. Returns whether something was restored for that. Results keep the texts of the view.
    pub(super) fn end_with_a_question<D: Dialect + ?Sized>(
        &mut self,
        dialect: &D,
        view: &dyn Fn() -> &'a View<'a>,
    ) -> bool {
        let is_said = |role: Role| !matches!(role, Role::System | Role::Other);
        let asks = |role: Option<Role>| role == Some(Role::User);
        let own = self.input.messages.iter().map(|message| message.role).rev().find(|role| is_said(*role));
        let sent = self.outs.iter().map(|out| out.role).rev().find(|role| is_said(*role));
        if asks(sent) || (sent.is_some() && !asks(own)) {
            return false;
        }
        let Some(last) = self.input.messages.iter().rposition(|message| message.role == Role::User) else {
            return false;
        };
        let newest = self.step_of(dialect, last)..=last as u32;
        self.outs.retain(|out| !out.source.is_some_and(|source| newest.contains(&source)));
        let mut texts = self.new_results(*newest.start(), view());
        for at in newest {
            let mut out = Out::whole(at, self.input.messages[at as usize].role);
            if let Some(texts) = texts.remove(&at) {
                for piece in opened(self.input, &mut out) {
                    if let Piece::Client { block, text, .. } = piece {
                        *text = texts.get(block).copied().unwrap_or(0);
                    }
                }
            }
            self.outs.push(out);
        }
        self.repairs.push(Repair::new("X2", "the newest message stays: the model answers it"));
        true
    }

    /// The replacement texts of results from this message on: by message and block, their indices.
    fn new_results(&mut self, from: u32, view: &'a View<'a>) -> FastMap<u32, FastMap<u32, u32>> {
        let mut found: FastMap<u32, FastMap<u32, u32>> = FastMap::default();
        view.walk_from(from as usize, self.input.messages, &mut |met| {
            let Visit::Unit(laid) = met else { return };
            let Unit::Source { message, block: Some(block) } = laid.unit else { return };
            if let Some(text) = view.new_result(&laid) {
                self.texts.push(text);
                found.entry(message as u32).or_default().insert(block as u32, self.texts.len() as u32);
            }
        });
        found
    }

    /// The first message of the step that a message belongs to: the one whose calls it and its predecessors answer, or
    /// that these calls need.
    fn step_of<D: Dialect + ?Sized>(&self, dialect: &D, last: usize) -> u32 {
        let messages = self.input.messages;
        let mut first = last;
        let mut at = last;
        loop {
            let ids = messages[at].blocks.iter().filter(|block| block.kind == Kind::ToolResult);
            for id in ids.filter_map(|block| block.tool_use_id.as_deref()) {
                let is_call = |block: &Block| block.kind == Kind::ToolUse && block.tool_use_id.as_deref() == Some(id);
                let call = messages[..at].iter().rposition(|message| message.blocks.iter().any(is_call));
                first = first.min(call.unwrap_or(first));
            }
            first = first.min(dialect.needed_by(self, at).unwrap_or(first));
            if at == first {
                return first as u32;
            }
            at -= 1;
        }
    }
}

/// One element of the array that is sent.
pub enum Element {
    /// An element of the client, by its index in the array.
    Source(usize),
    Made(Vec<u8>),
}

impl Element {
    /// The client's index.
    pub fn own(&self) -> Option<usize> {
        match self {
            Element::Source(at) => Some(*at),
            Element::Made(_) => None,
        }
    }

    pub fn bytes<'e>(&'e self, input: &'e Input<'_>) -> &'e [u8] {
        let at = match self {
            Element::Source(at) => span(input.body.spans(), *at),
            Element::Made(bytes) => return bytes,
        };
        at.and_then(|span| input.body.bytes().get(span.clone())).unwrap_or_default()
    }
}
