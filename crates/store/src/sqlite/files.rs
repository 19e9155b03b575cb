//! The files of a store: names, permissions, locks, and moving them aside. Other modules handle their content.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::StoreError;

const DATABASE: &str = "ctx.db";
const LOCK: &str = "ctx.lock";

/// SQLite keeps its write-ahead log and that log's index beside the database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

pub fn database_path(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// The paths of the database and the files beside it, existing or not.
pub fn all_paths(database: &Path) -> Vec<PathBuf> {
    let mut paths = vec![database.to_owned()];
    paths.extend(BESIDE.map(|suffix| with_suffix(database, suffix)));
    paths
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Creates the folder, or makes it private. Returns whether that changed something. Never changes a folder that does
/// not clearly belong to `ctx`: it may be `/tmp`.
pub fn prepare_folder(folder: &Path) -> Result<bool, StoreError> {
    if !folder.is_dir() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        private::for_folder(&mut builder);
        builder.create(folder).map_err(|error| StoreError::file("make the folder", folder, error))?;
        // The umask may have reduced the mode, and the folder may have been created concurrently.
        private::restrict_folder(folder).map_err(|error| StoreError::file("make private", folder, error))?;
        if let Some(parent) = folder.parent() {
            let _ = sync_folder(parent);
        }
        return Ok(false);
    }
    if !private::is_open_to_others(folder) {
        return Ok(false);
    }
    let ours = database_path(folder).is_file() || is_new(folder);
    if !ours || private::is_shared(folder) {
        return Err(StoreError::OpenToOthers { path: folder.to_owned() });
    }
    private::restrict_folder(folder).map_err(|error| StoreError::file("make private", folder, error))?;
    Ok(true)
}

/// Creates the database file with the right mode before SQLite opens it (files created beside it get the same mode),
/// and corrects existing modes. Returns the corrected paths.
pub fn prepare_database(database: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut fixed = Vec::new();
    for path in all_paths(database) {
        if private::is_open_to_others(&path) {
            private::restrict_file(&path).map_err(|error| StoreError::file("make private", &path, error))?;
            fixed.push(path);
        }
    }
    if !database.exists() {
        open_private(database).map_err(|error| StoreError::file("make the file", database, error))?;
        if let Some(folder) = database.parent() {
            // A durable step is worthless if the name of its file is lost.
            sync_folder(folder).map_err(|error| StoreError::file("write to disk", folder, error))?;
        }
    }
    Ok(fixed)
}

/// The store's paths that others can read.
pub fn open_to_others(folder: &Path, database: &Path) -> Vec<PathBuf> {
    let mut paths = all_paths(database);
    paths.insert(0, folder.to_owned());
    paths.retain(|path| private::is_open_to_others(path));
    paths
}

/// The locks of a store. Released when dropped, also by a crash.
pub struct Locks {
    _file: File,
    _folder: Option<File>,
}

/// Locks the folder for this process.
pub fn lock(folder: &Path) -> Result<Locks, StoreError> {
    let file = lock_file(folder)?;
    Ok(Locks { _file: file, _folder: lock_folder(folder)? })
}

/// Locks the folder itself, because the lock file may be removed while it is locked. Where a system cannot lock
/// folders, the file must suffice.
fn lock_folder(folder: &Path) -> Result<Option<File>, StoreError> {
    let Ok(opened) = File::open(folder) else { return Ok(None) };
    match opened.try_lock() {
        Ok(()) => Ok(Some(opened)),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { folder: folder.to_owned(), holder: None }),
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "cannot lock the folder of the store");
            Ok(None)
        }
    }
}

fn lock_file(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let mut file = open_private(&path).map_err(|error| StoreError::file("open the lock", &path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::InUse { folder: folder.to_owned(), holder: read_holder(&mut file) });
        }
        Err(TryLockError::Error(error)) => {
            return Err(StoreError::file("lock", &path, error));
        }
    }
    // Only for the message above: a failure is harmless.
    let _ = write_holder(&mut file);
    Ok(file)
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Renames the database and the files beside it, for later inspection as a whole.
pub fn move_aside(database: &Path) -> Result<PathBuf, StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut moment = now.map_or(0, |duration| duration.as_millis());
    let mut aside = with_suffix(database, &format!(".damaged-{moment}"));
    while aside.exists() {
        moment += 1;
        aside = with_suffix(database, &format!(".damaged-{moment}"));
    }
    for suffix in ["", BESIDE[0], BESIDE[1]] {
        let from = with_suffix(database, suffix);
        match fs::rename(&from, with_suffix(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file("move aside", &from, error));
            }
            _ => {}
        }
    }
    Ok(aside)
}

/// Files moved aside by earlier starts, with the files beside them.
pub fn moved_aside(database: &Path) -> Vec<PathBuf> {
    let Some(folder) = database.parent() else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let prefix = format!("{DATABASE}.damaged-");
    let named = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(&prefix)
    });
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Whether the folder is empty, or contains only settings.
fn is_new(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == "ctx.toml"))
}

pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private::for_file(&mut options);
    let file = options.open(path)?;
    if private::is_open_to_others(path) {
        private::restrict_file(path)?;
    }
    Ok(file)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Permissions.
#[cfg(unix)]
mod private {
    use std::fs::{self, DirBuilder, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    const STICKY: u32 = 0o1000;

    pub fn for_folder(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    pub fn for_file(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub fn restrict_folder(folder: &Path) -> io::Result<()> {
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    }

    pub fn restrict_file(file: &Path) -> io::Result<()> {
        fs::set_permissions(file, Permissions::from_mode(0o600))
    }

    pub fn is_open_to_others(path: &Path) -> bool {
        mode(path).is_some_and(|mode| mode & 0o077 != 0)
    }

    /// Whether the folder is shared by many users, like `/tmp`.
    pub fn is_shared(folder: &Path) -> bool {
        mode(folder).is_some_and(|mode| mode & STICKY != 0)
    }

    fn mode(path: &Path) -> Option<u32> {
        let metadata = fs::metadata(path).ok()?;
        Some(metadata.permissions().mode())
    }
}

/// On other systems the user's folders are private already.
#[cfg(not(unix))]
mod private {
    use std::fs::{DirBuilder, OpenOptions};
    use std::io;
    use std::path::Path;

    pub fn for_folder(_builder: &mut DirBuilder) {}

    pub fn for_file(_options: &mut OpenOptions) {}

    pub fn restrict_folder(_folder: &Path) -> io::Result<()> {
        Ok(())
    }

    pub fn restrict_file(_file: &Path) -> io::Result<()> {
        Ok(())
    }

    pub fn is_open_to_others(_path: &Path) -> bool {
        false
    }

    pub fn is_shared(_folder: &Path) -> bool {
        false
    }
}
