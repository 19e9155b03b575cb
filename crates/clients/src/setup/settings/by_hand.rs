//! Clients whose settings `ctx` does not change: it prints what to write.

use super::Folder;
use crate::launch::fill;
use crate::setup::{Host, InstallOptions, Installer, Journal, Plan, Scope, SetupError};
use ctx_core::ErrorCode;

/// A client that the user configures by hand.
#[derive(Debug)]
pub struct ByHand {
    pub name: &'static str,
    pub title: &'static str,
    pub folder: Folder,
    pub file: &'static str,
    /// Why `ctx` does not write it.
    pub reason: &'static str,
    /// The line to write; `{url}` is the daemon's URL.
    pub line: &'static str,
}

impl Installer for ByHand {
    fn install(&self, _: &InstallOptions, host: &dyn Host) -> Result<Plan, SetupError> {
        let file = self.folder.find(host).map(|folder| folder.join(self.file)).unwrap_or_default();
        let line = fill(self.line, &host.daemon()?.url(), "");
        let hint = format!("add {line} to {}", file.display());
        Err(SetupError::new(ErrorCode::ByHand, format!("{}; nothing was changed", self.reason), hint))
    }

    fn uninstall(&self, scope: Scope, _: bool, host: &dyn Host) -> Result<Plan, SetupError> {
        let journal = Journal::load(&host.journal(self.name)?, self.title)?;
        Ok(Plan::undo(self.title, scope, journal, Vec::new()))
    }

    fn is_found(&self, host: &dyn Host) -> bool {
        self.folder.find(host).is_some_and(|folder| folder.join(self.file).exists())
    }
}
