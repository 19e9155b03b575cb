//! The view as a list of outgoing messages. A message that nothing touched is one entry without blocks.

use super::made::{self, MadeBlock};
use super::{Input, Repair, pages, paused, stays};
use ctx_core::edit::effect::{Effect, MadeId};
use ctx_core::edit::fold::{Laid, Unit, View, Visit};
use ctx_core::message::{Block, Kind, Role};
use std::borrow::Cow;
use std::sync::Arc;

/// One block on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A block of a client's message; `text`, counted from 1, replaces its content.
    Client { message: u32, block: u32, text: u32 },
    /// One of ours, in `Plan::made`.
    Made(u32),
}

/// What a block is, as far as the rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Text,
    Thinking,
    /// A call; whether the client or the provider runs it is told by where its result stands.
    Call,
    Result,
    ServerResult,
    /// Where another model took over; nobody reads it.
    Fallback,
    Other,
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Out {
    pub role: Role,
    /// The client's message in whose object it is spelled.
    pub source: Option<u32>,
    /// `None`: all blocks of its source as they are.
    pub pieces: Option<Vec<Piece>>,
    /// The first of its source: it keeps the other members of the object.
    pub first: bool,
    /// The client's message at whose place it stands; for one that we had to add, none.
    pub anchor: Option<u32>,
}

pub(super) struct Plan<'a> {
    pub input: &'a Input<'a>,
    /// The messages before `outs` that an earlier request settled. Empty when all of it is composed.
    pub settled: Arc<Vec<Out>>,
    pub outs: Vec<Out>,
    pub made: Cow<'a, [MadeBlock<'a>]>,
    /// What replaces contents of tool results.
    pub texts: Vec<&'a str>,
    pub repairs: Vec<Repair>,
    /// Names of the provider's tools that have not finished: they must stay defined.
    pub unfinished: Vec<String>,
    /// Calls of the provider's tools that run only when the client's beside them have their results.
    pub waiting: Vec<String>,
    /// Thinking that went with messages of nothing else.
    pub thoughts: usize,
    /// What is laid out although an operation covers it: whether it has to stay is for [`stays`] to say.
    pub covered: Vec<Piece>,
}

impl Out {
    /// One of ours.
    pub fn ours(role: Role, pieces: Vec<Piece>, anchor: Option<u32>) -> Out {
        Out { role, source: None, pieces: Some(pieces), first: true, anchor }
    }

    pub fn is_whole(&self) -> bool {
        self.pieces.is_none()
    }
}

/// The facts of a client's block.
pub(super) fn facts<'a>(input: &Input<'a>, message: u32, block: u32) -> Option<&'a Block> {
    input.messages.get(message as usize)?.blocks.get(block as usize)
}

/// The type of a block that has no kind of its own.
pub(super) fn label<'a>(input: &Input<'a>, message: u32, block: u32) -> Option<&'a str> {
    facts(input, message, block).filter(|block| block.kind == Kind::Other)?.label.as_deref()
}

pub(super) fn block_count(input: &Input<'_>, message: u32) -> u32 {
    input.messages.get(message as usize).map_or(0, |message| message.blocks.len() as u32)
}

pub(super) fn pieces<'p>(input: &Input<'_>, out: &'p Out) -> impl DoubleEndedIterator<Item = Piece> + use<'p> {
    let source = out.source.unwrap_or(0);
    let whole = if out.is_whole() { out.source.map_or(0, |source| block_count(input, source)) } else { 0 };
    let listed = out.pieces.as_deref().unwrap_or_default();
    let own = (0..whole).map(move |block| Piece::Client { message: source, block, text: 0 });
    own.chain(listed.iter().copied())
}

/// The pieces as a list that can be changed.
pub(super) fn opened<'o>(input: &Input<'_>, out: &'o mut Out) -> &'o mut Vec<Piece> {
    if out.pieces.is_none() {
        out.pieces = Some(pieces(input, out).collect());
    }
    out.pieces.get_or_insert_default()
}

pub(super) fn tag(input: &Input<'_>, made: &[MadeBlock<'_>], piece: Piece) -> Tag {
    match piece {
        Piece::Made(at) => made.get(at as usize).map_or(Tag::Other, |made| made.tag),
        Piece::Client { message, block, .. } => {
            let is_assistant = || input.messages.get(message as usize).is_some_and(|m| m.role == Role::Assistant);
            match facts(input, message, block).map(|block| block.kind) {
                Some(Kind::Text | Kind::Reminder) => Tag::Text,
                Some(Kind::Thinking) => Tag::Thinking,
                Some(Kind::ToolUse) => Tag::Call,
                Some(Kind::ToolResult) if is_assistant() => Tag::ServerResult,
                Some(Kind::ToolResult) => Tag::Result,
                Some(Kind::Other) if label(input, message, block) == Some("fallback") => Tag::Fallback,
                _ => Tag::Other,
            }
        }
    }
}

