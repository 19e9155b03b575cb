//! Stock Claude Code: what `ctx install claude-code` writes for it, and how that is taken back.

pub mod carry_out;
pub mod change;
mod file;
mod jsonc;
pub mod memory;
pub mod places;
pub mod shown;
pub mod skill;

use std::path::Path;

pub use self::file::read;
pub use self::jsonc::Document;
use crate::failure::Failure;

/// A settings file that we do not understand is never written.
pub fn unreadable(path: &Path, broken: &jsonc::Broken) -> Failure {
    Failure::new("settings-broken", format!("{}: {broken}; nothing was changed", path.display()))
        .hint("correct the file or move it aside, and run this again")
}
