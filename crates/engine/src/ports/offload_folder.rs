//! The folder for offloaded content.

use std::io;
use std::path::{Path, PathBuf};

/// Where offloaded content goes.
pub trait OffloadFolder: Send + Sync {
    /// Where a text would go.
    fn path(&self, conversation: &str, name: &str) -> PathBuf;

    /// Writes a text under a name that its content decides; the same text is written once. Tells whether it is new. File
    /// and folders are on disk when this returns.
    fn write(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)>;

    /// Whether the agent can still read a file.
    fn has(&self, file: &Path) -> bool;

    /// Removes a file that was written for a commit that did not come about.
    fn remove(&self, file: &Path);

    /// Removes what was offloaded from a conversation that is forgotten.
    fn forget(&self, conversation: &str);
}
