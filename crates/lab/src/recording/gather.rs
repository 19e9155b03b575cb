//! Finds recordings in files and folders. The content determines the kind of a file; unusable files are named, with the
//! reason.

use super::labels::Indexes;
use super::{Recording, corpus, sessions, store};
use ctx_clients::SessionFile;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Larger than any conversation.
const LARGEST: u64 = 1 << 30;

/// The endings of files that are read in folders.
const ENDINGS: [&str; 3] = ["json", "jsonl", "db"];

/// The recordings, in the order of the file names.
#[derive(Debug, Default)]
pub struct GatheredRecordings {
    pub recordings: Vec<Recording>,
    pub skipped: Vec<SkippedFile>,
}

/// An unusable file, or one line of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    pub file: PathBuf,
    /// Counted from 1; none if it concerns the whole file.
    pub line: Option<usize>,
    pub why: String,
}

/// Reads files and folders: request bodies with or without usage, clients' session files, and the folder of our own
/// store. In folders, recursively, it reads files ending in `.json` and `.jsonl`, and clients' databases. Each file is
/// read once.
pub fn read(paths: &[PathBuf]) -> GatheredRecordings {
    let mut reading = Reading::default();
    for path in paths {
        match fs::metadata(path) {
            Ok(about) if about.is_dir() && store::is_store(path) => reading.store(path),
            Ok(about) if about.is_dir() => reading.folder(path),
            Ok(_) => reading.file(path, true),
            Err(error) => reading.skip(path, None, format!("it cannot be opened: {error}")),
        }
    }
    reading.gathered
}

#[derive(Default)]
struct Reading {
    gathered: GatheredRecordings,
    seen: HashSet<PathBuf>,
    names: HashMap<String, usize>,
    indexes: Indexes,
}

impl Reading {
    fn store(&mut self, folder: &Path) {
        match store::read(folder) {
            Ok((recordings, skipped)) => {
                recordings.into_iter().for_each(|recording| self.keep(recording));
                skipped.into_iter().for_each(|why| self.skip(folder, None, why));
            }
            Err(why) => self.skip(folder, None, why),
        }
    }

    fn folder(&mut self, folder: &Path) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.skip(folder, None, format!("the folder cannot be opened: {error}")),
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            // Links to folders are not followed: they may form cycles.
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.folder(&path);
            } else if path.is_file() && path.extension().is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one))
            {
                self.file(&path, false);
            }
        }
    }

    fn file(&mut self, path: &Path, named: bool) {
        if !self.seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned())) {
            return;
        }
        if fs::metadata(path).is_ok_and(|about| about.len() > LARGEST) {
            return self.skip(path, None, "it is larger than any conversation (1 GiB)".into());
        }
        if let Some(session) = sessions::stored(path) {
            return self.sessions(path, session);
        }
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => return self.skip(path, None, format!("it cannot be read: {error}")),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let labels = self.indexes.labels(path);
        if let Some(session) = sessions::read(path, &name, &bytes) {
            self.sessions(path, session);
        } else if named || !passed_over(path, &bytes) {
            let usage = corpus::usage_of(path).and_then(|usage| fs::read(usage).ok());
            match corpus::read(name, &bytes, usage.as_deref()) {
                Ok(recording) => self.keep(Recording { labels, ..recording }),
                Err(why) => self.skip(path, None, why),
            }
        }
    }

    fn sessions(&mut self, path: &Path, session: SessionFile) {
        let labels = self.indexes.labels(path);
        for (line, why) in session.skipped {
            self.skip(path, line, why);
        }
        for conversation in session.conversations {
            self.keep(Recording { labels: labels.clone(), ..conversation.into() });
        }
    }

    /// Makes names unique.
    fn keep(&mut self, mut recording: Recording) {
        let count = self.names.entry(recording.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            recording.name = format!("{} ({count})", recording.name);
        }
        self.gathered.recordings.push(recording);
    }

    fn skip(&mut self, file: &Path, line: Option<usize>, why: String) {
        self.gathered.skipped.push(SkippedFile { file: file.to_owned(), line, why });
    }
}

/// Known files without recordings.
fn passed_over(path: &Path, bytes: &[u8]) -> bool {
    path.extension().is_some_and(|ending| ending == "db") || sessions::passes_over(path) || corpus::belongs(bytes)
}
