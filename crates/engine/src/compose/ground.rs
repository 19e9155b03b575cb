//! The path that effects are laid over, and the digests that thinking is bound to.

use crate::conversation::Conversation;
use crate::conversation::left::LeftFrames;
use crate::conversation::titles::{self, Titles};
use ctx_core::edit::effect::{Effect, EffectId, PENDING};
use ctx_core::edit::fold::{Around, Source, View, fold};
use ctx_core::edit::resolve::Desk;
use ctx_core::message::Message;
use ctx_core::{Key, Numbers, Replies, SlotId, tokens};
use ctx_wire::compose::Places;
use ctx_wire::envelope::{Envelope, Piece};
use std::sync::LazyLock;

/// The path of a conversation with its system prompt and tools.
pub struct Ground<'a> {
    pub slots: Vec<SlotId>,
    pub messages: Vec<&'a Message>,
    system: Vec<Key>,
    tools: Vec<&'a str>,
    numbers: Option<&'a Numbers>,
    replies: &'a Replies,
    seams: Vec<usize>,
    titles: Option<&'a Titles>,
}

impl<'a> Ground<'a> {
    /// The path of the newest request; with `pending`, also the pending reply.
    pub fn of(conversation: &'a Conversation, pending: bool) -> Ground<'a> {
        let mut slots: Vec<SlotId> = conversation.messages.tree.path().map(|slot| slot.id).collect();
        let mut messages: Vec<&Message> = conversation.messages.tree.path().map(|slot| &slot.message).collect();
        for message in conversation.newest.pending.iter().filter(|_| pending) {
            slots.push(PENDING);
            messages.push(&message.facts);
        }
        Ground {
            titles: Some(&conversation.messages.titles),
            numbers: Some(&conversation.messages.numbers),
            ..Ground::new(slots, messages, &conversation.newest.envelope)
        }
        .with(&conversation.messages.replies)
    }

    /// The same, with the replies that the client has sent back.
    pub fn with(self, replies: &'a Replies) -> Ground<'a> {
        Ground { replies, ..self }
    }

    /// The path, preceded by the frames that have left it. It locates content; it is not a request.
    pub fn with_left(conversation: &'a Conversation, left: &LeftFrames) -> Ground<'a> {
        let mut ground = Ground::of(conversation, true);
        let (mut slots, mut messages) = (Vec::new(), Vec::new());
        for run in &left.runs {
            let known = run.slots.iter().filter_map(|slot| conversation.messages.tree.slot(*slot));
            known.for_each(|slot| {
                slots.push(slot.id);
                messages.push(&slot.message);
            });
            ground.seams.push(slots.len());
        }
        slots.append(&mut ground.slots);
        messages.append(&mut ground.messages);
        (ground.slots, ground.messages) = (slots, messages);
        ground
    }

    pub fn new(
        slots: Vec<SlotId>,
        messages: Vec<&'a Message>,
        envelope: &'a ctx_wire::envelope::Envelope,
    ) -> Ground<'a> {
        Ground {
            slots,
            messages,
            system: envelope.system.iter().map(|piece| piece.key).collect(),
            tools: envelope.tools.iter().flatten().map(|tool| &*tool.name).collect(),
            numbers: None,
            replies: Replies::none(),
            seams: Vec::new(),
            titles: None,
        }
    }

    pub fn source(&self) -> Source<'_> {
        static UNNUMBERED: LazyLock<Numbers> = LazyLock::new(Numbers::default);
        Source {
            slots: &self.slots,
            messages: &self.messages,
            system: &self.system,
            tools: &self.tools,
            numbers: self.numbers.unwrap_or(&UNNUMBERED),
            replies: self.replies,
            seams: &self.seams,
        }
    }

    /// The estimated tokens of the request.
    pub fn weigh(&self, view: &View<'_>, envelope: &Envelope) -> f64 {
        let units = view.frames.iter().flat_map(|frame| view.units(frame, &self.messages));
        self.weigh_around(view, envelope) + units.map(|laid| view.weigh(&laid, &self.messages)).sum::<f64>()
    }

    /// The estimates of the content before the first message, and up to the end of each.
    pub fn weigh_up_to(&self, view: &View<'_>, envelope: &Envelope, places: &Places, count: usize) -> Vec<f64> {
        let mut weights = vec![0.0; count + 1];
        for laid in view.frames.iter().flat_map(|frame| view.units(frame, &self.messages)) {
            if let Some(own) = places.of(&laid.unit).and_then(|at| weights.get_mut(at + 1)) {
                *own += view.weigh(&laid, &self.messages);
            }
        }
        let mut all = self.weigh_around(view, envelope);
        weights.iter_mut().for_each(|own| {
            all += *own;
            *own = all;
        });
        weights
    }

    fn weigh_around(&self, view: &View<'_>, envelope: &Envelope) -> f64 {
        let around = |(piece, around): (&Piece, &Around)| {
            let own = if around.covered.is_some() || piece.deferred { 0.0 } else { tokens::estimate(piece.chars, 0) };
            own + around.by.iter().map(|made| view.weigh_made(*made)).sum::<f64>()
        };
        let tools = envelope.tools.as_deref().unwrap_or_default();
        let system: f64 = envelope.system.iter().zip(&view.system).map(around).sum();
        system + tools.iter().zip(&view.tools).map(around).sum::<f64>()
    }

    pub fn lay<'e>(&self, effects: Vec<(EffectId, &'e Effect)>) -> View<'e> {
        let mut view = fold(&self.source(), effects);
        if let Some(titles) = self.titles {
            titles::lay(titles, &mut view);
        }
        view
    }
}

