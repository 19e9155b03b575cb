//! Lays the view out as a list of outgoing messages, for every wire. An untouched message is one entry without pieces.

use super::{Input, Out, Piece, Repair};
use ctx_core::edit::effect::{Effect, NewMessage, NewMessageId};
use ctx_core::edit::fold::{Unit, View, ViewUnit, Visit};
use ctx_core::message::{Block, Kind, Role};

/// A view laid out. `M` is a synthetic block as the wire represents it.
#[derive(Debug)]
pub(crate) struct Layout<'a, M> {
    pub outs: Vec<Out>,
    pub made: Vec<M>,
    /// Replacement texts of tool results.
    pub texts: Vec<&'a str>,
    pub repairs: Vec<Repair>,
    /// Covered pieces that are laid out: the wire decides whether they are required.
    pub covered: Vec<Piece>,
}

/// A wire's part of laying out.
pub(crate) trait Grammar<'a> {
    type NewMessage;

    /// The blocks of a synthetic message that can be sent in this role.
    fn made(
        &self,
        from: (NewMessageId, &'a NewMessage),
        role: Role,
        repairs: &mut Vec<Repair>,
    ) -> Vec<Self::NewMessage>;

    /// Whether a covered block may be required.
    fn may_stay(&self, message: u32, block: u32) -> bool;

    /// The rule by which a system message becomes a user message, if the conversation has none.
    fn no_system(&self) -> Option<Repair>;

    /// The rule by which a result of the provider's tools is removed instead of changed.
    fn fixed_result(&self) -> Option<Repair>;
}

/// The facts of a client's block.
pub(crate) fn facts<'a>(input: &Input<'a>, message: u32, block: u32) -> Option<&'a Block> {
    input.messages.get(message as usize)?.blocks.get(block as usize)
}

/// The type of a block that has no kind of its own.
pub(crate) fn label<'a>(input: &Input<'a>, message: u32, block: u32) -> Option<&'a str> {
    facts(input, message, block).filter(|block| block.kind == Kind::Other)?.label.as_deref()
}

pub(crate) fn block_count(input: &Input<'_>, message: u32) -> u32 {
    input.messages.get(message as usize).map_or(0, |message| message.blocks.len() as u32)
}

pub(crate) fn pieces<'p>(input: &Input<'_>, out: &'p Out) -> impl DoubleEndedIterator<Item = Piece> + use<'p> {
    let source = out.source.unwrap_or(0);
    let whole = if out.is_whole() { out.source.map_or(0, |source| block_count(input, source)) } else { 0 };
    let listed = out.pieces.as_deref().unwrap_or_default();
    let own = (0..whole).map(move |block| Piece::Client { message: source, block, text: 0 });
    own.chain(listed.iter().copied())
}

/// Whether it is this message of the client with all its blocks; texts of tool results may be replaced.
pub(crate) fn is_own(input: &Input<'_>, out: &Out, message: usize) -> bool {
    out.first && out.source == Some(message as u32) && has_all_blocks(input, out)
}

/// Whether it has all blocks of its source and nothing else; texts of tool results may be replaced.
pub(crate) fn has_all_blocks(input: &Input<'_>, out: &Out) -> bool {
    let Some(source) = out.source else { return false };
    let is_block = |(at, piece): (u32, &Piece)| matches!(piece, Piece::Client { message, block, .. } if *message == source && *block == at);
    let has_all =
        |pieces: &Vec<Piece>| pieces.len() == block_count(input, source) as usize && (0..).zip(pieces).all(is_block);
    out.pieces.as_ref().is_none_or(has_all)
}

/// The pieces as an editable list.
pub(crate) fn opened<'o>(input: &Input<'_>, out: &'o mut Out) -> &'o mut Vec<Piece> {
    if out.pieces.is_none() {
        out.pieces = Some(pieces(input, out).collect());
    }
    out.pieces.get_or_insert_default()
}

/// Lays a view out.
pub(crate) fn lay_out<'a, G: Grammar<'a>>(
    input: &'a Input<'a>,
    view: &'a View<'a>,
    grammar: &G,
) -> Layout<'a, G::NewMessage> {
    let mut builder = Builder::new(input, view, grammar, input.messages.len() + 2);
    for frame in &view.frames {
        view.walk(frame, input.messages, &mut |met| match met {
            Visit::Unit(laid) => builder.unit(&laid),
            Visit::Untouched(message) => builder.whole(message as u32),
        });
        builder.flush(None);
    }
    builder.close();
    builder.layout
}

/// Lays the client's messages from this one on out, in the order of the path. `texts` are those of the messages before.
pub(crate) fn lay_out_from<'a, G: Grammar<'a>>(
    message: usize,
    texts: Vec<&'a str>,
    input: &'a Input<'a>,
    view: &'a View<'a>,
    grammar: &G,
) -> Layout<'a, G::NewMessage> {
    let mut builder = Builder::new(input, view, grammar, input.messages.len().saturating_sub(message));
    builder.layout.texts = texts;
    view.walk_from(message, input.messages, &mut |met| match met {
        Visit::Unit(laid) => builder.unit(&laid),
        Visit::Untouched(message) => builder.whole(message as u32),
    });
    builder.flush(None);
    builder.close();
    builder.layout
}

