//! Superseded reads: files that are read again, or changed, later.

use super::Desk;
use crate::edit::fold::{Unit, ViewUnit};
use crate::fast_map::{FastSet, NameSet};
use crate::key::Key;
use crate::message::{Block, How, Kind};

impl Desk<'_> {
    /// The ids of superseded reads among the sent calls. A partial read counts until the same part or the whole file is
    /// read again.
    pub fn superseded(&self) -> NameSet<&str> {
        let sent: Vec<ViewUnit> = self.sent().map(|(_, laid)| laid).collect();
        self.superseded_among(sent.iter())
    }

    /// The sent units, each with the index of its frame.
    pub fn sent(&self) -> impl Iterator<Item = (usize, ViewUnit)> {
        let laid = self.view.frames.iter().enumerate().flat_map(|(at, frame)| {
            self.view.units(frame, self.source.messages).into_iter().map(move |laid| (at, laid))
        });
        laid.filter(|(_, laid)| laid.covered.is_none() && !self.view.is_left_out(laid))
    }

    /// The same among units that are known to be sent.
    pub fn superseded_among<'u>(&self, sent: impl DoubleEndedIterator<Item = &'u ViewUnit> + Clone) -> NameSet<&str> {
        let block = |laid: &ViewUnit| match laid.unit {
            Unit::Source { message, block: Some(block) } => self.source.messages.get(message)?.blocks.get(block),
            _ => None,
        };
        // Removed content supersedes nothing.
        let whole = sent.clone().filter(|laid| laid.result.is_none()).filter_map(block);
        let results: NameSet<&str> = whole
            .filter(|block: &&Block| block.kind == Kind::ToolResult)
            .filter_map(|block| block.tool_use_id.as_deref())
            .collect();
        let mut seen: FastSet<(Key, Option<Key>)> = FastSet::default();
        let mut superseded = NameSet::default();
        for call in sent.rev().filter_map(block).filter(|block| block.kind == Kind::ToolUse) {
            let (Some(touch), Some(id)) = (&call.touches, call.tool_use_id.as_deref()) else { continue };
            if !results.contains(id) {
                continue;
            }
            match touch.how {
                How::Read(part) => {
                    if seen.contains(&(touch.file, None)) || seen.contains(&(touch.file, part)) {
                        superseded.insert(id);
                    }
                    seen.insert((touch.file, part));
                }
                How::Change => {
                    seen.insert((touch.file, None));
                }
            }
        }
        superseded
    }
}
