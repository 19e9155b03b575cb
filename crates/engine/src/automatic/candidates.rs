//! Candidates for clearing: the tool results as they would be sent, and their places.

use crate::conversation::Conversation;
use crate::conversation::cache::{CacheState, NewestRequest};
use crate::conversation::policy::AUTHOR;
use crate::ports::Batch;
use crate::tool_text::result::ResultText;
use ctx_core::edit::Operation;
use ctx_core::edit::effect::{BlockRef, NewResult};
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::edit::resolve::Desk;
use ctx_core::fast_map::{FastSet, NameMap};
use ctx_core::message::Role;
use ctx_core::policy::stub::is_result_stub;
use ctx_core::policy::{Action, CachedPlace, CachedPlaces, Item, Look, Proposal, SentContent, Thought, Words};
use ctx_core::{Content, Key, NodeIx, SlotId, tokens};
use ctx_models::CacheRules;
use ctx_models::cache::Reads;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The tool results of a conversation, and their places.
pub struct Candidates {
    pub items: Vec<Item>,
    pub thinking: Vec<Thought>,
    /// The tokens before the first message, and before each.
    pub around: u64,
    pub messages: Vec<(usize, u64)>,
    /// Of the whole request: the estimate, and its tokens.
    pub estimate: f64,
    pub tokens: u64,
    /// The unit of each result, and the index of its frame.
    laid: NameMap<Arc<str>, (ViewUnit, usize)>,
}

