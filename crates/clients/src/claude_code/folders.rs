//! The folders of Claude Code.

use super::variables;
use std::ffi::OsString;
use std::path::PathBuf;

/// The folder name, in a project and in the user's home.
pub const CONFIG: &str = ".claude";
/// The folder below it.
pub const SKILLS: &str = "skills";

/// The folder of the user's settings, and the one of the client's own state. `variable` looks up an environment
/// variable; an empty one is unset.
pub fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<(PathBuf, PathBuf)> {
    if let Some(config) = variable(variables::CONFIG_DIR).map(PathBuf::from) {
        return Some((config.clone(), config));
    }
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from)?;
    Some((home.join(CONFIG), home))
}
