//! Decides whether a request may be composed from the beginning of the previous one.

use ctx_core::edit::effect::{Effect, EffectId, MessageRef};
use ctx_core::edit::{CommitId, History};
use ctx_core::fast_map::FastSet;
use ctx_core::message::{Message, Role};
use ctx_core::{Key, Replies, SlotId};
use ctx_wire::compose::Continuation;
use std::cell::Cell;

/// A request of the path, before it is composed.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The digest of the system prompt and the tools.
    pub around: Key,
    pub slots: &'a [SlotId],
    pub messages: &'a [&'a Message],
    pub replies: &'a Replies,
}

/// The state under which the last request was composed.
#[derive(Debug)]
pub struct Continuity {
    /// Increases with each request that could not continue the previous one.
    number: u64,
    head: Option<CommitId>,
    strayed: bool,
    /// The digest of the system prompt and the tools.
    around: Key,
    /// The effects that change requests.
    effects: Vec<EffectId>,
    /// The slots that they name.
    named: FastSet<SlotId>,
    /// The slots that effects name which do more than replace tool results: these may wait for the next messages.
    awaited: FastSet<SlotId>,
    /// No message of the path from this one on is named.
    named_until: usize,
    /// The last message of the path whose slot is awaited, and the end of the reply to it in the last request.
    last_awaited: Option<usize>,
    replied_until: usize,
    /// The number of leading messages of the path that the last request shares.
    messages: usize,
    /// Since a whole request was composed, only tool results of messages from this one on were replaced, or came anew
    /// from the client.
    edited_from: Cell<usize>,
    /// Thinking sent before is now bound to a different prompt.
    pub rebound: bool,
    /// Whether operations change the requests of this number; empty until computed.
    pub touches: Cell<Option<bool>>,
}

impl Default for Continuity {
    fn default() -> Self {
        Continuity {
            number: 0,
            head: None,
            strayed: false,
            around: Key::default(),
            effects: Vec::new(),
            named: FastSet::default(),
            awaited: FastSet::default(),
            named_until: 0,
            last_awaited: None,
            replied_until: 0,
            messages: 0,
            edited_from: Cell::new(usize::MAX),
            rebound: false,
            touches: Cell::new(None),
        }
    }
}

impl Continuity {
    /// Limits the messages whose bytes the next request shares with the last one.
    pub fn keep(&mut self, messages: usize) {
        self.messages = self.messages.min(messages);
    }

    /// Relates a request to the ones before. `None`: an operation waits for its answer.
    pub fn continue_with(&mut self, history: &History, strayed: bool, request: Request<'_>) -> Option<Continuation> {
        let Request { around, slots, messages, .. } = request;
        // A message with a named result is gone, or has come anew.
        let is_other = self.named_until > self.messages;
        let is_awaited = |slot: &SlotId| self.awaited.contains(slot);
        let goes_on = strayed == self.strayed
            && !self.rebound
            && self.messages >= self.replied_until.max(self.reply_end(messages))
            && slots.get(self.messages..).is_some_and(|rest| !rest.iter().any(is_awaited))
            && self.grow(history, request);
        match goes_on {
            true => self.meet_again(slots, is_other),
            false => {
                *self = Continuity { number: self.number + 1, strayed, ..Continuity::default() };
                self.add(history, request);
            }
        }
        if around != self.around {
            // Operations may name a tool that the client offers only now.
            self.touches.set(None);
            self.around = around;
        }
        self.messages = slots.len();
        self.replied_until = self.reply_end(messages);
        let waits = slots.last().is_some_and(|last| self.awaited.contains(last));
        (!waits).then(|| Continuation { number: self.number, edited_from: self.edited_from.get() })
    }

    /// Takes in messages that differ from those of the last request: their tool results may be others, or gone.
    fn meet_again(&mut self, slots: &[SlotId], is_other: bool) {
        let first = (self.messages..).zip(slots.iter().skip(self.messages)).find(|(_, slot)| self.named.contains(slot));
        if let Some((first, _)) = first {
            self.edited_from.set(self.edited_from.get().min(first));
        }
        if first.is_some() || is_other {
            self.touches.set(None);
            self.named_until = slots.iter().rposition(|slot| self.named.contains(slot)).map_or(0, |last| last + 1);
        }
    }

