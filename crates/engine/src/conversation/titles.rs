//! Titles by a helper model. They are notes, not commits, so undo does not touch them. A person's title wins.

use ctx_core::edit::effect::FrameKey;
use ctx_core::edit::fold::View;
use std::collections::{BTreeMap, HashMap};

/// The name of the note.
pub const TITLES: &str = "titles";

/// The size in tokens from which the opening words no longer describe a frame.
pub const GROWN: u64 = 3_000;

/// By the message that opens the frame.
pub type Titles = BTreeMap<u64, String>;

/// The titles of all conversations, from their notes.
pub fn read(notes: Vec<(String, Vec<u8>)>) -> HashMap<String, Titles> {
    let read = |(id, body): (String, Vec<u8>)| Some((id, serde_json::from_slice(&body).ok()?));
    notes.into_iter().filter_map(read).collect()
}

/// Gives titles to the frames without a title of their own.
pub fn lay(titles: &Titles, view: &mut View<'_>) {
    if titles.is_empty() {
        return;
    }
    for frame in view.frames.iter_mut().filter(|frame| frame.title.is_none()) {
        if let FrameKey::Opened(slot) = frame.key {
            frame.title = titles.get(&slot.0).cloned();
        }
    }
}
