//! The folder for offloaded content.

use crate::threads::lock;
use ctx_engine::ports::OffloadFolder;
use ctx_store::confined;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The folder for offloaded content. Nothing is ever written outside it, and nothing in it is overwritten.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
    /// The project that contains it, which it must not leave, and where version control should ignore it.
    project: Option<PathBuf>,
    /// Files that a power cut could still destroy: conversation and name of each.
    unsynced: Arc<Mutex<Vec<(String, String)>>>,
}

impl Folder {
    pub fn in_home(home: &Path) -> Folder {
        Folder { root: home.join("offload"), project: None, unsynced: Arc::default() }
    }

    pub fn in_project(project: &Path, folder: PathBuf) -> Folder {
        Folder { root: folder, project: Some(project.to_owned()), unsynced: Arc::default() }
    }

    /// Opens the folder, and creates it if missing. Below the project or the home no link is followed.
    fn open(&self) -> io::Result<confined::Folder> {
        let base = self.project.as_deref().or(self.root.parent()).unwrap_or(&self.root);
        let below = self.root.strip_prefix(base).map_err(io::Error::other)?;
        confined::Folder::create(base)?.make(below)
    }

    /// Like [`OffloadFolder::write`], but the file survives a power cut only after [`Folder::sync`].
    pub fn write_soon(&self, conversation: &str, name: &str, text: &str) -> io::Result<PathBuf> {
        let (path, is_new) = self.put(conversation, name, text)?;
        if is_new {
            lock(&self.unsynced).push((conversation.to_owned(), name.to_owned()));
        }
        Ok(path)
    }

    /// Writes a text to a file that does not exist yet, or already has this text.
    fn put(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)> {
        let root = self.open()?;
        if self.project.is_some() {
            match root.create_new(".gitignore") {
                Ok(mut file) => file.write_all(b"*\n")?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let folder = root.make(Path::new(conversation))?;
        let path = folder.path().join(name);
        match folder.create_new(name) {
            Ok(mut file) => {
                if let Err(error) = file.write_all(text.as_bytes()) {
                    let _ = folder.remove(name);
                    return Err(error);
                }
                Ok((path, true))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut found = Vec::new();
                let read = folder.read(name).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut found));
                match read {
                    Ok(_) if found == text.as_bytes() => Ok((path, false)),
                    _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "another file is in its place")),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Makes all written files survive a power cut. The store has their content, so an error is only logged.
    pub fn sync(&self) {
        let files = std::mem::take(&mut *lock(&self.unsynced));
        for of_one in files.chunk_by(|(one, _), (next, _)| one == next) {
            if let Err(error) = self.sync_files(of_one) {
                let folder = self.root.join(&of_one[0].0);
                tracing::warn!(%error, folder = %folder.display(), "cannot sync what was cleared to files");
            }
        }
    }

    /// Syncs files of one conversation, and its folder.
    fn sync_files(&self, files: &[(String, String)]) -> io::Result<()> {
        let Some((conversation, _)) = files.first() else { return Ok(()) };
        // A purge may have removed the folder; it must not come back.
        let (folder, true) = self.open()?.reach(Path::new(conversation))? else { return Ok(()) };
        for (_, name) in files {
            match folder.append_existing(name).and_then(|file| file.sync_all()) {
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                synced => synced?,
            }
        }
        folder.sync()
    }
}

impl OffloadFolder for Folder {
    fn path(&self, conversation: &str, name: &str) -> PathBuf {
        self.root.join(conversation).join(name)
    }

    fn write(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)> {
        let (path, is_new) = self.put(conversation, name, text)?;
        if is_new {
            self.sync_files(&[(conversation.to_owned(), name.to_owned())]).inspect_err(|_| self.remove(&path))?;
        }
        Ok((path, is_new))
    }

    fn has(&self, file: &Path) -> bool {
        file.is_file()
    }

    fn remove(&self, file: &Path) {
        let _ = confined::remove(file);
    }

    fn forget(&self, conversation: &str) {
        let folder = self.root.join(conversation);
        let is_ours = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        if is_ours && let Err(error) = fs::remove_dir_all(&folder) {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove offloaded files");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_privately_and_never_over_something_else() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        let (path, is_new) = folder.write("c1", "a.md", "text").expect("written");
        assert!(is_new);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "text");
        assert_eq!(folder.write("c1", "a.md", "text").expect("the same again"), (path.clone(), false));
        assert!(folder.write("c1", "a.md", "other").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), home.path().join("offload/c2")).expect("a link");
            assert!(folder.write("c2", "a.md", "text").is_err());
            std::os::unix::fs::symlink(elsewhere.path().join("x"), home.path().join("offload/c1/b.md"))
                .expect("a link");
            assert!(folder.write("c1", "b.md", "text").is_err());
            assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
        }
    }

    #[test]
    fn what_is_written_soon_is_synced_once_and_what_is_gone_by_then_is_no_error() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        for (conversation, name) in [("c1", "a.md"), ("c1", "b.md"), ("c2", "a.md")] {
            folder.write_soon(conversation, name, "text").expect("written");
        }
        folder.write("c2", "now.md", "text").expect("written");
        assert_eq!(lock(&folder.unsynced).len(), 3, "what is written at once is synced at once");
        folder.remove(&folder.path("c1", "a.md"));
        let waiting = lock(&folder.unsynced).clone();
        for of_one in waiting.chunk_by(|(one, _), (next, _)| one == next) {
            folder.sync_files(of_one).expect("synced");
        }
        folder.clone().sync();
        assert!(lock(&folder.unsynced).is_empty(), "a copy of the folder waits for the same files");
        assert!(folder.sync_files(&[("../c1".to_owned(), "b.md".to_owned())]).is_err());
        folder.write_soon("purged", "a.md", "text").expect("written");
        folder.forget("purged");
        folder.sync();
        assert!(!folder.path("purged", "").exists(), "a purged folder does not come back");
    }

    #[test]
    fn in_a_project_version_control_does_not_see_it() {
        let project = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_project(project.path(), project.path().join(".ctx"));
        folder.write("c1", "a.md", "text").expect("written");
        #[cfg(unix)]
        {
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), project.path().join("out")).expect("a link");
            let folder = Folder::in_project(project.path(), project.path().join("out/offload"));
            assert!(folder.write("c1", "a.md", "text").is_err(), "a link leads out of the project");
        }
        assert_eq!(fs::read_to_string(project.path().join(".ctx/.gitignore")).expect("a file"), "*\n");
    }
}
