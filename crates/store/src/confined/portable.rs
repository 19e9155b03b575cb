//! The same on systems that cannot open a file relative to a folder: looks for links before opening.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Handle(PathBuf);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    New,
    NewToAppend,
    Append,
    Read,
}

/// Owners are not compared here: the system keeps a user's folders private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub owner: u32,
    pub mode: u32,
}

impl Identity {
    pub fn of(_file: &fs::Metadata) -> Identity {
        Identity { owner: 0, mode: 0 }
    }

    pub fn is_own(&self) -> bool {
        true
    }

    pub fn is_shared(&self) -> bool {
        false
    }
}

pub fn is_own_and_private(identity: &Identity) -> bool {
    identity.is_own() && !identity.is_shared()
}

pub fn root(path: &Path) -> io::Result<Handle> {
    Ok(Handle(path.to_owned()))
}

impl Handle {
    pub fn again(&self) -> io::Result<Handle> {
        Ok(Handle(self.0.clone()))
    }

    pub fn folder(&self, name: &OsStr) -> io::Result<Handle> {
        let path = self.0.join(name);
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() { Ok(Handle(path)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<Handle> {
        match fs::create_dir(self.0.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.folder(name),
        }
    }

    pub fn file(&self, name: &OsStr, opening: Opening) -> io::Result<File> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(super::not_plain(&path));
        }
        let mut options = OpenOptions::new();
        match opening {
            Opening::New => options.write(true).create_new(true),
            Opening::NewToAppend => options.read(true).append(true).create_new(true),
            Opening::Append => options.read(true).append(true),
            Opening::Read => options.read(true),
        };
        options.open(path)
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub fn check_writable(&self) -> io::Result<()> {
        match fs::metadata(&self.0)?.permissions().readonly() {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        }
    }

    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { owner: 0, mode: 0 })
    }

    pub fn explain(&self, _name: &OsStr, path: &Path, error: io::Error) -> io::Error {
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_symlink() => super::is_a_link(path),
            _ => error,
        }
    }
}
