//! The tokens of a recording's messages. The provider counted the prompt of each request; the growth from one request
//! to the next belongs to the messages between them.
//!
//! - Visible blocks have their estimate times a scale of the conversation, corrected by the growth they are part of.
//! - Thinking that was recorded without its text has the growth that visible blocks do not explain, but no more than
//!   the provider counted as output.
//! - The rest was never recorded, such as reminders of the client. It stays with its message, whatever a policy does.
//!
//! A prompt that shrank tells nothing: the client removed content that the recording still has.

use crate::recording::{Recording, Usage};
use ctx_core::message::{Anchor, Block, Message, Role};
use ctx_core::tokens::{self, is_hidden_thinking as is_hidden};
use std::collections::HashMap;
use std::ops::Range;

/// The head of a recording whose size is unknown.
const USUAL_HEAD: f64 = 20_000.0;
/// Estimated tokens that are enough to tell the scale.
const TELLING: f64 = 3_000.0;
/// A growth of fewer estimated tokens is mostly overhead.
const SMALL: f64 = 400.0;
/// No tokenizer is further from the estimate.
const SCALES: Range<f64> = 0.3..3.0;
/// Text of one conversation is at most so much denser than its usual; beyond that, something was not recorded.
const DENSEST: f64 = 2.0;
/// Clients that record an output at the beginning of a stream are far below this share of the visible reply.
const WHOLE: f64 = 0.7;

/// The tokens of a recording's messages.
pub struct Sizes {
    /// Everything before the first message.
    pub head: f64,
    /// The usual factor from estimates to the provider's counts.
    pub scale: f64,
    /// Tokens that the client itself removed at times; the replay still has them.
    pub removed_by_client: f64,
    messages: Vec<MessageSize>,
    anchors: HashMap<Anchor, usize>,
}

/// The tokens of one message.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct MessageSize {
    /// The factor of its visible blocks.
    scale: f64,
    /// The tokens of each block of thinking without text.
    hidden: f64,
    /// Tokens of content that was not recorded.
    unrecorded: f64,
}

/// The composition of the tokens of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shares {
    pub visible: f64,
    pub hidden_thinking: f64,
    pub unrecorded: f64,
}

/// The messages between two counted requests.
struct Growth {
    messages: Range<usize>,
    /// The growth that the provider counted.
    tokens: f64,
    /// The estimate of the visible blocks, and of those among them that the model did not write.
    visible: f64,
    given: f64,
    /// Blocks of thinking without text.
    hidden: usize,
    /// The counted output of its replies.
    output: f64,
}

impl Sizes {
    /// `facts` are those of the recording's messages.
    pub fn of(recording: &Recording, facts: &[Message]) -> Sizes {
        let growths = growths(recording, facts);
        let are_whole = are_outputs_whole(recording, facts);
        let scale = scale(&growths, are_whole);
        let mut messages =
            vec![MessageSize { scale, hidden: tokens::estimate(0, 0) * scale, unrecorded: 0.0 }; facts.len()];
        for growth in &growths {
            growth.spread(scale, are_whole, &mut messages);
        }
        let anchors =
            facts.iter().enumerate().flat_map(|(at, message)| message.anchors.iter().map(move |id| (*id, at)));
        let removed_by_client = growths.iter().map(|growth| (-growth.tokens).max(0.0)).sum();
        let mut sizes = Sizes { head: USUAL_HEAD, scale, removed_by_client, messages, anchors: anchors.collect() };
        if let Some((answer, counted)) = counts(recording).next() {
            sizes.fit_head(facts.get(..answer).unwrap_or_default(), counted);
        }
        sizes
    }

    /// The head is what the first request has beside its messages.
    fn fit_head(&mut self, facts: &[Message], counted: f64) {
        let own: f64 = facts.iter().enumerate().map(|(at, message)| self.tokens(message, at)).sum();
        self.head = (counted - own).max(0.0);
        if own > counted {
            self.messages.iter_mut().take(facts.len()).for_each(|size| size.scale *= counted / own);
        }
    }

    /// The tokens of a message as sent, possibly edited; `at` is its position in the recording.
    pub fn tokens(&self, message: &Message, at: usize) -> f64 {
        let hidden = message.blocks.iter().filter(|block| is_hidden(block)).count() as f64;
        let size = self.messages.get(at).copied().unwrap_or_default();
        self.visible(message, at) + hidden * size.hidden + size.unrecorded
    }

    /// The tokens of a block of the message at this position.
    pub fn block(&self, block: &Block, at: usize) -> f64 {
        let size = self.messages.get(at).copied().unwrap_or_default();
        if is_hidden(block) { size.hidden } else { tokens::of_block(block) * size.scale }
    }

