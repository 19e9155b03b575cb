//! Files opened below a folder without following links: not in the last place of a path and not on the way. Every file
//! whose place depends on a project or a request is opened through here, so that a planted link cannot redirect it.
//!
//! A [`Folder`] is held open, and each name is resolved relative to it in one system call. Nothing is checked first and
//! opened later, so there is no moment in which a folder can be swapped for a link.

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
    /// An existing folder. Links on the way to it are resolved once, here; nothing below it may be a link.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Folder::exact(&std::fs::canonicalize(path)?)
    }

    /// The same, made with its parents if it is missing. The part that exists may contain links, the part that is made
    /// cannot.
    pub fn create(path: &Path) -> io::Result<Folder> {
        let (folder, rest) = Folder::nearest(path)?;
        folder.make(&rest)
    }

    /// The deepest folder on the way to a path that exists, and the rest of the path.
    pub fn nearest(path: &Path) -> io::Result<(Folder, PathBuf)> {
        let path = std::path::absolute(path)?;
        let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(&path);
        let rest = path.strip_prefix(existing).map_err(io::Error::other)?.to_owned();
        Ok((Folder::open(existing)?, rest))
    }

    /// A folder by its whole path, in which nothing may be a link.
    pub fn exact(path: &Path) -> io::Result<Folder> {
        let (root, rest) = Folder::root_of(path)?;
        root.below(&rest)
    }

    /// Where a whole path begins, and the rest of it.
    pub fn root_of(path: &Path) -> io::Result<(Folder, PathBuf)> {
        if !path.is_absolute() {
            return Err(io::Error::other(format!("{} is not a whole path", path.display())));
        }
        let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
        let root: PathBuf = path.components().take_while(is_root).collect();
        Ok((Folder { handle: system::root(&root)?, path: root }, path.components().skip_while(is_root).collect()))
    }

    /// An existing folder below this one.
    pub fn below(&self, relative: &Path) -> io::Result<Folder> {
        self.descend(relative, false)
    }

    /// A folder below this one, made if it is missing: closed to others, and on disk before this returns.
    pub fn make(&self, relative: &Path) -> io::Result<Folder> {
        self.descend(relative, true)
    }

    /// The deepest folder below this one that exists on the way, and whether that is the whole way.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new file that only its owner can read. Its name is on disk once [`Folder::sync`] returns.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        self.file(name, system::Opening::New)
    }

    /// An existing file, to read.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.file(name, system::Opening::Read)
    }

    /// A file to add to, made if it is missing. It must be a plain file of this process's user.
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

    /// A file to add to that exists already.
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

    /// Whether files can be made in it, as far as the system tells without making one.
    pub fn check_writable(&self) -> io::Result<()> {
        self.handle.check_writable()
    }

    /// Makes sure that names that were added survive a power cut.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync()
    }

    /// Whether it belongs to this process's user and nobody else can write to it.
    pub fn is_own_and_private(&self) -> io::Result<bool> {
        self.handle.identity().map(|identity| is_own_and_private(&identity))
    }

    /// Who it belongs to.
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
    io::Error::other(format!("{} does not name something below its folder", path.display()))
}

fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(format!("{} is a link, and links are not followed here", path.display()))
}

fn not_plain(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not a plain file", path.display()))
}

#[cfg(test)]
mod tests;
