//! The files that steps name.

use crate::automatic::Switch;
use crate::edit::Folder;
use std::sync::{Arc, OnceLock};

/// Writes the queued files of the automatic editor and of deferred edits.
#[derive(Default)]
pub struct StepFiles {
    pub automatic: Arc<Switch>,
    pub offload: Arc<OnceLock<Folder>>,
}

impl StepFiles {
    /// The queued files are on disk before the step that names them. Those that cannot be written stay queued: their
    /// content is in the store.
    pub fn secure(&self) {
        if let Some(editor) = self.automatic.get() {
            editor.secure();
        }
        for (conversation, error) in self.offload.get().map(Folder::write_queued).unwrap_or_default() {
            tracing::warn!(%conversation, %error, "offloaded content is not written yet");
        }
    }
}