impl Candidates {
    pub fn of(conversation: &Conversation, desk: &Desk<'_>, new: &FastSet<SlotId>) -> Candidates {
        let view = desk.view;
        let sent = |covers: &[ctx_core::edit::fold::Around], weights: &[f64]| -> f64 {
            covers.iter().zip(weights).filter(|(around, _)| around.covered.is_none()).map(|(_, weight)| weight).sum()
        };
        let around = sent(&view.system, desk.system_weights) + sent(&view.tools, desk.tool_weights);
        let SentContent { items: found, mut thinking, messages, estimate } = desk.items(around);
        thinking.retain(|_| conversation.wire().binds_reasoning());
        if !thinking.is_empty() {
            let kept = conversation.wanted_back_thinking();
            let is_kept = |thought: &Thought| {
                let slot = desk.source.slots.get(thought.message);
                slot.is_some_and(|slot| kept.contains(&(*slot, thought.block)))
            };
            thinking.iter_mut().for_each(|thought| thought.kept = is_kept(thought));
        }
        let answer = desk.source.messages.iter().rposition(|message| message.role == Role::Assistant);
        let (index, back) = (&conversation.policy.text_index, conversation.wanted_back());
        let (items, mut laid) = (Vec::with_capacity(found.len()), NameMap::default());
        laid.reserve(found.len());
        let (tokens, around) = ((desk.scale)(estimate), (desk.scale)(around));
        let mut seen = Candidates { items, thinking, messages, around, estimate, tokens, laid };
        for (mut item, laid, frame) in found {
            let indexed = index.get(&item.call);
            let left = indexed.and_then(|call| call.left);
            item.left = left.map_or(item.left, desk.scale);
            if let Some(input) = &mut item.input {
                input.left = indexed.and_then(|call| call.input_left).map_or(input.tokens, desk.scale);
                input.unreplaced = indexed.and_then(|call| call.unreplaced).map_or(input.tokens, desk.scale);
            }
            // The provider does not read content that its summary replaces.
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
                item.pinned |= index.has(message) && left.is_none();
            }
            item.pinned |= back.contains(&*item.call);
            // A result that a policy only trimmed is still there.
            item.cleared &= !is_trimmed(conversation, view, &laid);
            seen.laid.insert(item.call.clone(), (laid, frame));
            seen.items.push(item);
        }
        seen
    }

    /// Where the provider's cache certainly holds the conversation.
    pub fn held(&self, conversation: &Conversation, rules: &CacheRules, at: u64) -> CachedPlaces {
        if matches!(rules.reads, Reads::LongestPrefix { .. }) {
            return CachedPlaces::Everywhere;
        }
        let NewestRequest { head, after, messages } = &conversation.cache.newest;
        let certain = conversation.cache.forecast.certain(conversation.newest.envelope.model.as_deref(), at);
        // Tokens that the provider itself cleared are in our estimates only.
        let is_comparable = conversation.provider.cleared == 0 && conversation.provider.summed_up == 0;
        let place = |prefix: &Key, before: u64| {
            let counted = certain.get(prefix).copied().flatten().filter(|_| is_comparable);
            CachedPlace { before, tokens: counted.unwrap_or(before) }
        };
        let mut places: Vec<CachedPlace> =
            certain.contains_key(head).then(|| place(head, self.around)).into_iter().collect();
        // Composing sets breakpoints only where it remembers an entry.
        let CacheState { written, ends, .. } = &conversation.cache;
        let known: FastSet<&Key> = written.iter().collect();
        let ends: FastSet<&NodeIx> = ends.iter().collect();
        let is_known = |message: usize, prefix: &Key| {
            let is_end = || conversation.messages.tree.current().get(message).is_some_and(|node| ends.contains(node));
            certain.contains_key(prefix) && (known.contains(prefix) || is_end())
        };
        // The places of missing messages are unknown.
        let sent = after.iter().enumerate().filter(|_| after.len() == *messages);
        for (message, prefix) in sent.filter(|(message, prefix)| is_known(*message, prefix)) {
            let next = self.messages.partition_point(|(at, _)| *at <= message);
            let before = self.messages.get(next).map(|(_, before)| *before);
            let before = before.map(|before| before.saturating_sub(conversation.provider.summed_up));
            places.extend(before.map(|before| place(prefix, before)));
        }
        CachedPlaces::At(places)
    }

    /// The message that contains a result.
    pub fn message(&self, call: &str) -> Option<usize> {
        match self.unit(call)?.unit {
            Unit::Source { message, .. } => Some(message),
            Unit::Made(_) => None,
        }
    }

    fn unit(&self, call: &str) -> Option<&ViewUnit> {
        self.laid.get(call).map(|(laid, _)| laid)
    }

    /// The frames that contain results, by their index.
    pub fn frames<'c>(&self, calls: impl Iterator<Item = &'c String>) -> BTreeSet<usize> {
        calls.filter_map(|call| self.laid.get(call.as_str())).map(|(_, frame)| *frame).collect()
    }

    /// The results that change to these texts, in their order, and the estimated tokens that this saves.
    pub fn changed(&self, desk: &Desk<'_>, texts: &HashMap<String, String>) -> (Vec<NewResult>, f64) {
        let mut found: Vec<(usize, usize, &ViewUnit, &String)> = Vec::with_capacity(texts.len());
        for (call, text) in texts {
            let Some(laid) = self.unit(call).filter(|laid| desk.view.new_result(laid) != Some(text)) else { continue };
            let Unit::Source { message, block: Some(block) } = laid.unit else { continue };
            found.push((message, block, laid, text));
        }
        found.sort_unstable_by_key(|(message, block, ..)| (*message, *block));
        let (mut results, mut saved) = (Vec::with_capacity(found.len()), 0.0);
        for (message, block, laid, text) in found {
            let Some(facts) = desk.source.messages[message].blocks.get(block) else { continue };
            saved += desk.view.weigh(laid, desk.source.messages) - tokens::estimate(text.chars().count() as u32, 0);
            let (of, block) = (desk.message_ref(message), BlockRef::of(block as u32, facts));
            results.push(NewResult { of, block, text: text.clone() });
        }
        (results, saved)
    }

    /// The results and inputs that leave the context. Results that are only trimmed, or that stay because they contain
    /// more than text, do not count.
    pub fn batch(&self, conversation: &Conversation, proposed: &[Proposal], look: &Look<'_>) -> Batch {
        let item = |call: &str| look.items.iter().find(|item| &*item.call == call);
        let has_source = |call: &str| self.source(conversation, call).is_some();
        let result = |call: &str| item(call).filter(|_| has_source(call)).map_or(0, |item| item.tokens);
        let input = |call: &str| item(call).and_then(|item| item.input).map_or(0, |input| input.tokens);
        let mut batch = Batch::default();
        for Proposal { what, .. } in proposed {
            match what {
                Action::Operation(Operation::SummarizeResults { select, text: None, .. })
                | Action::Operation(Operation::DropResults { select, result: None, .. }) => {
                    select.calls.iter().for_each(|call| batch.add(result(call)));
                }
                Action::Bare { call } => batch.add(result(call)),
                Action::ShortInput { call } => batch.add(input(call)),
                // The file had the replaced text, and thinking is not filed.
                // A cut names its file where it stands.
                Action::Operation(_)
                | Action::Cut { .. }
                | Action::DropReplaced { .. }
                | Action::DropThinking { .. } => {}
            }
        }
        batch
    }

    /// The remaining texts of shortened results.
    pub fn left_of<'v>(&self, view: &View<'v>) -> Vec<&'v str> {
        self.laid.values().filter_map(|(laid, _)| view.new_result(laid)).filter(|text| is_result_stub(text)).collect()
    }

    /// The text of a result as it would be sent.
    pub fn words(&self, conversation: &Conversation, view: &View<'_>, call: &str) -> Option<Words> {
        let laid = self.unit(call)?;
        if let Some(text) = view.new_result(laid) {
            return Some(text.to_owned().into());
        }
        let source = self.source(conversation, call)?;
        Some(Words { text: source.words().to_owned(), is_all: source.is_text() })
    }

    /// A result as the client sent it.
    pub fn source(&self, conversation: &Conversation, call: &str) -> Option<ResultText> {
        let laid = self.unit(call)?;
        ResultText::of(conversation.wire(), &content_of(conversation, laid)?, block_of(conversation, laid)?)
    }
}

fn is_trimmed(conversation: &Conversation, view: &View<'_>, laid: &ViewUnit) -> bool {
    let Some((effect, _)) = laid.result else { return false };
    let is_ours = conversation.history.get(effect.commit).is_some_and(|commit| commit.author == AUTHOR);
    is_ours && view.new_result(laid).is_some_and(|text| !is_result_stub(text))
}

/// The bytes of a client block.
pub fn block_of<'c>(conversation: &'c Conversation, laid: &ViewUnit) -> Option<&'c [u8]> {
    let Unit::Source { message, block: Some(block) } = laid.unit else { return None };
    let body = conversation.newest.last.body.as_ref().filter(|_| message < conversation.newest.last.aligned)?;
    let block = conversation.messages.tree.path().nth(message)?.message.blocks.get(block)?;
    body.message(message).get(block.at.start as usize..block.at.end as usize)
}

/// The content of a client block.
pub fn content_of(conversation: &Conversation, laid: &ViewUnit) -> Option<Content> {
    let Unit::Source { message, block: Some(block) } = laid.unit else { return None };
    let body = conversation.newest.last.body.as_ref().filter(|_| message < conversation.newest.last.aligned)?;
    conversation.wire().contents(body.message(message)).into_iter().nth(block)
}
