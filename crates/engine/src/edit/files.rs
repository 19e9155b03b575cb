//! The files that a commit needs.

use super::imports::Imports;
use crate::ports::OffloadFolder;
use std::path::PathBuf;
use std::sync::Arc;

/// The files that a commit needs, and what is to be told of it. Files that are new go again when it does not come about.
#[derive(Default)]
pub struct Files {
    pub paths: Vec<PathBuf>,
    pub remarks: Vec<String>,
    /// What was copied from other conversations for it.
    pub imports: Imports,
    new: Vec<(Arc<dyn OffloadFolder>, PathBuf)>,
}

impl Files {
    /// With what was copied from other conversations.
    pub fn importing(imports: Imports) -> Files {
        let mut files = Files::default();
        files.imports = imports;
        files
    }

    pub(super) fn add(&mut self, folder: &Arc<dyn OffloadFolder>, path: PathBuf, is_new: bool) {
        self.new.extend(is_new.then(|| (folder.clone(), path.clone())));
        self.paths.push(path);
    }

    /// The commit is safe.
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
