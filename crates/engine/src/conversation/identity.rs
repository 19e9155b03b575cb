//! The identity of a conversation: its name, its opening, its format, and where its client works.

use crate::log::OpeningRecord;
use ctx_wire::Wire;

/// The number of turns to search for the client's folder; clients name it at the beginning.
pub const FOLDER_TURNS: u32 = 3;

#[derive(Debug)]
pub struct Identity {
    pub(super) id: String,
    pub(crate) opened: OpeningRecord,
    /// The format of its client.
    pub(super) wire: &'static dyn Wire,
    /// The client's working folder, if the client names it.
    pub(crate) folder: Option<String>,
    /// The working folder of its parent's client.
    pub(super) parent_folder: Option<String>,
}

impl Identity {
    pub(super) fn new(id: String, opened: OpeningRecord) -> Identity {
        Identity { id, wire: ctx_wire::wire(opened.wire), opened, folder: None, parent_folder: None }
    }

    pub(super) fn introduce(&mut self, opened: OpeningRecord) {
        self.wire = ctx_wire::wire(opened.wire);
        self.opened = opened;
    }
}
