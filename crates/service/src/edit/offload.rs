//! The folder for offloaded content.

use crate::lookup::Lookup;
use crate::threads::lock;
use ctx_core::ErrorCode;
use ctx_engine::Refusal;
use ctx_engine::edit::NewFile;
use ctx_engine::ports::OffloadFolder;
use ctx_store::confined;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The folder for offloaded content. Nothing is ever written outside it, and nothing in it is overwritten.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
    /// The project that contains it, which it must not leave, and where version control should ignore it.
    project: Option<PathBuf>,
    queue: Arc<Mutex<Vec<QueuedFile>>>,
    /// Why files of a conversation cannot be written.
    unwritable: Arc<Lookup<String, Option<String>>>,
    /// Which files exist.
    there: Arc<Lookup<PathBuf, bool>>,
}

/// A file that is still to be written.
#[derive(Debug)]
struct QueuedFile {
    conversation: String,
    name: String,
    text: String,
}

impl Folder {
    pub fn in_home(home: &Path) -> Folder {
        Self::new(home.join("offload"), None)
    }

    pub fn in_project(project: &Path, folder: PathBuf) -> Folder {
        Self::new(folder, Some(project.to_owned()))
    }

    fn new(root: PathBuf, project: Option<PathBuf>) -> Folder {
        Folder { root, project, queue: Arc::default(), unwritable: Arc::default(), there: Arc::default() }
    }

    /// Opens the folder of a conversation, and creates it if missing. Below the project or the home no link is
    /// followed.
    fn open(&self, conversation: &str) -> io::Result<confined::Folder> {
        let base = self.project.as_deref().or(self.root.parent()).unwrap_or(&self.root);
        let below = self.root.strip_prefix(base).map_err(io::Error::other)?;
        let root = confined::Folder::create(base)?.make(below)?;
        if self.project.is_some() {
            match root.create_new(".gitignore") {
                Ok(mut file) => file.write_all(b"*\n")?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        root.make(Path::new(conversation))
    }

    /// The path of a conversation's folder, after checking that files can be created in it.
    pub fn checked(&self, conversation: &str) -> io::Result<PathBuf> {
        let folder = self.open(conversation)?;
        folder.check_writable()?;
        Ok(folder.path().to_owned())
    }

    /// Queues a file for [`Folder::write_queued`]; waits for no disk.
    pub fn queue(&self, conversation: &str, name: &str, text: &str) {
        let (conversation, name, text) = (conversation.to_owned(), name.to_owned(), text.to_owned());
        lock(&self.queue).push(QueuedFile { conversation, name, text });
    }

    /// Writes the queued files so that they survive a power cut. Those that cannot be written stay queued; returns
    /// their conversations, each with the reason.
    pub fn write_queued(&self) -> Vec<(String, io::Error)> {
        let files = std::mem::take(&mut *lock(&self.queue));
        let mut failures = Vec::new();
        for of_one in files.chunk_by(|one, next| one.conversation == next.conversation) {
            if let Err(error) = self.write_all(of_one) {
                failures.push((of_one[0].conversation.clone(), error));
            }
        }
        if !failures.is_empty() {
            let failed =
                |file: &QueuedFile| failures.iter().any(|(conversation, _)| *conversation == file.conversation);
            lock(&self.queue).splice(0..0, files.into_iter().filter(failed));
        }
        failures
    }

    /// Writes files and syncs them; those that are new are removed again unless the result is kept.
    pub fn write(&self, conversation: &str, files: &[NewFile]) -> Result<WrittenFiles, Refusal> {
        let mut written = WrittenFiles::default();
        for NewFile { name, text } in files {
            let put = || -> io::Result<Option<PathBuf>> {
                let folder = self.open(conversation)?;
                let Some(file) = put(&folder, name, text)? else { return Ok(None) };
                file.sync_all().and_then(|()| folder.sync()).inspect_err(|_| drop(folder.remove(name)))?;
                Ok(Some(folder.path().join(name)))
            };
            let new = put().map_err(|error| self.not_written(conversation, name, &error.to_string()))?;
            written.new.extend(new);
        }
        Ok(written)
    }

    fn not_written(&self, conversation: &str, name: &str, why: &str) -> Refusal {
        Refusal::new(
            ErrorCode::NotWritten,
            format!("`{}` could not be written: {why}.", self.path(conversation, name).display()),
            "Nothing was changed. Free some space, or set another folder under [offload] in ctx.toml.",
        )
    }

    /// Writes and syncs files of one conversation.
    fn write_all(&self, files: &[QueuedFile]) -> io::Result<()> {
        let Some(QueuedFile { conversation, .. }) = files.first() else { return Ok(()) };
        let folder = self.open(conversation)?;
        for QueuedFile { name, text, .. } in files {
            if let Some(file) = put(&folder, name, text)? {
                file.sync_all()?;
            }
        }
        folder.sync()
    }
}

/// The new files of a commit that is not stored yet. Removed when dropped.
#[derive(Debug, Default)]
#[must_use]
pub struct WrittenFiles {
    new: Vec<PathBuf>,
}

impl WrittenFiles {
    /// The commit is stored.
    pub fn keep(mut self) {
        self.new.clear();
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        for file in &self.new {
            let _ = confined::remove(file);
        }
    }
}

/// Writes a text to a new file; `None` if there is one with this text already.
fn put(folder: &confined::Folder, name: &str, text: &str) -> io::Result<Option<fs::File>> {
    match folder.create_new(name) {
        Ok(mut file) => match file.write_all(text.as_bytes()) {
            Ok(()) => Ok(Some(file)),
            Err(error) => {
                let _ = folder.remove(name);
                Err(error)
            }
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut found = Vec::new();
            let read = folder.read(name).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut found));
            match read {
                Ok(_) if found == text.as_bytes() => Ok(None),
                _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "another file is in its place")),
            }
        }
        Err(error) => Err(error),
    }
}