    /// The end of the reply to the last awaited message. Operations name a reply by the message before it.
    fn reply_end(&self, messages: &[&Message]) -> usize {
        let Some(start) = self.last_awaited.map(|awaited| awaited + 1) else { return 0 };
        let behind = messages.get(start..).unwrap_or_default();
        start + behind.iter().take_while(|message| message.role != Role::User).count()
    }

    /// A whole request is composed: its beginning has all effects.
    pub fn composed_whole(&self, under: Option<Continuation>) {
        if under.is_some() {
            self.edited_from.set(usize::MAX);
        }
    }

    /// Takes in effects that replace tool results of this path; false if there are other changes.
    fn grow(&mut self, history: &History, request: Request<'_>) -> bool {
        if history.head() == self.head {
            return true;
        }
        let effects = sent(history);
        let Some(added) = effects.get(self.effects.len()..) else { return false };
        let is_same = effects.iter().zip(&self.effects).all(|((id, _), known)| id == known);
        if !is_same || !added.iter().all(|(_, effect)| replaces_results(effect)) {
            return false;
        }
        for slot in added.iter().flat_map(|(_, effect)| effect.slots()) {
            let Some(at) = request.slots.iter().rposition(|other| *other == slot) else { return false };
            self.edited_from.set(self.edited_from.get().min(at));
        }
        // More effects may change requests that fewer did not.
        self.touches.set(self.touches.get().filter(|touches| *touches));
        self.add(history, request);
        true
    }

    /// Adds the effects since the last request.
    fn add(&mut self, history: &History, Request { slots, replies, .. }: Request<'_>) {
        for (id, effect) in sent(history).into_iter().skip(self.effects.len()) {
            self.effects.push(id);
            // A reply that it names may be on the path without the message before it.
            let replied = effect.pending().into_iter().flat_map(|after| replies.after(after));
            let slots: Vec<SlotId> = effect.slots().into_iter().chain(replied.copied()).collect();
            if !replaces_results(effect) {
                self.awaited.extend(&slots);
            }
            self.named.extend(slots);
        }
        self.head = history.head();
        self.named_until = slots.iter().rposition(|slot| self.named.contains(slot)).map_or(0, |last| last + 1);
        self.last_awaited = slots.iter().rposition(|slot| self.awaited.contains(slot));
    }
}

/// The effects at the head that change requests, and cuts: what is moved behind a frame moves with its end.
fn sent(history: &History) -> Vec<(EffectId, &Effect)> {
    let counts = |effect: &Effect| effect.is_sent() || matches!(effect, Effect::Split { .. });
    history.effects(history.head()).into_iter().filter(|(_, effect)| counts(effect)).collect()
}

