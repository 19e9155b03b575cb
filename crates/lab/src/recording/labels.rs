//! Labels of recordings, from the `index.json` of their folder or of the folder above.

use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The purpose and the origin of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    pub split: Split,
    /// The project it was recorded in, if known.
    pub project: Option<String>,
}

/// The purpose of a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Split {
    /// Policies are chosen by it, or may have been.
    #[default]
    Tune,
    /// Choices are checked with it.
    Validate,
}

/// The indexes read so far, by folder: labels by the name of a file.
#[derive(Default)]
pub(super) struct Indexes(HashMap<PathBuf, HashMap<String, Labels>>);

impl Indexes {
    /// The labels of a file; unlisted files have none.
    pub(super) fn labels(&mut self, file: &Path) -> Labels {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let folders = file.ancestors().skip(1).take(2);
        let mut labels = folders.filter_map(|folder| {
            let index = self.0.entry(folder.to_owned()).or_insert_with(|| read(&folder.join("index.json")));
            index.get(&*name).cloned()
        });
        labels.next().unwrap_or_default()
    }
}

fn read(index: &Path) -> HashMap<String, Labels> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        split: Option<Cow<'a, str>>,
        project: Option<String>,
        source_repo: Option<String>,
    }
    let bytes = fs::read(index).unwrap_or_default();
    let entries: Vec<Entry> = serde_json::from_slice(&bytes).unwrap_or_default();
    let labels = |entry: Entry| {
        let split = if entry.split.as_deref() == Some("validate") { Split::Validate } else { Split::Tune };
        (entry.id.into_owned(), Labels { split, project: entry.project.or(entry.source_repo) })
    };
    entries.into_iter().map(labels).collect()
}
