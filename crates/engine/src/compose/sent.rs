//! Composes a request from the client's body and the active effects.

use super::outgoing::OutgoingRequest;
use crate::compose::Ground;
use crate::conversation::composing::{SentRequest, short};
use crate::conversation::sent_parts::Part;
use crate::conversation::{Conversation, estimate};
use crate::envelope::Whole;
use crate::{Engine, Refusal};
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::View;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::hint::Command;
use ctx_core::message::Message;
use ctx_core::{ErrorCode, Key, NodeIx, Replies, SlotId, hint};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::compose::{ComposedRequest, Continuation, Input, Memo, Places};
use ctx_wire::envelope::Envelope;
use std::cell::{OnceCell, RefCell};

/// A request in memory, with the facts of its messages.
pub struct AtHand<'a> {
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    pub slots: Vec<SlotId>,
    pub messages: Vec<&'a Message>,
    pub digests: Vec<Key>,
    pub replies: &'a Replies,
    /// Cached facts on the bytes of its leading messages.
    pub memo: Option<&'a Memo>,
    /// Whether it may be composed from the beginning of the previous request.
    pub under: Option<Continuation>,
}

/// The messages of a request to send: the place of each unit, and where the provider's cache was written.
pub struct Stops {
    pub places: Places,
    pub written: Vec<bool>,
}

/// Receives the leaving form of a held request as soon as it is known; `None`: unchanged.
pub type Ready<'r> = &'r mut dyn FnMut(Option<OutgoingRequest>);

/// The content of a request to send: the client's messages under some effects.
struct Draft<'a> {
    ground: Ground<'a>,
    effects: Vec<(EffectId, &'a Effect)>,
    /// Computed on demand: a request that continues another one does not need it.
    view: OnceCell<View<'a>>,
}

impl<'a> Draft<'a> {
    fn new(at_hand: &AtHand<'a>, effects: Vec<(EffectId, &'a Effect)>) -> Draft<'a> {
        let ground = Ground::new(at_hand.slots.clone(), at_hand.messages.clone(), at_hand.envelope);
        let ground = ground.with(at_hand.replies);
        Draft { ground, effects, view: OnceCell::new() }
    }

    fn view(&self) -> &View<'a> {
        self.view.get_or_init(|| self.ground.lay(self.effects.clone()))
    }

    /// `paused`: the view that a paused answer belongs to, if the request continues one.
    fn is_touched(&self, paused: Option<&View<'_>>) -> bool {
        !self.view().is_untouched() || paused.is_some_and(|paused| paused.tools != self.view().tools)
    }
}

pub struct WrittenRequest<'a> {
    pub composed: ComposedRequest,
    draft: Draft<'a>,
}

impl<'a> WrittenRequest<'a> {
    pub fn laid(self) -> (ComposedRequest, Ground<'a>, View<'a>) {
        let WrittenRequest { composed, draft: Draft { ground, effects, view } } = self;
        let view = view.into_inner().unwrap_or_else(|| ground.lay(effects));
        (composed, ground, view)
    }
}

/// The prefix of the client's own messages before each signature. Read from the end, on demand: a request that
/// continues another one needs only its newest messages.
struct OwnPrefixes<'a> {
    messages: &'a [&'a Message],
    prefixes: &'a [Key],
    seen: RefCell<(usize, FastMap<Key, Key>)>,
}

impl<'a> OwnPrefixes<'a> {
    fn new(messages: &'a [&'a Message], prefixes: &'a [Key]) -> Self {
        OwnPrefixes { messages, prefixes, seen: RefCell::new((messages.len(), FastMap::default())) }
    }

    /// Before the last message with this signature.
    fn of(&self, signature: &Key) -> Option<Key> {
        let (unseen, found) = &mut *self.seen.borrow_mut();
        while *unseen > 0 && !found.contains_key(signature) {
            *unseen -= 1;
            let (Some(message), Some(prefix)) = (self.messages.get(*unseen), self.prefixes.get(*unseen)) else {
                continue;
            };
            for signature in message.blocks.iter().filter_map(|block| block.signature) {
                found.entry(signature).or_insert(*prefix);
            }
        }
        found.get(signature).copied()
    }
}

