//! Folders of settings.

use std::path::PathBuf;

use crate::setup::Host;

/// The folder of a user's settings.
#[derive(Debug)]
pub struct Folder {
    /// A variable that names a folder, and the path below it.
    pub variable: Option<(&'static str, &'static str)>,
    /// The folder below the user's home, if the variable is unset.
    pub home: &'static str,
}

impl Folder {
    /// Finds the folder; `None` if the user's home is unknown.
    pub fn find(&self, host: &dyn Host) -> Option<PathBuf> {
        let named = self.variable.and_then(|(name, below)| Some(PathBuf::from(host.variable(name)?).join(below)));
        let home = || host.variable("HOME").or_else(|| host.variable("USERPROFILE"));
        named.or_else(|| Some(PathBuf::from(home()?).join(self.home)))
    }
}
