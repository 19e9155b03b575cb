//! The messages with which a client first sent a reply back, by the message before them. An edit names a pending reply
//! by that message, which may leave the path before the reply does.

use crate::fast_map::FastMap;
use crate::tree::SlotId;
use std::sync::LazyLock;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replies {
    after: FastMap<SlotId, Vec<SlotId>>,
}

impl Replies {
    /// For a path without a past.
    pub fn none() -> &'static Replies {
        static NONE: LazyLock<Replies> = LazyLock::new(Replies::default);
        &NONE
    }

    /// The first messages of the client behind `after` that are not the user's have come.
    pub fn come(&mut self, after: SlotId, slots: &[SlotId]) {
        if !slots.is_empty() {
            self.after.entry(after).or_default().extend(slots);
        }
    }

    /// The messages that came behind this one, oldest first.
    pub fn after(&self, slot: SlotId) -> &[SlotId] {
        self.after.get(&slot).map(Vec::as_slice).unwrap_or_default()
    }
}