    /// The tokens of its visible blocks.
    pub fn visible(&self, message: &Message, at: usize) -> f64 {
        let scale = self.messages.get(at).map_or(self.scale, |size| size.scale);
        visible(std::slice::from_ref(message), |_| true) * scale
    }

    /// The position in the recording of a message as sent, if one of its ids tells.
    pub fn position(&self, message: &Message) -> Option<usize> {
        message.anchors.iter().find_map(|anchor| self.anchors.get(anchor).copied())
    }

    /// The composition of these messages of the recording.
    pub fn shares(&self, facts: &[Message]) -> Shares {
        let mut shares = Shares::default();
        for (at, (message, size)) in facts.iter().zip(&self.messages).enumerate() {
            let hidden = message.blocks.iter().filter(|block| is_hidden(block)).count() as f64;
            shares.hidden_thinking += hidden * size.hidden;
            shares.unrecorded += size.unrecorded;
            shares.visible += self.visible(message, at);
        }
        shares
    }
}

impl Growth {
    /// Gives the growth to its messages.
    fn spread(&self, scale: f64, are_whole: bool, messages: &mut [MessageSize]) {
        let overhead = self.hidden as f64 * tokens::estimate(0, 0) * scale;
        let seen = self.visible * scale;
        // The reply as counted, without its visible part.
        let most = if are_whole { self.output - (self.visible - self.given) * scale } else { f64::INFINITY };
        let hidden = match self.tokens > 0.0 {
            true => (self.tokens - seen).min(most).max(overhead.min(self.tokens / 2.0)),
            false if are_whole => most.max(overhead),
            false => overhead,
        };
        let hidden = if self.hidden > 0 { hidden } else { 0.0 };
        let left = self.tokens - hidden;
        let (factor, unrecorded) = match left / seen {
            _ if self.tokens <= 0.0 => (1.0, 0.0),
            factor if seen > 0.0 && factor <= DENSEST => (factor, 0.0),
            _ => (1.0, left - seen),
        };
        let own = messages.get_mut(self.messages.clone()).unwrap_or_default();
        for size in own.iter_mut() {
            size.scale = scale * factor;
            size.hidden = hidden / self.hidden.max(1) as f64;
        }
        if let Some(last) = own.last_mut() {
            last.unrecorded = unrecorded;
        }
    }
}

/// The estimate of the visible blocks of the chosen messages.
fn visible(facts: &[Message], is_chosen: impl Fn(&Message) -> bool) -> f64 {
    let blocks = facts.iter().filter(|message| is_chosen(message)).flat_map(|message| &message.blocks);
    blocks.filter(|block| !is_hidden(block)).map(tokens::of_block).sum()
}

/// The messages and the tokens of each request that the provider counted.
fn counts(recording: &Recording) -> impl Iterator<Item = (usize, f64)> {
    let counted = recording.turns.iter().filter_map(|turn| Some((turn.answer, prompt(turn.usage.as_ref()?))));
    counted.filter(|(_, tokens)| *tokens > 0.0)
}

/// The tokens of a prompt, cached or not.
pub(crate) fn prompt(usage: &Usage) -> f64 {
    (usage.input + usage.cache_read + usage.cache_written) as f64
}

fn growths(recording: &Recording, facts: &[Message]) -> Vec<Growth> {
    let counts: Vec<(usize, f64)> = counts(recording).collect();
    let growth = |(before, after): (&(usize, f64), &(usize, f64))| {
        let messages = before.0..after.0;
        let own = facts.get(messages.clone()).unwrap_or_default();
        let hidden = own.iter().flat_map(|message| &message.blocks).filter(|block| is_hidden(block)).count();
        let turns = recording.turns.iter().filter(|turn| messages.contains(&turn.answer));
        let output = turns.filter_map(|turn| turn.usage).map(|usage| usage.output as f64).sum();
        let given = visible(own, |message| message.role != Role::Assistant);
        Growth { tokens: after.1 - before.1, visible: visible(own, |_| true), given, hidden, output, messages }
    };
    counts.iter().zip(counts.iter().skip(1)).map(growth).collect()
}

/// Whether the recorded outputs count whole replies.
fn are_outputs_whole(recording: &Recording, facts: &[Message]) -> bool {
    let (mut seen, mut counted) = (0.0, 0.0);
    for (turn, usage) in recording.turns.iter().enumerate().filter_map(|(at, turn)| Some((at, turn.usage?))) {
        seen += visible(facts.get(recording.answer(turn)).unwrap_or_default(), |_| true);
        counted += usage.output as f64;
    }
    counted > 0.0 && counted >= seen * WHOLE
}