pub(super) fn id<'p>(input: &Input<'p>, made: &'p [MadeBlock<'_>], piece: Piece) -> Option<&'p str> {
    match piece {
        Piece::Made(at) => made.get(at as usize)?.id.as_deref(),
        Piece::Client { message, block, .. } => facts(input, message, block)?.tool_use_id.as_deref(),
    }
}

/// A system message that only carries settings: it may stand anywhere.
pub(super) fn is_directive(input: &Input<'_>, out: &Out) -> bool {
    out.role == Role::System && out.is_whole() && out.source.is_some_and(|source| block_count(input, source) == 0)
}

impl Plan<'_> {
    /// All messages that are sent, in order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (usize, &Out)> {
        (0..self.count()).filter_map(|at| Some((at, self.out(at)?)))
    }

    pub fn count(&self) -> usize {
        self.settled.len() + self.outs.len()
    }

    pub fn out(&self, at: usize) -> Option<&Out> {
        match at.checked_sub(self.settled.len()) {
            Some(open) => self.outs.get(open),
            None => self.settled.get(at),
        }
    }

    /// Brings each message to its shortest form: what has all its blocks is whole again, and only the first part
    /// of a message that was torn apart keeps what else stands in its object.
    pub fn settle(&mut self) {
        let mut seen = vec![false; self.input.messages.len()];
        for out in &mut self.outs {
            let Some(source) = out.source else { continue };
            if let Some(seen) = seen.get_mut(source as usize) {
                out.first = !std::mem::replace(seen, true);
            }
            let Some(pieces) = &out.pieces else { continue };
            let count = block_count(self.input, source);
            let own = (0..).map(|block| Piece::Client { message: source, block, text: 0 });
            if count > 0 && pieces.len() == count as usize && pieces.iter().copied().eq(own.take(count as usize)) {
                out.pieces = None;
            }
        }
    }
}

/// Lays a view out.
pub(super) fn lay_out<'a>(input: &'a Input<'a>, view: &'a View<'a>) -> Plan<'a> {
    let plan = Plan {
        input,
        settled: Arc::default(),
        outs: Vec::with_capacity(input.messages.len() + 2),
        made: Cow::default(),
        texts: Vec::new(),
        repairs: Vec::new(),
        unfinished: Vec::new(),
        waiting: Vec::new(),
        thoughts: 0,
        covered: Vec::new(),
    };
    let has_system = input.messages.iter().any(|message| message.role == Role::System);
    let mut builder = Builder { plan, view, run: 0, waiting: Vec::new(), has_system, last: 0 };
    for frame in &view.frames {
        view.walk(frame, input.messages, &mut |met| match met {
            Visit::Unit(laid) => builder.unit(&laid),
            Visit::Untouched(message) => builder.whole(message as u32),
        });
        builder.flush(None);
    }
    builder.close();
    stays::settle(&mut builder.plan);
    pages::repair(&mut builder.plan);
    paused::restore(&mut builder.plan);
    builder.plan
}

struct Builder<'a> {
    plan: Plan<'a>,
    view: &'a View<'a>,
    /// How many blocks from the first on the last message has, as long as it may become a whole one.
    run: u32,
    /// Messages of ours until it is known whose blocks they replace.
    waiting: Vec<(MadeId, Option<Role>)>,
    has_system: bool,
    /// The client's message that was met last.
    last: u32,
}

