//! The folders of Claude Code.

use super::variables;
use std::ffi::OsString;
use std::path::PathBuf;

/// In a project, and in the home of the user.
pub const CONFIG: &str = ".claude";
/// Below it.
pub const SKILLS: &str = "skills";

/// The folder of the user's settings, and the one in which its own state lies. `variable`: looks an environment variable
/// up; one that is empty is unset.
pub fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<(PathBuf, PathBuf)> {
    if let Some(config) = variable(variables::CONFIG_DIR).map(PathBuf::from) {
        return Some((config.clone(), config));
    }
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from)?;
    Some((home.join(CONFIG), home))
}