impl Conversation {
    /// Composes a request; `None` if it leaves unchanged.
    pub fn compose<'a>(
        &self,
        at_hand: &AtHand<'a>,
        effects: Vec<(EffectId, &'a Effect)>,
    ) -> Option<WrittenRequest<'a>> {
        let paused = self.paused_head(at_hand.messages.iter().copied());
        let is_sent = || effects.iter().any(|(_, effect)| effect.is_sent());
        if !self.reasoning.strayed && paused.is_none() && !is_sent() {
            return None;
        }
        let draft = Draft::new(at_hand, effects);
        let paused = paused.map(|head| draft.ground.lay(self.effects(head)));
        let goes_on = at_hand.under.is_some() && paused.is_none();
        let known = self.composing.continuity.touches.get().filter(|_| goes_on);
        let touches = known.unwrap_or_else(|| draft.is_touched(paused.as_ref()));
        // Every test that sends a composed request checks what is known of the ones before.
        debug_assert_eq!(touches, draft.is_touched(paused.as_ref()));
        if goes_on {
            self.composing.continuity.touches.set(Some(touches));
        }
        if !touches && !self.reasoning.strayed {
            return None;
        }
        let written = self.write(at_hand, draft, paused.as_ref());
        // Only thinking from under operations that are gone has to be dropped.
        (touches || written.composed.thinking_dropped > 0).then_some(written)
    }

    /// Composes the client's own request, even if it leaves unchanged.
    pub fn compose_own(&self, at_hand: &AtHand<'_>) -> ComposedRequest {
        let draft = Draft::new(at_hand, Vec::new());
        let paused = self.paused_head(at_hand.messages.iter().copied());
        let paused = paused.map(|head| draft.ground.lay(self.effects(head)));
        self.write(at_hand, draft, paused.as_ref()).composed
    }

    fn write<'a>(&self, at_hand: &AtHand<'a>, draft: Draft<'a>, paused: Option<&View<'_>>) -> WrittenRequest<'a> {
        let view = || draft.view();
        let prefixes = self.composing.chain.after(at_hand.envelope.digest, &at_hand.digests);
        let own = OwnPrefixes::new(&at_hand.messages, &prefixes);
        let written = OnceCell::new();
        let unknown = Memo::default();
        let input = Input {
            body: at_hand.body,
            envelope: at_hand.envelope,
            messages: &at_hand.messages,
            digests: &at_hand.digests,
            around: at_hand.envelope.digest,
            paused,
            bound: &|signature| match self.reasoning.bound.get(signature) {
                Some(prefix) => Some(*prefix),
                None => own.of(signature).filter(|_| self.reasoning.is_own(signature)),
            },
            written: &|prefix| written.get_or_init(|| self.all_written(at_hand, &prefixes)).contains(prefix),
            next: self
                .policy
                .next
                .and_then(|next| at_hand.slots.iter().position(|slot| *slot == next))
                .map(|at| at as u32),
            memo: at_hand.memo.unwrap_or(&unknown),
            under: at_hand.under,
        };
        let composed = self.wire().go_on(&input, &view).unwrap_or_else(|| {
            self.composing.continuity.composed_whole(at_hand.under);
            self.wire().compose(&input, view())
        });
        // Every test that sends a composed request checks that continuing changes nothing.
        debug_assert_eq!(composed, self.wire().compose(&Input { under: None, ..input }, view()));
        WrittenRequest { composed, draft }
    }

    /// Where the provider's cache was written and certainly still valid: a breakpoint elsewhere may find nothing.
    fn all_written(&self, at_hand: &AtHand<'_>, prefixes: &[Key]) -> FastSet<Key> {
        let mut written = self.written_at(at_hand, prefixes, |_| true);
        self.cache.forecast.leave_what_lives(&mut written, self.progress.heard);
        written
    }

    /// The same for requests that left unchanged; people are shown this.
    fn surely_written(&self, at_hand: &AtHand<'_>, prefixes: &[Key]) -> FastSet<Key> {
        self.written_at(at_hand, prefixes, |node| !self.cache.rewritten.contains(node))
    }

    fn written_at(&self, at_hand: &AtHand<'_>, prefixes: &[Key], counts: impl Fn(&NodeIx) -> bool) -> FastSet<Key> {
        let ends = self.cache.ends.iter().filter(|node| counts(node));
        let ends: FastSet<SlotId> = ends.map(|&node| self.messages.tree.slot_at(node).id).collect();
        let after = at_hand.slots.iter().zip(prefixes.iter().skip(1));
        let at_ends = after.filter(|(slot, _)| ends.contains(slot)).map(|(_, prefix)| *prefix);
        self.cache.written.iter().copied().chain(at_ends).collect()
    }

    /// The cache state of a request; `composed`: its composed form, if it is changed.
    pub fn stops(&self, at_hand: &AtHand<'_>, composed: Option<&ComposedRequest>) -> Stops {
        let prefixes = self.composing.chain.after(at_hand.envelope.digest, &at_hand.digests);
        let written = self.surely_written(at_hand, &prefixes);
        let is_written = |prefixes: &[Key]| prefixes.iter().map(|prefix| written.contains(prefix)).collect();
        let mut stops = match composed {
            Some(composed) => Stops { places: composed.kept.places(), written: is_written(&composed.after) },
            None => {
                let after = prefixes.get(1..).unwrap_or_default();
                Stops { places: Places::Own(after.len()), written: is_written(after) }
            }
        };
        // Nothing is in the cache before the answer begins.
        if let Some(end) = stops.written.last_mut().filter(|_| !self.progress.answered) {
            *end = false;
        }
        stops
    }

    /// The newest request of the path, if its body is in memory.
    pub fn newest<'a>(&'a self, body: &'a Body, envelope: &'a Envelope) -> AtHand<'a> {
        AtHand {
            body,
            envelope,
            slots: self.messages.tree.path().map(|slot| slot.id).collect(),
            messages: self.messages.tree.path().map(|slot| &slot.message).collect(),
            digests: self.digests(),
            replies: &self.messages.replies,
            memo: None,
            under: None,
        }
    }

    /// Composes a leaving request. Returns the state to keep if it is changed.
    pub fn outgoing(&self, at_hand: &AtHand<'_>, ready: Ready<'_>) -> Option<Option<SentRequest>> {
        let Some(mut written) = self.compose(at_hand, self.history.sent_effects()) else {
            let whole = Part::Source(0..at_hand.body.bytes().len());
            let mut outgoing = self.reasoning.is_dropped_by_provider.then(|| OutgoingRequest::of(vec![whole]));
            outgoing.iter_mut().for_each(|outgoing| outgoing.ask_to_drop(at_hand.body));
            ready(outgoing);
            return self.reasoning.is_dropped_by_provider.then_some(None);
        };
        let segments = std::mem::take(&mut written.composed.segments);
        let mut outgoing = OutgoingRequest::of(segments.into_iter().map(Part::from).collect());
        if self.reasoning.is_dropped_by_provider {
            outgoing.ask_to_drop(at_hand.body);
        }
        ready(Some(outgoing));
        let (composed, ground, view) = written.laid();
        let dropped = (composed.thinking_dropped, self.history.head());
        let left_out = match composed.thinking_dropped {
            0 => LeftOut::default(),
            // Under the same operations, an equal number means the same blocks.
            _ if dropped == self.reasoning.dropped => self.reasoning.left_out.clone(),
            _ => LeftOut { blocks: composed.kept.left_out(&view, &ground.messages).blocks, ..LeftOut::default() },
        };
        let mut view = view;
        if composed.thinking_dropped > 0 {
            view.repair(left_out.clone());
        }
        let repairs = composed.repairs.into_iter().map(|repair| (repair.rule.to_owned(), repair.what)).collect();
        Some(Some(SentRequest {
            prefix: composed.prefix,
            marks: composed.marks,
            repairs,
            weight: ground.weigh(&view, at_hand.envelope),
            left_out,
            dropped,
            kept: composed.kept,
            own_weight: estimate(at_hand.envelope, at_hand.messages.iter().copied()),
            around: composed.around,
            after: composed.after,
        }))
    }
}