impl Builder<'_> {
    /// A message of the client's as it is.
    fn whole(&mut self, message: u32) {
        self.last = message;
        self.flush(Some(message));
        let count = block_count(self.plan.input, message);
        if self.is_open(message) {
            self.open(message).extend((0..count).map(|block| Piece::Client { message, block, text: 0 }));
            return;
        }
        self.close();
        self.start(message, None);
        self.run = count;
    }

    fn unit(&mut self, laid: &Laid) {
        match laid.unit {
            Unit::Source { message, block } => {
                let message = message as u32;
                self.last = message;
                self.flush(Some(message));
                let block = block.map(|block| block as u32);
                if laid.covered.is_none() {
                    self.source(message, block, laid);
                } else if let Some(block) = block.filter(|block| stays::may(self.plan.input, message, *block)) {
                    self.plan.covered.push(Piece::Client { message, block, text: 0 });
                    self.source(message, Some(block), laid);
                }
            }
            Unit::Made(id) => {
                let Some(made) = self.view.made(id) else { return };
                match laid.covered {
                    // What replaces a message of ours has its role, unless it says another.
                    Some(by) => {
                        let role = made.role.or(self.is_inserted(id).then_some(Role::User));
                        let replacing = self.waiting.iter_mut().filter(|(id, _)| id.effect == by);
                        replacing.for_each(|(_, waiting)| *waiting = waiting.or(role));
                    }
                    None => {
                        let role = made.role.or(self.is_inserted(id).then_some(Role::User));
                        self.waiting.push((id, role));
                    }
                }
            }
        }
    }

    fn is_inserted(&self, id: MadeId) -> bool {
        matches!(self.view.effect(id.effect), Some(Effect::Insert { .. }))
    }

    /// Messages of ours take their place; those without a role stand inside the message `owner`.
    fn flush(&mut self, owner: Option<u32>) {
        for (id, role) in std::mem::take(&mut self.waiting) {
            let Some(made) = self.view.made(id) else { continue };
            let owner = owner.filter(|_| role.is_none());
            let of_owner = owner.and_then(|owner| self.plan.input.messages.get(owner as usize)).map(|m| m.role);
            let mut role = role.or(of_owner).unwrap_or(Role::User);
            if owner.is_none() && role == Role::System && !self.has_system {
                let what = "a system message is sent as a user message: this conversation has none";
                self.plan.repairs.push(Repair::new("A12", what));
                role = Role::User;
            }
            if role == Role::Other {
                role = Role::User;
            }
            let blocks = made::read((id, made), role, self.plan.input, &mut self.plan.repairs);
            if blocks.is_empty() {
                continue;
            }
            let from = self.plan.made.len() as u32;
            self.plan.made.to_mut().extend(blocks);
            let pieces = (from..self.plan.made.len() as u32).map(Piece::Made);
            match owner {
                Some(owner) => self.open(owner).extend(pieces),
                None => {
                    self.close();
                    self.plan.outs.push(Out::ours(role, pieces.collect(), Some(self.last)));
                }
            }
        }
    }

    /// The message of the client that is being laid out, as a list.
    fn open(&mut self, message: u32) -> &mut Vec<Piece> {
        if !self.is_open(message) {
            self.close();
            self.start(message, Some(Vec::new()));
        }
        self.close();
        let last = self.plan.outs.len() - 1;
        opened(self.plan.input, &mut self.plan.outs[last])
    }

    fn is_open(&self, message: u32) -> bool {
        self.plan.outs.last().is_some_and(|out| out.source == Some(message))
    }

    fn start(&mut self, message: u32, pieces: Option<Vec<Piece>>) {
        let role = self.plan.input.messages.get(message as usize).map_or(Role::Other, |message| message.role);
        self.plan.outs.push(Out { role, source: Some(message), pieces, first: true, anchor: Some(message) });
    }

    /// A message that did not become a whole one gets its list.
    fn close(&mut self) {
        let run = std::mem::take(&mut self.run);
        let input = self.plan.input;
        if let Some(Out { source: Some(message), pieces: pieces @ None, .. }) = self.plan.outs.last_mut()
            && run < block_count(input, *message)
        {
            let message = *message;
            *pieces = Some((0..run).map(|block| Piece::Client { message, block, text: 0 }).collect());
        }
    }

    fn source(&mut self, message: u32, block: Option<u32>, laid: &Laid) {
        let Some(block) = block else {
            self.close();
            self.start(message, None);
            return;
        };
        let is_servers = self.plan.input.messages.get(message as usize).is_some_and(|m| m.role == Role::Assistant);
        if is_servers && laid.result.is_some() {
            let what =
                "a result of the provider's tool whose text was changed goes: it is sent as it is, or not at all";
            self.plan.repairs.push(Repair::new("A42", what));
            return;
        }
        let text = self.view.new_result(laid).map_or(0, |text| {
            self.plan.texts.push(text);
            self.plan.texts.len() as u32
        });
        let piece = Piece::Client { message, block, text };
        if !self.is_open(message) {
            self.close();
            if block == 0 && text == 0 {
                self.start(message, None);
                self.run = 1;
            } else {
                self.start(message, Some(vec![piece]));
            }
            return;
        }
        let whole = self.plan.outs.last().is_some_and(Out::is_whole);
        if whole && block == self.run && text == 0 {
            self.run += 1;
        } else {
            self.open(message).push(piece);
        }
    }
}
