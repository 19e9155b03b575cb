//! The files that a commit needs.

use super::imports::Imports;
use crate::ports::OffloadFolder;
use ctx_core::edit::history::KeptText;
use std::path::PathBuf;
use std::sync::Arc;

/// The files that a commit needs, and the messages about it. New files are removed if the commit fails.
#[derive(Default)]
pub struct Files {
    pub paths: Vec<PathBuf>,
    pub remarks: Vec<String>,
    /// Offloaded content that goes to no file.
    pub kept: Vec<KeptText>,
    /// Content copied from other conversations.
    pub imports: Imports,
    new: Vec<(Arc<dyn OffloadFolder>, PathBuf)>,
}

impl Files {
    /// Starts with content copied from other conversations.
    pub fn importing(imports: Imports) -> Files {
        let mut files = Files::default();
        files.imports = imports;
        files
    }

    pub(super) fn add(&mut self, folder: &Arc<dyn OffloadFolder>, path: PathBuf, is_new: bool) {
        self.new.extend(is_new.then(|| (folder.clone(), path.clone())));
        self.paths.push(path);
    }

    /// Keeps the files: the commit is stored.
    pub fn keep(mut self) {
        self.new.clear();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for (folder, path) in &self.new {
            folder.remove(path);
        }
    }
}
