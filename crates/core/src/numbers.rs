//! Frame numbers: the permanent assignment of `tN` to frames.
//!
//! A frame keeps the number that it got when its opening message first stood on the current path. No number is assigned
//! twice: after a compaction, or a rewind to other words, numbering continues.

use crate::fast_map::FastMap;
use crate::frames;
use crate::message::{Message, Role};
use crate::tree::SlotId;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers {
    by_opening: FastMap<SlotId, u32>,
    last: u32,
}

impl Numbers {
    /// The number of the frame that `slot` opens.
    pub fn of(&self, slot: SlotId) -> Option<u32> {
        self.by_opening.get(&slot).copied()
    }

    /// The highest assigned number.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Numbers the unnumbered frames of a path. Messages before `from` are unchanged since the last call.
    pub fn give<'m>(&mut self, path: impl Iterator<Item = (SlotId, &'m Message)>, from: usize) {
        if from > 0 {
            let opens = |message: &Message| message.role == Role::User && message.speaks.is_some();
            path.skip(from).filter(|(_, message)| opens(message)).for_each(|(slot, _)| self.add(slot));
            return;
        }
        let (slots, messages): (Vec<SlotId>, Vec<&Message>) = path.unzip();
        frames::frames(&messages).iter().for_each(|frame| self.add(slots[frame.opening]));
    }

    fn add(&mut self, slot: SlotId) {
        let last = &mut self.last;
        self.by_opening.entry(slot).or_insert_with(|| {
            *last += 1;
            *last
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::testing::Talk;

    fn given(numbers: &mut Numbers, talk: &Talk, from: usize) -> Vec<u32> {
        let path = || talk.slots.iter().copied().zip(&talk.messages);
        numbers.give(path(), from);
        path().filter_map(|(slot, _)| numbers.of(slot)).collect()
    }

    #[test]
    fn a_frame_keeps_its_number_and_no_other_frame_ever_gets_it() {
        let mut numbers = Numbers::default();
        let talk = Talk::default().human().says().human().says();
        assert_eq!(given(&mut numbers, &talk, 0), [1, 2]);
        let longer = talk.clone().human().says();
        assert_eq!(given(&mut numbers, &longer, 4), [1, 2, 3]);
        // Rewound to before the third, and continued with other words.
        let mut other = talk.clone();
        other.next = longer.next;
        assert_eq!(given(&mut numbers, &other.human(), 4), [1, 2, 4]);
        assert_eq!(given(&mut numbers, &longer, 4), [1, 2, 3], "it has come back");
        // Compacted: a summary, and the second frame, which the client kept.
        let mut summary = Talk { next: 90, ..Talk::default() }.human();
        summary.slots.extend(&talk.slots[2..]);
        summary.messages.extend_from_slice(&talk.messages[2..]);
        assert_eq!(given(&mut numbers, &summary, 0), [5, 2]);
    }

    #[test]
    fn the_clients_own_message_before_the_first_words_takes_no_number() {
        let mut numbers = Numbers::default();
        assert_eq!(given(&mut numbers, &Talk::default().reminder().human().says(), 0), [1]);
    }
}
