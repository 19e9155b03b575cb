//! What somebody wants of the automatic editor, asked for again each time: it may change while the daemon runs.

use std::path::Path;
use std::sync::Arc;

use ctx_core::policy::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Settings in a project's own files that are not in force, because nobody trusts the project yet or because a project cannot
/// decide them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSettings {
    /// The folder to trust: `ctx trust FOLDER`.
    pub folder: String,
    /// Settings that take effect once a person trusts the folder.
    pub waiting: Vec<ProjectSetting>,
    /// Settings that no project can decide, and files that are not believed at all.
    pub ignored: Vec<ProjectSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSetting {
    pub file: String,
    /// None: it is about the whole file.
    pub line: Option<u64>,
    /// Such as `context_editing.mode`.
    pub key: String,
    pub value: Option<String>,
    /// Why it is not in force, and what to do.
    pub why: String,
}

/// The same for everybody, whatever happens.
impl Rules for Arc<Settings> {
    fn of(&self, _folder: Option<&Path>, _skills: &[&str]) -> Arc<Settings> {
        Arc::clone(self)
    }
}
