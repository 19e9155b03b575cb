//! What somebody wants of the automatic editor, asked for again each time: it may change while the daemon runs.

use ctx_api::context::ProjectSettings;
use std::path::Path;
use std::sync::Arc;

use ctx_core::policy::Settings;

/// Who knows what is wanted. Asking is cheap, and it never fails: what is wrong somewhere does not count.
pub trait Rules: Send + Sync {
    /// For a client that works in `folder`, while these skills are active. The same `Arc` as long as nothing changes.
    fn of(&self, folder: Option<&Path>, skills: &[&str]) -> Arc<Settings>;

    /// What is wrong there and therefore does not count, each in a sentence.
    fn wrong(&self, _folder: Option<&Path>, _skills: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// The settings of the project itself that are not in force.
    fn project(&self, _folder: Option<&Path>, _skills: &[&str]) -> Option<ProjectSettings> {
        None
    }
}

/// The same for everybody, whatever happens.
impl Rules for Arc<Settings> {
    fn of(&self, _folder: Option<&Path>, _skills: &[&str]) -> Arc<Settings> {
        Arc::clone(self)
    }
}
