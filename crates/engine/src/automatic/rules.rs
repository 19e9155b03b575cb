//! The settings of the automatic editor, read again each time: they may change while the daemon runs.

use ctx_api::context::ProjectSettings;
use std::path::Path;
use std::sync::Arc;

use ctx_core::policy::Settings;

/// The source of settings. Reading is cheap and never fails: invalid settings are ignored.
pub trait Rules: Send + Sync {
    /// For a client that works in `folder`, with these active skills. Returns the same `Arc` as long as nothing
    /// changes.
    fn of(&self, folder: Option<&Path>, skills: &[&str]) -> Arc<Settings>;

    /// The invalid and therefore ignored settings, one sentence each.
    fn wrong(&self, _folder: Option<&Path>, _skills: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// The settings of the project itself that are not in force.
    fn project(&self, _folder: Option<&Path>, _skills: &[&str]) -> Option<ProjectSettings> {
        None
    }
}

/// The same settings for every client.
impl Rules for Arc<Settings> {
    fn of(&self, _folder: Option<&Path>, _skills: &[&str]) -> Arc<Settings> {
        Arc::clone(self)
    }
}
