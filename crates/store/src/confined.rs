//! Opens files below a folder without following links, neither in the last component of a path nor on the way. Every
//! file whose location depends on a project or a request is opened here, so that a planted link cannot redirect it.
//!
//! A [`Folder`] is held open, and each name is resolved relative to it in one system call. Check and open are one step,
//! so no folder can be swapped for a link in between.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

#[cfg(not(unix))]
#[path = "confined/portable.rs"]
mod system;
#[cfg(unix)]
#[path = "confined/unix.rs"]
mod system;

pub use system::{Identity, is_own_and_private};

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    handle: system::Handle,
    path: PathBuf,
}

impl Folder {
    /// Opens an existing folder. Links on the way to it are resolved once, here; nothing below it may be a link.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Folder::exact(&std::fs::canonicalize(path)?)
    }

    /// The same, created with its parents if it is missing. The existing part may contain links, the created part
    /// cannot.
    pub fn create(path: &Path) -> io::Result<Folder> {
        let (folder, rest) = Folder::nearest(path)?;
        folder.make(&rest)
    }

    /// The deepest existing folder on the way to a path, and the rest of the path.
    pub fn nearest(path: &Path) -> io::Result<(Folder, PathBuf)> {
        let path = std::path::absolute(path)?;
        let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(&path);
        let rest = path.strip_prefix(existing).map_err(io::Error::other)?.to_owned();
        Ok((Folder::open(existing)?, rest))
    }

    /// Opens a folder by its absolute path, without any links.
    pub fn exact(path: &Path) -> io::Result<Folder> {
        let (root, rest) = Folder::root_of(path)?;
        root.below(&rest)
    }

    /// The root of an absolute path, and the rest of it.
    pub fn root_of(path: &Path) -> io::Result<(Folder, PathBuf)> {
        if !path.is_absolute() {
            return Err(io::Error::other(format!("{} is not an absolute path", path.display())));
        }
        let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
        let root: PathBuf = path.components().take_while(is_root).collect();
        Ok((Folder { handle: system::root(&root)?, path: root }, path.components().skip_while(is_root).collect()))
    }

    /// Opens an existing folder below this one.
    pub fn below(&self, relative: &Path) -> io::Result<Folder> {
        self.descend(relative, false)
    }

    /// Opens a folder below this one and creates it if it is missing: private, and on disk before this returns.
    pub fn make(&self, relative: &Path) -> io::Result<Folder> {
        self.descend(relative, true)
    }

    /// The deepest existing folder below this one on the way, and whether it is the whole way.
    pub fn reach(&self, relative: &Path) -> io::Result<(Folder, bool)> {
        let mut folder = self.below(Path::new(""))?;
        for part in relative.components() {
            match folder.below(Path::new(part.as_os_str())) {
                Ok(below) => folder = below,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((folder, false)),
                Err(error) => return Err(error),
            }
        }
        Ok((folder, true))
    }

    fn descend(&self, relative: &Path, make: bool) -> io::Result<Folder> {
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(not_below(relative));
        }
        let mut folder = Folder { handle: self.handle.again()?, path: self.path.clone() };
        for name in relative {
            let path = folder.path.join(name);
            let opened = match folder.handle.folder(name) {
                Err(error) if make && error.kind() == io::ErrorKind::NotFound => folder.handle.make_folder(name),
                opened => opened,
            };
            let handle = opened.map_err(|error| folder.handle.explain(name, &path, error))?;
            folder = Folder { handle, path };
        }
        Ok(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file that only its owner can read. Its name is on disk once [`Folder::sync`] returns.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        self.file(name, system::Opening::New)
    }

    /// Opens an existing file for reading.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.file(name, system::Opening::Read)
    }

    /// Opens a file for appending and creates it if it is missing. It must be a regular file of this process's user.
    pub fn append(&self, name: &str) -> io::Result<File> {
        match self.file(name, system::Opening::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match self.create_to_append(name) {
            // Another thread was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.file(name, system::Opening::Append),
            created => created,
        }
    }

    /// Opens an existing file for appending.
    pub fn append_existing(&self, name: &str) -> io::Result<File> {
        self.file(name, system::Opening::Append)
    }

    fn create_to_append(&self, name: &str) -> io::Result<File> {
        let file = self.file(name, system::Opening::NewToAppend)?;
        self.sync()?;
        Ok(file)
    }

    fn file(&self, name: &str, opening: system::Opening) -> io::Result<File> {
        let is_plain = matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
        if !is_plain || name.ends_with('/') {
            return Err(not_below(Path::new(name)));
        }
        let path = self.path.join(name);
        let file = self.handle.file(name.as_ref(), opening);
        file.map_err(|error| self.handle.explain(name.as_ref(), &path, error))
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.handle.remove(name.as_ref())
    }

    /// Whether files can be created in it, as far as the system reports without creating one.
    pub fn check_writable(&self) -> io::Result<()> {
        self.handle.check_writable()
    }

    /// Ensures that added names survive a power cut.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync()
    }

    /// Whether it belongs to this process's user and no one else can write to it.
    pub fn is_own_and_private(&self) -> io::Result<bool> {
        self.handle.identity().map(|identity| is_own_and_private(&identity))
    }

    /// Its owner and permissions.
    pub fn identity(&self) -> io::Result<Identity> {
        self.handle.identity()
    }
}

/// Removes one file without following a link on the way to it.
pub fn remove(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(not_below(path));
    };
    Folder::exact(folder)?.remove(name)
}

fn not_below(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not below its folder", path.display()))
}

fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(format!("{} is a link, and links are not followed here", path.display()))
}

fn not_plain(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not a plain file", path.display()))
}

#[cfg(test)]
mod tests;
