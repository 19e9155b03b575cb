//! The system calls, on Unix.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Folders need not be readable to be passed through.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASS: OFlags = OFlags::RDONLY;

#[derive(Debug)]
pub struct Handle(OwnedFd);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    New,
    NewToAppend,
    Append,
    Read,
}

/// The owner of a file or folder, and its write permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub owner: u32,
    pub mode: u32,
}

impl Identity {
    pub fn of(file: &std::fs::Metadata) -> Identity {
        Identity { owner: file.uid(), mode: file.mode() & 0o7777 }
    }

    /// Whether it belongs to this process's user.
    pub fn is_own(&self) -> bool {
        self.owner == rustix::process::geteuid().as_raw()
    }

    /// Whether its group or others can write to it.
    pub fn is_shared(&self) -> bool {
        self.mode & 0o022 != 0
    }
}

pub fn is_own_and_private(identity: &Identity) -> bool {
    identity.is_own() && !identity.is_shared()
}

pub fn root(path: &Path) -> io::Result<Handle> {
    Ok(Handle(fs::openat(CWD, path, PASS | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
}

impl Handle {
    pub fn again(&self) -> io::Result<Handle> {
        Ok(Handle(self.0.try_clone()?))
    }

    pub fn folder(&self, name: &OsStr) -> io::Result<Handle> {
        let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Handle(fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<Handle> {
        match fs::mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) => self.sync()?,
            // Another thread was faster.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.folder(name)
    }

    pub fn file(&self, name: &OsStr, opening: Opening) -> io::Result<File> {
        let how = match opening {
            Opening::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            Opening::NewToAppend => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
            Opening::Append => OFlags::RDWR | OFlags::APPEND,
            Opening::Read => OFlags::RDONLY,
        };
        // A pipe in the file's place must not block.
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(Errno::ISDIR.into());
        }
        if opening == Opening::Append && !Identity::of(&found).is_own() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file belongs to another user"));
        }
        Ok(file)
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub fn check_writable(&self) -> io::Result<()> {
        Ok(fs::accessat(&self.0, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
    }

    pub fn sync(&self) -> io::Result<()> {
        let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match fs::openat(&self.0, ".", readable, Mode::empty()) {
            Ok(folder) => Ok(fs::fsync(folder)?),
            // A folder that is writable but not readable cannot be synced by name.
            Err(Errno::ACCESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub fn identity(&self) -> io::Result<Identity> {
        Ok(Identity::of(&File::from(self.0.try_clone()?).metadata()?))
    }

    /// Improves the message about a wrong type of file. It only chooses words: nothing is opened after it.
    pub fn explain(&self, name: &OsStr, path: &Path, error: io::Error) -> io::Error {
        let Ok(found) = fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else { return error };
        match (FileType::from_raw_mode(found.st_mode), error.kind()) {
            (_, io::ErrorKind::AlreadyExists) => error,
            (FileType::Symlink, _) => super::is_a_link(path),
            (_, io::ErrorKind::IsADirectory) => super::not_plain(path),
            _ if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => super::not_plain(path),
            _ => error,
        }
    }
}