struct Builder<'a, 'g, G: Grammar<'a>> {
    input: &'a Input<'a>,
    grammar: &'g G,
    layout: Layout<'a, G::NewMessage>,
    view: &'a View<'a>,
    /// The number of leading blocks of the last message, as long as it may become a whole one.
    run: u32,
    /// Synthetic messages whose owner is not known yet.
    waiting: Vec<(NewMessageId, Option<Role>)>,
    has_system: bool,
    /// The client's message visited last.
    last: u32,
}

impl<'a, 'g, G: Grammar<'a>> Builder<'a, 'g, G> {
    fn new(input: &'a Input<'a>, view: &'a View<'a>, grammar: &'g G, count: usize) -> Self {
        let layout = Layout {
            outs: Vec::with_capacity(count),
            made: Vec::new(),
            texts: Vec::new(),
            repairs: Vec::new(),
            covered: Vec::new(),
        };
        let has_system = input.messages.iter().any(|message| message.role == Role::System);
        Builder { input, grammar, layout, view, run: 0, waiting: Vec::new(), has_system, last: 0 }
    }

    /// Adds a client's message, unchanged.
    fn whole(&mut self, message: u32) {
        self.last = message;
        self.flush(Some(message));
        let count = block_count(self.input, message);
        if self.is_open(message) {
            self.open(message).extend((0..count).map(|block| Piece::Client { message, block, text: 0 }));
            return;
        }
        self.close();
        self.start(message, None);
        self.run = count;
    }

    fn unit(&mut self, laid: &ViewUnit) {
        match laid.unit {
            Unit::Source { message, block } => {
                let message = message as u32;
                self.last = message;
                self.flush(Some(message));
                let block = block.map(|block| block as u32);
                if laid.covered.is_none() {
                    self.source(message, block, laid);
                } else if let Some(block) = block.filter(|block| self.grammar.may_stay(message, *block)) {
                    self.layout.covered.push(Piece::Client { message, block, text: 0 });
                    self.source(message, Some(block), laid);
                }
            }
            Unit::Made(id) => {
                let Some(made) = self.view.made(id) else { return };
                match laid.covered {
                    // The replacement of a synthetic message has its role, unless it states another.
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

    fn is_inserted(&self, id: NewMessageId) -> bool {
        matches!(self.view.effect(id.effect), Some(Effect::Insert { .. }))
    }

    /// Places synthetic messages; those without a role go into the message `owner`.
    fn flush(&mut self, owner: Option<u32>) {
        for (id, role) in std::mem::take(&mut self.waiting) {
            let Some(made) = self.view.made(id) else { continue };
            let owner = owner.filter(|_| role.is_none());
            let of_owner = owner.and_then(|owner| self.input.messages.get(owner as usize)).map(|m| m.role);
            let mut role = role.or(of_owner).unwrap_or(Role::User);
            if owner.is_none()
                && role == Role::System
                && !self.has_system
                && let Some(repair) = self.grammar.no_system()
            {
                self.layout.repairs.push(repair);
                role = Role::User;
            }
            if role == Role::Other {
                role = Role::User;
            }
            let blocks = self.grammar.made((id, made), role, &mut self.layout.repairs);
            if blocks.is_empty() {
                continue;
            }
            let from = self.layout.made.len() as u32;
            self.layout.made.extend(blocks);
            let pieces = (from..self.layout.made.len() as u32).map(Piece::Made);
            match owner {
                Some(owner) => self.open(owner).extend(pieces),
                None => {
                    self.close();
                    self.layout.outs.push(Out::ours(role, pieces.collect(), Some(self.last)));
                }
            }
        }
    }

    /// The client's message being laid out, as a list.
    fn open(&mut self, message: u32) -> &mut Vec<Piece> {
        if !self.is_open(message) {
            self.close();
            self.start(message, Some(Vec::new()));
        }
        self.close();
        let last = self.layout.outs.len() - 1;
        opened(self.input, &mut self.layout.outs[last])
    }

    fn is_open(&self, message: u32) -> bool {
        self.layout.outs.last().is_some_and(|out| out.source == Some(message))
    }

    fn start(&mut self, message: u32, pieces: Option<Vec<Piece>>) {
        let role = self.input.messages.get(message as usize).map_or(Role::Other, |message| message.role);
        self.layout.outs.push(Out { role, source: Some(message), pieces, first: true, anchor: Some(message) });
    }

    /// Gives a message that did not become whole its list.
    fn close(&mut self) {
        let run = std::mem::take(&mut self.run);
        let input = self.input;
        if let Some(Out { source: Some(message), pieces: pieces @ None, .. }) = self.layout.outs.last_mut()
            && run < block_count(input, *message)
        {
            let message = *message;
            *pieces = Some((0..run).map(|block| Piece::Client { message, block, text: 0 }).collect());
        }
    }

    fn source(&mut self, message: u32, block: Option<u32>, laid: &ViewUnit) {
        let Some(block) = block else {
            self.close();
            self.start(message, None);
            return;
        };
        let is_servers = self.input.messages.get(message as usize).is_some_and(|m| m.role == Role::Assistant);
        if is_servers
            && laid.result.is_some()
            && let Some(repair) = self.grammar.fixed_result()
        {
            self.layout.repairs.push(repair);
            return;
        }
        let text = self.view.new_result(laid).map_or(0, |text| {
            self.layout.texts.push(text);
            self.layout.texts.len() as u32
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
        let whole = self.layout.outs.last().is_some_and(Out::is_whole);
        if whole && block == self.run && text == 0 {
            self.run += 1;
        } else {
            self.open(message).push(piece);
        }
    }
}
