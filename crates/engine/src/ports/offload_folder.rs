//! The port for the folder with offloaded content.

use std::io;
use std::path::{Path, PathBuf};

pub trait OffloadFolder: Send + Sync {
    fn path(&self, conversation: &str, name: &str) -> PathBuf;

    /// Writes a text under a name derived from its content; the same text is written once. Returns whether it is new.
    /// File and folders are on disk when this returns.
    fn write(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)>;

    /// Whether the agent can still read a file.
    fn has(&self, file: &Path) -> bool;

    /// Removes a file whose commit failed.
    fn remove(&self, file: &Path);

    /// Removes the files of a purged conversation.
    fn forget(&self, conversation: &str);
}
