//! One request with effects laid over it.

use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::{Source, View, fold};
use ctx_core::edit::history::CommitId;
use ctx_core::key::Key;
use ctx_core::links;
use ctx_core::message::Message;
use ctx_core::tree::SlotId;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::compose::{ComposedRequest, Continuation, Input, Memo};
use ctx_wire::dress;

pub struct Case {
    pub body: Body,
    pub facts: Vec<Message>,
    pub digests: Vec<Key>,
    pub effects: Vec<Effect>,
}

pub fn id(index: usize) -> EffectId {
    EffectId { commit: CommitId(7), index: index as u32 }
}

impl Case {
    pub fn of(text: &[u8], wire: &'static dyn Wire) -> Case {
        let body = Body::parse(text.to_vec(), wire).expect("a request");
        let reads: Vec<_> =
            (0..body.spans().messages.len()).map(|at| body.read_message(at, ctx_clients::lexicon())).collect();
        let bare = |at: usize| Key::of([dress::undress(body.message(at), &reads[at].cuts).0.as_slice()]);
        let digests = (0..reads.len()).map(bare).collect();
        let mut facts: Vec<Message> = reads.into_iter().map(|read| read.facts).collect();
        let slots: Vec<SlotId> = (0..facts.len() as u64).map(SlotId).collect();
        links::link(&mut facts, &slots, &[]);
        Case { body, facts, digests, effects: Vec::new() }
    }

    /// Lays the effects over the request, and composes it.
    pub fn compose(&self) -> (String, ComposedRequest) {
        self.with(|input, view| {
            let composed = self.body.wire().compose(input, view);
            let again = self.body.wire().compose(input, view);
            assert_eq!(composed, again, "the same input gives the same bytes");
            assert_eq!(composed.after.len(), composed.kept.places_count(), "one prefix for each message");
            let bytes = composed.bytes(self.body.bytes());
            (String::from_utf8(bytes).expect("text"), composed)
        })
    }

    pub fn with<T>(&self, then: impl FnOnce(&Input<'_>, &View<'_>) -> T) -> T {
        self.with_memo(&Memo::default(), None, then)
    }

    /// The same with the memory of earlier requests; `under`: whether it may continue from them.
    pub fn with_memo<T>(
        &self,
        memo: &Memo,
        under: Option<Continuation>,
        then: impl FnOnce(&Input<'_>, &View<'_>) -> T,
    ) -> T {
        let messages: Vec<&Message> = self.facts.iter().collect();
        let envelope = self.body.envelope(ctx_clients::lexicon());
        let slots: Vec<SlotId> = (0..messages.len() as u64).map(SlotId).collect();
        let system: Vec<Key> = envelope.system.iter().map(|piece| piece.key).collect();
        let tools: Vec<&str> = envelope.tools.iter().flatten().map(|tool| &*tool.name).collect();
        let numbers = ctx_core::Numbers::default();
        let source = Source {
            slots: &slots,
            messages: &messages,
            system: &system,
            tools: &tools,
            numbers: &numbers,
            replies: ctx_core::Replies::none(),
            seams: &[],
        };
        let view = fold(&source, self.effects.iter().enumerate().map(|(at, effect)| (id(at), effect)).collect());
        let input = Input {
            body: &self.body,
            envelope: &envelope,
            messages: &messages,
            digests: &self.digests,
            around: envelope.digest,
            paused: None,
            bound: &|_| None,
            written: &|_| false,
            next: None,
            memo,
            under,
        };
        then(&input, &view)
    }
}
