//! The port for the folder with offloaded content.

use crate::Refusal;
use std::path::{Path, PathBuf};

pub trait OffloadFolder: Send + Sync {
    fn path(&self, conversation: &str, name: &str) -> PathBuf;

    /// Queues a file that is written before the next step is stored, and waits for no disk. Refuses if the folder is
    /// known not to be writable.
    fn write_soon(&self, conversation: &str, name: &str, text: &str) -> Result<(), Refusal>;

    /// Whether the agent can still read a file.
    fn has(&self, file: &Path) -> bool;

    /// Removes the files of a purged conversation.
    fn forget(&self, conversation: &str);
}
