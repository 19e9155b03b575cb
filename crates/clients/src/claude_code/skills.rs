//! The folders of skills.

use super::folders;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The user's own skills. `variable` looks up an environment variable.
pub fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    folders::of_user(variable).map(|(config, _)| config.join(folders::SKILLS))
}

/// The skills of a project in this folder.
pub fn of_project(folder: &Path) -> PathBuf {
    folder.join(folders::CONFIG).join(folders::SKILLS)
}
