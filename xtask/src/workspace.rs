//! Paths: the checkout, and the cache outside it that keeps downloaded test tools between runs.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The checkout's root: the folder above this crate.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// `$XDG_CACHE_HOME/ctx-tests` or `~/.cache/ctx-tests`: outside the checkout, so that a fresh clone
/// on the same machine need not download 350 MB again.
pub fn cache() -> Outcome<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("ctx-tests"))
        .ok_or_else(|| {
            Failure::new("neither XDG_CACHE_HOME nor HOME names a folder for downloaded test tools")
                .hint("set one of them to an absolute path")
        })
}

/// True on CI, where leaving a check out must be a failure and never a note.
pub fn on_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}
