//! The folder that offloaded content goes to.

use ctx_engine::ports::OffloadFolder;
use ctx_store::confined;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where offloaded content goes. Nothing is ever written outside of it, and nothing in it is overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
    /// The project it lies in, which it must not leave, and where version control should not see it.
    project: Option<PathBuf>,
}

impl Folder {
    pub fn in_home(home: &Path) -> Folder {
        Folder { root: home.join("offload"), project: None }
    }

    pub fn in_project(project: &Path, folder: PathBuf) -> Folder {
        Folder { root: folder, project: Some(project.to_owned()) }
    }

    /// The folder itself, made if it is missing. Below the project or the home no link is followed.
    fn open(&self) -> io::Result<confined::Folder> {
        let base = self.project.as_deref().or(self.root.parent()).unwrap_or(&self.root);
        let below = self.root.strip_prefix(base).map_err(io::Error::other)?;
        confined::Folder::create(base)?.make(below)
    }
}

impl OffloadFolder for Folder {
    fn path(&self, conversation: &str, name: &str) -> PathBuf {
        self.root.join(conversation).join(name)
    }

    fn write(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)> {
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
                let written =
                    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| folder.sync());
                if let Err(error) = written {
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
                    _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else stands in its place")),
                }
            }
            Err(error) => Err(error),
        }
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
            tracing::warn!(%error, folder = %folder.display(), "cannot remove what was offloaded");
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