/// The estimates of the system blocks and tools, and the protected ones among them.
pub struct Weights {
    pub system: Vec<f64>,
    pub tools: Vec<f64>,
    pub protected: Vec<Option<&'static str>>,
}

impl Weights {
    pub fn of(conversation: &Conversation) -> Weights {
        let weigh = |piece: &Piece| if piece.deferred { 0.0 } else { tokens::estimate(piece.chars, 0) };
        let envelope = &conversation.newest.envelope;
        Weights {
            system: envelope.system.iter().map(weigh).collect(),
            tools: envelope.tools.iter().flatten().map(weigh).collect(),
            protected: envelope.system.iter().enumerate().map(|(at, piece)| protection(at, piece)).collect(),
        }
    }
}

/// Why a composed request always keeps this block (rule E).
pub const ATTRIBUTION: &str = "it identifies the client to the provider, which removes it before the model sees it";

/// Why a block of the system prompt should stay.
fn protection(at: usize, piece: &Piece) -> Option<&'static str> {
    if piece.is_attribution {
        return Some(ATTRIBUTION);
    }
    (at < 2 && ctx_clients::lexicon().is_identity(&piece.label))
        .then_some("the provider refuses subscription requests without the client's identity")
}

impl Conversation {
    /// The conversation as its next request would leave: with all edits, without omitted content.
    pub fn next_view(&self, ground: &Ground<'_>) -> View<'_> {
        let mut view = ground.lay(self.effects(self.history.head()));
        view.repair(self.still_left_out());
        view
    }

    pub fn desk<'a>(
        &self,
        view: &'a View<'a>,
        source: &'a Source<'a>,
        weights: &'a Weights,
        scale: &'a dyn Fn(f64) -> u64,
        added: u32,
    ) -> Desk<'a> {
        let numbers = self.history.all().flat_map(|commit| match &commit.change {
            ctx_core::edit::history::Change::Edit { effects, .. } => effects.iter().collect::<Vec<_>>(),
            ctx_core::edit::history::Change::Inherit { effects, .. } => {
                effects.iter().map(|(_, effect)| effect).collect()
            }
            ctx_core::edit::history::Change::Revert { .. } => Vec::new(),
        });
        let highest = numbers
            .filter_map(|effect| match effect {
                Effect::Insert { number, .. } => Some(*number),
                _ => None,
            })
            .max();
        Desk {
            view,
            source,
            scale,
            protected: &weights.protected,
            system_weights: &weights.system,
            tool_weights: &weights.tools,
            next_added: highest.unwrap_or(0).max(added) + 1,
            draft: self.wire(),
            summed_up: self.provider.summed_up(source.messages),
        }
    }
}