/// Whether it only replaces tool results of messages that were sent before.
fn replaces_results(effect: &Effect) -> bool {
    let is_sent = |of: &MessageRef| matches!(of, MessageRef::Slot(_));
    matches!(effect, Effect::Results { results, .. } if results.iter().all(|result| is_sent(&result.of)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::edit::Commit;
    use ctx_core::edit::effect::{BlockRef, Cover, CoveredBlocks, CutPoint, FrameKey, NewResult, Why};
    use ctx_core::edit::history::Change;
    use ctx_core::message::Kind;

    fn block(kind: Kind) -> BlockRef {
        BlockRef { at: 0, kind, chars: 9, id: Some("toolu_1".into()), words: None, beside: None }
    }

    /// Replaces the tool result of a message.
    fn shortened(slot: u64) -> Effect {
        let of = MessageRef::Slot(SlotId(slot));
        let result = NewResult { of, block: block(Kind::ToolResult), text: "short".to_owned() };
        Effect::Results { results: vec![result], summarized: true }
    }

    fn deleted(slot: u64) -> Effect {
        let (of, key) = (MessageRef::Slot(SlotId(slot)), Key::default());
        let covered = CoveredBlocks { of, key, blocks: vec![block(Kind::Text)] };
        Effect::Replace { why: Why::Deleted, covers: vec![Cover::Blocks(Box::new(covered))], by: Vec::new() }
    }

    struct Talk {
        continuity: Continuity,
        history: History,
    }

    impl Talk {
        fn new(effect: Effect) -> Talk {
            let mut talk = Talk { continuity: Continuity::default(), history: History::default() };
            talk.edit(effect);
            talk
        }

        fn edit(&mut self, effect: Effect) {
            let id = CommitId(self.history.head().map_or(1 << 20, |head| head.0 + (1 << 20)));
            self.history.push(Commit {
                id,
                parent: self.history.head(),
                at: 1,
                author: "test".to_owned(),
                note: None,
                reasons: Vec::new(),
                change: Change::Edit { operations: Vec::new(), effects: vec![effect] },
                summary: String::new(),
                tokens_before: 0,
                tokens_after: 0,
                unattended: false,
                exception: false,
                kept: Vec::new(),
            });
        }

        /// A request of so many messages, of which the first ones have the bytes of the last request's.
        fn send(&mut self, count: usize, same: usize) -> Continuation {
            let roles: Vec<Role> = [Role::User, Role::Assistant].into_iter().cycle().take(count).collect();
            self.send_as(&roles, same)
        }

        /// The same with messages of these roles.
        fn send_as(&mut self, roles: &[Role], same: usize) -> Continuation {
            let slots: Vec<SlotId> = (0..).map(SlotId).take(roles.len()).collect();
            let message = |role: &Role| {
                let (key, anchors, blocks) = (Key::default(), Vec::new(), Vec::new());
                Message { role: *role, key, anchors, blocks, speaks: None, title: None }
            };
            let messages: Vec<Message> = roles.iter().map(message).collect();
            let messages: Vec<&Message> = messages.iter().collect();
            self.continuity.keep(same);
            let request =
                Request { around: Key::default(), slots: &slots, messages: &messages, replies: Replies::none() };
            self.continuity.continue_with(&self.history, true, request).expect("nothing waits")
        }
    }

    #[test]
    fn a_shortened_result_whose_message_moves_its_breakpoint_continues_the_requests() {
        let mut talk = Talk::new(shortened(2));
        let first = talk.send(5, 0);
        talk.continuity.composed_whole(Some(first));
        talk.edit(shortened(6));
        // The client has moved its breakpoint from the fifth message to the seventh, then to the ninth.
        let second = talk.send(7, 4);
        assert_eq!(second, Continuation { number: first.number, edited_from: 6 });
        talk.continuity.touches.set(Some(true));
        assert_eq!(talk.send(9, 6), second);
        assert_eq!(talk.continuity.touches.get(), None, "its result may be another one");
        talk.continuity.composed_whole(Some(second));
        assert_eq!(talk.send(11, 9).edited_from, usize::MAX, "nothing named has changed");
        assert_eq!(talk.send(13, 6).edited_from, 6, "a named message came anew");
    }

    #[test]
    fn a_frame_that_is_cut_does_not_continue_the_requests() {
        let mut talk = Talk::new(deleted(2));
        let first = talk.send(5, 0);
        talk.edit(Effect::Pin { frames: vec![FrameKey::Opened(SlotId(0))], pinned: true });
        assert_eq!(talk.send(7, 5).number, first.number, "a pin is not sent");
        let cut = CutPoint::Block(MessageRef::Slot(SlotId(1)), 0);
        talk.edit(Effect::Split { frame: FrameKey::Opened(SlotId(0)), before: vec![cut] });
        assert!(talk.send(9, 7).number > first.number, "something may have been moved behind the frame");
    }

    #[test]
    fn a_deleted_block_or_the_reply_to_its_message_that_changes_does_not() {
        let mut talk = Talk::new(deleted(2));
        let first = talk.send(5, 0);
        assert_eq!(talk.send(7, 5).number, first.number);
        let other_reply = talk.send(7, 3).number;
        assert!(other_reply > first.number);
        let other_message = talk.send(7, 2).number;
        assert!(other_message > other_reply);
        let without_reply = [Role::User, Role::Assistant, Role::User, Role::User];
        assert!(talk.send_as(&without_reply, 3).number > other_message, "the reply is gone");
    }
}