impl OffloadFolder for Folder {
    fn path(&self, conversation: &str, name: &str) -> PathBuf {
        self.root.join(conversation).join(name)
    }

    fn write_soon(&self, conversation: &str, name: &str, text: &str) -> Result<(), Refusal> {
        let check = {
            let (folder, conversation) = (self.clone(), conversation.to_owned());
            move || folder.checked(&conversation).err().map(|error| error.to_string())
        };
        match self.unwritable.get(&conversation.to_owned(), Duration::ZERO, check) {
            Some(None) => self.queue(conversation, name, text),
            Some(Some(why)) => return Err(self.not_written(conversation, name, &why)),
            None => {
                let message = "The disk with the folder for offloaded content does not answer.";
                return Err(Refusal::new(ErrorCode::Busy, message, "Nothing was changed. Try again in a moment."));
            }
        }
        Ok(())
    }

    /// A disk that does not answer is no reason to call a file lost.
    fn has(&self, file: &Path) -> bool {
        let path = file.to_owned();
        self.there.get(&file.to_owned(), Duration::ZERO, move || path.is_file()).unwrap_or(true)
    }

    fn forget(&self, conversation: &str) {
        lock(&self.queue).retain(|file| file.conversation != conversation);
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

    fn file(name: &str, text: &str) -> NewFile {
        NewFile { name: name.into(), text: text.into() }
    }

    #[test]
    fn a_text_is_written_once_privately_and_never_over_something_else() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        let write = |conversation: &str, name: &str, text: &str| folder.write(conversation, &[file(name, text)]);
        let path = folder.path("c1", "a.md");
        drop(write("c1", "a.md", "text").expect("written"));
        assert!(!path.exists(), "its commit was not stored");
        write("c1", "a.md", "text").expect("written").keep();
        assert_eq!(fs::read_to_string(&path).expect("a file"), "text");
        drop(write("c1", "a.md", "text").expect("the same again"));
        assert!(path.exists(), "it was there before");
        assert_eq!(write("c1", "a.md", "other").expect_err("another text").code, ErrorCode::NotWritten);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), home.path().join("offload/c2")).expect("a link");
            assert!(write("c2", "a.md", "text").is_err());
            std::os::unix::fs::symlink(elsewhere.path().join("x"), home.path().join("offload/c1/b.md"))
                .expect("a link");
            assert!(write("c1", "b.md", "text").is_err());
            assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
        }
    }

    #[test]
    fn queued_files_are_written_together_and_a_purged_folder_does_not_come_back() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        for (conversation, name) in [("c1", "a.md"), ("c1", "b.md"), ("purged", "a.md"), ("c2", "a.md")] {
            folder.queue(conversation, name, "text");
        }
        assert!(!home.path().join("offload").exists(), "nothing is written yet");
        folder.forget("purged");
        assert!(folder.clone().write_queued().is_empty(), "a copy of the folder has the same queue");
        assert!(lock(&folder.queue).is_empty());
        for path in ["c1/a.md", "c1/b.md", "c2/a.md"] {
            assert_eq!(fs::read_to_string(home.path().join("offload").join(path)).expect(path), "text");
        }
        assert!(!folder.path("purged", "").exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_stays_queued_and_stops_no_other() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        folder.write("c1", &[file("a.md", "something else")]).expect("written").keep();
        for (conversation, name) in [("c1", "a.md"), ("c1", "b.md"), ("c2", "a.md"), ("../c1", "c.md")] {
            folder.queue(conversation, name, "text");
        }
        let failed: Vec<String> = folder.write_queued().into_iter().map(|(conversation, _)| conversation).collect();
        assert_eq!(failed, ["c1", "../c1"]);
        assert!(folder.path("c2", "a.md").exists());
        fs::remove_file(folder.path("c1", "a.md")).expect("removed");
        folder.forget("../c1");
        assert!(folder.write_queued().is_empty(), "the way is free now");
        assert_eq!(fs::read_to_string(folder.path("c1", "a.md")).expect("a file"), "text");
        assert!(folder.path("c1", "b.md").exists() && lock(&folder.queue).is_empty());
    }

    #[test]
    fn in_a_project_version_control_does_not_see_it() {
        let project = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_project(project.path(), project.path().join(".ctx"));
        folder.write("c1", &[file("a.md", "text")]).expect("written").keep();
        #[cfg(unix)]
        {
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), project.path().join("out")).expect("a link");
            let folder = Folder::in_project(project.path(), project.path().join("out/offload"));
            assert!(folder.write("c1", &[file("a.md", "text")]).is_err(), "a link leads out of the project");
        }
        assert_eq!(fs::read_to_string(project.path().join(".ctx/.gitignore")).expect("a file"), "*\n");
    }

    #[test]
    fn a_file_for_a_waiting_request_is_refused_if_the_folder_is_not_writable() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        folder.write_soon("c1", "a.md", "text").expect("queued");
        assert!(!folder.path("c1", "a.md").exists() && !folder.has(&folder.path("c1", "a.md")), "nothing is written");
        assert!(folder.write_queued().is_empty() && folder.has(&folder.path("c1", "a.md")));
        fs::write(home.path().join("offload/c2"), "").expect("a file stands where the folder should be");
        assert_eq!(folder.write_soon("c2", "a.md", "text").expect_err("no folder").code, ErrorCode::NotWritten);
        assert!(lock(&folder.queue).is_empty());
    }
}
