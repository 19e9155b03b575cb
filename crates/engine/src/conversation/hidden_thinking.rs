//! The sizes of thinking that clients send back without its text. The provider counts it, but its blocks show nothing to
//! estimate. Without a size of its own it would make every other block look larger.
//!
//! A reply tells the size first: its counted output without its visible blocks. The next counted prompt may correct it:
//! a provider that drops old thinking counts less.

use crate::log::AnswerRecord;
use ctx_core::fast_map::FastMap;
use ctx_core::message::{Block, Message, Role};
use ctx_core::tokens::{Calibration, is_hidden_thinking, of_block};
use ctx_core::{Key, SlotId};

/// The known sizes, and the newest reply.
#[derive(Debug, Default)]
pub struct HiddenThinking {
    /// In estimated tokens, by signature: a client may send a message again with another spelling.
    sizes: FastMap<Key, u32>,
    /// The signatures and the counted output of the newest reply.
    reply: Option<CountedReply>,
    /// The blocks that have their sizes by that reply.
    newest: Vec<(SlotId, usize)>,
    /// The newest counted prompt: its estimate, and its tokens.
    counted: Option<(f64, u64)>,
}

#[derive(Debug)]
struct CountedReply {
    signatures: Vec<Key>,
    output: u64,
    /// The part that was thinking, if the provider counts it separately.
    thinking: Option<u64>,
}

/// A smaller correction, as a share of the thinking, is left to the calibration.
const NOTEWORTHY: f64 = 0.1;

impl HiddenThinking {
    /// Remembers the counts of a reply.
    pub fn answered(&mut self, answered: &AnswerRecord) {
        let signatures: Vec<Key> = answered.signatures.iter().filter_map(|text| text.parse().ok()).collect();
        let usage = answered.usage.filter(|usage| !signatures.is_empty() && usage.output > 0);
        self.reply = usage.map(|usage| CountedReply { signatures, output: usage.output, thinking: usage.thinking });
    }

    /// Gives the thinking in these new messages its size.
    pub fn size<'m>(&mut self, messages: impl Iterator<Item = (SlotId, &'m mut Message)>, calibration: &Calibration) {
        self.newest.clear();
        let is_hidden = |message: &Message| message.blocks.iter().any(is_hidden_thinking);
        let mut replies: Vec<(SlotId, &mut Message)> =
            messages.filter(|(_, message)| message.role == Role::Assistant).collect();
        if !replies.iter().any(|(_, message)| is_hidden(message)) {
            return;
        }
        if let Some(reply) = self.reply.take() {
            let each = reply.hidden(replies.iter().flat_map(|(_, message)| &message.blocks), calibration);
            self.sizes.extend(reply.signatures.into_iter().map(|signature| (signature, each)));
        }
        for (slot, message) in &mut replies {
            for (at, block) in message.blocks.iter_mut().enumerate().filter(|(_, block)| is_hidden_thinking(block)) {
                if let Some(size) = block.signature.and_then(|signature| self.sizes.get(&signature)) {
                    block.fixed_tokens = *size;
                    self.newest.push((*slot, at));
                }
            }
        }
    }

    /// Compares a counted prompt with the one before. Returns the blocks whose size was too large, and the estimated
    /// tokens to take from each.
    pub fn counted(&mut self, estimated: f64, tokens: u64, calibration: &Calibration) -> (Vec<(SlotId, usize)>, u32) {
        let before = self.counted.replace((estimated, tokens));
        let newest = std::mem::take(&mut self.newest);
        let excess = before.filter(|(earlier, _)| estimated > *earlier).map_or(0.0, |(earlier, counted)| {
            let growth = calibration.estimate(tokens) - calibration.estimate(counted);
            estimated - earlier - growth
        });
        match excess > 0.0 && !newest.is_empty() {
            true => {
                let each = (excess / newest.len() as f64) as u32;
                (newest, each)
            }
            false => (Vec::new(), 0),
        }
    }

    /// The size of a block that is too large by so many tokens; none if the difference does not matter.
    pub fn corrected(&mut self, block: &Block, excess: u32) -> Option<u32> {
        let size = block.fixed_tokens;
        let is_noteworthy = size > 0 && f64::from(excess) >= f64::from(size) * NOTEWORTHY;
        let corrected = is_noteworthy.then(|| size.saturating_sub(excess))?;
        self.sizes.extend(block.signature.map(|signature| (signature, corrected)));
        Some(corrected)
    }
}

impl CountedReply {
    /// The estimated tokens of each of its hidden blocks among these.
    fn hidden<'b>(&self, blocks: impl Iterator<Item = &'b Block>, calibration: &Calibration) -> u32 {
        let (mut count, mut seen) = (0, 0.0);
        for block in blocks {
            match block.signature.filter(|_| is_hidden_thinking(block)) {
                Some(signature) => count += u32::from(self.signatures.contains(&signature)),
                None => seen += of_block(block),
            }
        }
        let hidden = match self.thinking {
            Some(thinking) => calibration.estimate(thinking),
            None => calibration.estimate(self.output) - seen,
        };
        (hidden.max(0.0) / f64::from(count.max(1))) as u32
    }
}