impl Engine {
    /// Runs `with` on the newest request of the path. Its body is usually still in memory.
    pub fn with_newest<T>(
        &self,
        conversation: &Conversation,
        with: impl FnOnce(&AtHand<'_>) -> T,
    ) -> Result<T, Refusal> {
        let count = conversation.messages.tree.current().len();
        let kept = conversation.newest.last.body.as_ref().filter(|body| body.spans().messages.len() == count);
        if let Some(body) = kept.filter(|_| conversation.newest.last.aligned == count) {
            let newest = conversation.newest(body, &conversation.newest.last.envelope);
            return Ok(with(&AtHand { memo: Some(&conversation.composing.memo), ..newest }));
        }
        let whole = rebuilt(self, conversation)?;
        let body = Body::parse(whole.bytes, conversation.wire()).map_err(|error| {
            Refusal::new(
                ErrorCode::Incomplete,
                format!("The newest request cannot be read: {error}."),
                "The next request completes the conversation.",
            )
        })?;
        let envelope = conversation.envelope_of(&body);
        Ok(with(&conversation.newest(&body, &envelope)))
    }

    /// The cache state of the client's newest request; `None` if it is not completely stored.
    pub fn own_stops(&self, conversation: &Conversation) -> Option<Stops> {
        self.with_newest(conversation, |at_hand| conversation.stops(at_hand, None)).ok()
    }
}

/// The newest request of the path, from the store.
pub fn rebuilt(engine: &Engine, conversation: &Conversation) -> Result<Whole, Refusal> {
    conversation.rebuild(&*engine.contents)?.ok_or_else(|| {
        Refusal::new(
            ErrorCode::Incomplete,
            format!("Conversation `{}` is not completely stored.", conversation.id()),
            hint!["The next request completes it; ", Command::Doctor, " checks the store."],
        )
    })
}

/// The digest of a message that is not stored.
pub fn digest(wire: &dyn Wire, message: &[u8]) -> Key {
    let cuts = wire.read(message, ctx_clients::lexicon()).cuts;
    let (bare, _) = ctx_wire::dress::undress(message, &cuts);
    short(&ctx_store::Hash::of(&bare))
}
