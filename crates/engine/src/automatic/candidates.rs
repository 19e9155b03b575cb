//! Candidates for clearing: the tool results of a conversation as they would be sent, and where they stand.

use super::AUTHOR;
use super::content::Found;
use super::fill::{Filled, block_of, content_of};
use crate::conversation::Conversation;
use ctx_core::SlotId;
use ctx_core::edit::fold::{Laid, Unit, View};
use ctx_core::edit::resolve::Desk;
use ctx_core::fast_map::FastSet;
use ctx_core::message::Role;
use ctx_core::policy::stub::is_result_stub;
use ctx_core::policy::{Item, Words};
use std::collections::HashMap;

/// A result of fewer tokens is hardly worth a change.
const LEAST: u64 = 200;

/// The results of a conversation, and where they lie.
pub struct Candidates {
    pub items: Vec<Item>,
    pub tokens: u64,
    laid: HashMap<Box<str>, Laid>,
}

impl Candidates {
    pub fn of(conversation: &Conversation, desk: &Desk<'_>, new: &FastSet<SlotId>) -> Candidates {
        let view = desk.view;
        let sent = |covers: &[ctx_core::edit::fold::Around], weights: &[f64]| -> f64 {
            covers.iter().zip(weights).filter(|(around, _)| around.covered.is_none()).map(|(_, weight)| weight).sum()
        };
        let around = sent(&view.system, desk.system_weights) + sent(&view.tools, desk.tool_weights);
        let (found, tokens) = desk.items(around);
        let answer = desk.source.messages.iter().rposition(|message| message.role == Role::Assistant);
        let back = conversation.wanted_back();
        let mut seen = Candidates { items: Vec::with_capacity(found.len()), laid: HashMap::new(), tokens };
        for (mut item, laid) in found {
            if let Some(left) = conversation.policy.text_index.left(&item.call) {
                item.left = (desk.scale)(left);
            }
            if let Some(input) = &mut item.input {
                input.left = conversation.policy.text_index.input_left(&item.call).map_or(input.tokens, desk.scale);
            }
            // The provider does not read what its summary stands for.
            item.before = item.before.saturating_sub(conversation.provider.summed_up);
            if let Some(input) = &mut item.input {
                input.before = input.before.saturating_sub(conversation.provider.summed_up);
            }
            if let Unit::Source { message, .. } = laid.unit {
                if message < conversation.provider.before_summary {
                    continue;
                }
                let slot = desk.source.slots.get(message);
                item.fresh = Some(message) > answer && slot.is_some_and(|slot| new.contains(slot));
                item.pinned |= conversation.policy.text_index.stays(message, &item.call);
            }
            item.pinned |= back.contains(&*item.call);
            // What a policy only trimmed is still there.
            item.cleared &= !is_trimmed(conversation, view, &laid);
            seen.laid.insert(item.call.clone(), laid);
            seen.items.push(item);
        }
        seen
    }

    /// The message that a result is in.
    pub fn message(&self, call: &str) -> Option<usize> {
        match self.laid.get(call)?.unit {
            Unit::Source { message, .. } => Some(message),
            Unit::Made(_) => None,
        }
    }

    /// The message that will be changed next when these are: behind the first of them, the first with a result or an
    /// input that stays and could go. Where nothing changes that was sent, nothing is said, unless nothing ever was
    /// (`known`: something was): then it is the first of all.
    pub fn next(&self, desk: &Desk<'_>, filled: &Filled, known: bool) -> Option<Option<SlotId>> {
        let goes = |item: &Item| filled.texts.contains_key(&*item.call);
        let first = self.items.iter().position(|item| goes(item) && !item.fresh);
        let first = first.or_else(|| (!known).then_some(0))?;
        let result = |item: &Item| !item.cleared && !goes(item) && item.is_worth(LEAST);
        let input =
            |item: &Item| item.input.is_some_and(|input| input.is_worth(LEAST)) && !filled.calls.contains(&*item.call);
        // A call stands in the message before its result.
        let place = |item: &Item| match (input(item), result(item)) {
            (true, _) => self.message(&item.call)?.checked_sub(1),
            (false, true) => self.message(&item.call),
            (false, false) => None,
        };
        let next = self.items.iter().skip(first).filter(|item| !item.pinned).find_map(place);
        Some(next.and_then(|message| desk.source.slots.get(message).copied()))
    }

    /// What is left of results that were shortened.
    pub fn left_of<'v>(&self, view: &View<'v>) -> Vec<&'v str> {
        self.laid.values().filter_map(|laid| view.new_result(laid)).filter(|text| is_result_stub(text)).collect()
    }

    /// The words of a result as it would be sent.
    pub fn words(&self, conversation: &Conversation, view: &View<'_>, call: &str) -> Option<Words> {
        let laid = self.laid.get(call)?;
        if let Some(text) = view.new_result(laid) {
            return Some(text.to_owned().into());
        }
        let source = self.source(conversation, call)?;
        Some(Words { text: source.words().to_owned(), is_all: source.is_text() })
    }

    /// A result as the client sent it.
    pub fn source(&self, conversation: &Conversation, call: &str) -> Option<Found> {
        let laid = self.laid.get(call)?;
        Found::of(conversation.wire, &content_of(conversation, laid)?, block_of(conversation, laid)?)
    }
}

fn is_trimmed(conversation: &Conversation, view: &View<'_>, laid: &Laid) -> bool {
    let Some((effect, _)) = laid.result else { return false };
    let is_ours = conversation.history.get(effect.commit).is_some_and(|commit| commit.author == AUTHOR);
    is_ours && view.new_result(laid).is_some_and(|text| !is_result_stub(text))
}