/// The usual factor from estimates to counts: by growths without hidden thinking, or else by growths without the
/// counted reply, or else by those with the least thinking.
fn scale(growths: &[Growth], are_whole: bool) -> f64 {
    let growths = || growths.iter().filter(|growth| growth.tokens > 0.0);
    let open = growths().filter(|growth| growth.hidden == 0).map(|growth| (growth.tokens, growth.visible));
    let given = growths().filter(|growth| are_whole && growth.tokens > growth.output);
    let given = given.map(|growth| (growth.tokens - growth.output, growth.given));
    let any = growths().map(|growth| (growth.tokens, growth.visible));
    let found = quantile(open.collect(), 0.5).or_else(|| quantile(given.collect(), 0.5));
    found.or_else(|| quantile(any.collect(), 0.25)).unwrap_or(1.0).clamp(SCALES.start, SCALES.end)
}

/// A quantile of the factors between counts and estimates, weighted by the estimates.
fn quantile(mut pairs: Vec<(f64, f64)>, share: f64) -> Option<f64> {
    pairs.retain(|(_, estimate)| *estimate >= SMALL);
    pairs.sort_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)));
    let all: f64 = pairs.iter().map(|(_, estimate)| estimate).sum();
    let mut passed = 0.0;
    let reached = pairs.iter().find(|(_, estimate)| {
        passed += estimate;
        passed >= all * share
    });
    reached.filter(|_| all >= TELLING).map(|(counted, estimate)| counted / estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A growth with this visible estimate, half of it given to the model.
    fn growth(tokens: f64, visible: f64, hidden: usize, output: f64) -> Growth {
        Growth { messages: 0..2, tokens, visible, given: visible / 2.0, hidden, output }
    }

    /// The scale, the thinking and the unrecorded tokens of the two messages of a growth, at a scale of 1.5.
    fn spread(growth: &Growth, are_whole: bool) -> (f64, f64, f64) {
        let mut messages = vec![MessageSize::default(); 2];
        growth.spread(1.5, are_whole, &mut messages);
        assert_eq!(messages[0].unrecorded, 0.0, "it stands at the end");
        (messages[1].scale, messages[1].hidden, messages[1].unrecorded)
    }

    #[test]
    fn thinking_has_what_visible_blocks_do_not_explain() {
        assert_eq!(spread(&growth(4000.0, 2000.0, 2, 0.0), false), (1.5, 500.0, 0.0));
        assert_eq!(spread(&growth(4000.0, 2000.0, 1, 2300.0), true), (1.6, 800.0, 0.0), "no more than was put out");
        let (scale, hidden, unrecorded) = spread(&growth(1000.0, 2000.0, 1, 0.0), false);
        assert!(scale < 0.5 && hidden > 0.0 && unrecorded == 0.0, "{scale} {hidden}: visible blocks may be smaller");
    }

    #[test]
    fn a_growth_without_thinking_corrects_its_blocks_or_was_not_recorded() {
        assert_eq!(spread(&growth(3750.0, 2000.0, 0, 0.0), true), (1.875, 0.0, 0.0));
        assert_eq!(spread(&growth(9000.0, 2000.0, 0, 0.0), true), (1.5, 0.0, 6000.0));
    }

    #[test]
    fn a_prompt_that_shrank_tells_nothing_of_its_blocks() {
        assert_eq!(spread(&growth(-5000.0, 2000.0, 0, 0.0), true), (1.5, 0.0, 0.0));
        assert_eq!(spread(&growth(-5000.0, 2000.0, 1, 2500.0), true), (1.5, 1000.0, 0.0), "the output still does");
    }

    #[test]
    fn the_scale_is_that_of_growths_without_thinking() {
        let open = || vec![growth(3000.0, 2000.0, 0, 0.0), growth(2800.0, 2000.0, 0, 0.0), growth(9e4, 2000.0, 0, 0.0)];
        let hidden = || vec![growth(6000.0, 2000.0, 1, 3600.0), growth(8000.0, 4000.0, 1, 3200.0)];
        let of = |growths: Vec<Growth>, are_whole| scale(&growths, are_whole);
        assert_eq!(
            of(open().into_iter().chain(hidden()).collect(), true),
            1.5,
            "the median: much was not recorded once"
        );
        assert_eq!(of(hidden().into_iter().chain(hidden()).collect(), true), 2.4, "or without the reply");
        assert_eq!(of(hidden(), false), 2.0, "or with the least thinking");
        assert_eq!((of(Vec::new(), true), of(open().drain(..1).collect(), true)), (1.0, 1.0), "too little to tell");
    }
}
