//! The daemon's folder: its default location, and the small file in it with the daemon's address. The store and the
//! token have their own modules.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::env::{self, Environment};
use crate::error::ConfigError;

#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
    /// It is the platform's default folder, which contains nothing else.
    is_default: bool,
}

impl Home {
    /// Finds the home: `--home`, then CTX_HOME, then the platform's data folder. Absolute, because the daemon may
    /// change its working directory.
    pub fn find(flag: Option<&Path>, environment: &Environment) -> Result<Self, ConfigError> {
        let chosen = flag.map(Path::to_owned).or_else(|| environment.get(env::HOME).map(PathBuf::from));
        let is_default = chosen.is_none();
        let path = chosen.or_else(|| default_folder(environment)).ok_or_else(|| {
            ConfigError::new(ErrorCode::NoHome, "the home folder is unknown: neither HOME nor CTX_HOME is set")
                .hint("pass a folder with --home or CTX_HOME")
        })?;
        match std::path::absolute(&path) {
            Ok(path) => Ok(Self { path, is_default }),
            Err(error) => Err(ConfigError::file("find the folder", &path, &error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn config_file(&self) -> PathBuf {
        self.path.join("ctx.toml")
    }

    /// Creates the folder if necessary, and makes it private if it clearly belongs to `ctx`. A folder with other
    /// content is left to the store, which refuses it if others can read it.
    pub fn prepare(&self) -> Result<(), ConfigError> {
        let fail = |doing: &str, error: io::Error| ConfigError::file(doing, &self.path, &error);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.path).map_err(|error| self.unwritable(&error))?;
        self.check_writable()?;
        let mut entries = fs::read_dir(&self.path).map_err(|error| fail("look into", error))?;
        if self.is_default || entries.next().is_none() {
            #[cfg(unix)]
            fs::set_permissions(&self.path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                .map_err(|error| fail("make private", error))?;
        }
        Ok(())
    }

    /// Whether files can be created in it, as far as the system reports.
    pub fn check_writable(&self) -> Result<(), ConfigError> {
        let checked = ctx_store::confined::Folder::open(&self.path).and_then(|folder| folder.check_writable());
        checked.map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> ConfigError {
        let hint = match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => {
                "its disk is mounted read-only; choose another folder with --home or CTX_HOME"
            }
            io::ErrorKind::StorageFull => "free some space, or choose another folder with --home or CTX_HOME",
            _ => "you must own it; or choose another folder with --home or CTX_HOME",
        };
        ConfigError::new(
            ErrorCode::HomeNotWritable,
            format!("cannot write to the home {}: {error}", self.path.display()),
        )
        .hint(hint)
    }

    /// Whether it contains stored conversations.
    pub fn has_store(&self) -> bool {
        self.path.join("ctx.db").exists()
    }

    /// The log of a background daemon.
    pub fn log_file(&self) -> PathBuf {
        self.path.join("daemon.log")
    }

    pub fn notice_file(&self) -> PathBuf {
        self.path.join("daemon.json")
    }

    /// The notice of a running daemon. `None` if there is none, or if it is unreadable.
    pub fn notice(&self) -> Option<Notice> {
        serde_json::from_slice(&fs::read(self.notice_file()).ok()?).ok()
    }

    /// Writes the notice atomically: a concurrent reader sees the old one or the new one.
    pub fn put_up(&self, notice: &Notice) -> Result<(), ConfigError> {
        self.replace(&self.notice_file(), notice)
    }

    /// Writes a file of the home atomically.
    pub fn replace(&self, path: &Path, content: &impl Serialize) -> Result<(), ConfigError> {
        let draft = path.with_added_extension(std::process::id().to_string());
        let written = open_private(&draft, |options| options.truncate(true))
            .and_then(|mut file| file.write_all(&serde_json::to_vec(content)?))
            .and_then(|()| fs::rename(&draft, path));
        written.map_err(|error| ConfigError::file("write", path, &error))
    }

    /// Removes the notice, unless another daemon has replaced it.
    pub fn take_down(&self, notice: &Notice) {
        if self.notice().is_some_and(|current| current.pid == notice.pid) {
            let _ = fs::remove_file(self.notice_file());
        }
    }
}

/// The address and process of a running daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub pid: u32,
    pub listen: SocketAddr,
    /// Milliseconds since 1970.
    pub started_at: u64,
}

/// Opens a file for writing that only its owner can read.
pub fn open_private(path: &Path, choose: impl FnOnce(&mut OpenOptions) -> &mut OpenOptions) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    choose(&mut options).open(path)
}

/// Ensures that the name of a new file survives a power cut.
pub fn sync_name(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ctx_store::confined::Folder::open(folder)?.sync()
}

#[cfg(target_os = "macos")]
fn default_folder(environment: &Environment) -> Option<PathBuf> {
    Some(PathBuf::from(environment.get(env::USER_HOME)?).join("Library/Application Support/ctx"))
}

#[cfg(windows)]
fn default_folder(environment: &Environment) -> Option<PathBuf> {
    Some(PathBuf::from(environment.get(env::LOCAL_APP_DATA)?).join("ctx"))
}

#[cfg(not(any(target_os = "macos", windows)))]
fn default_folder(environment: &Environment) -> Option<PathBuf> {
    // The standard requires ignoring a relative path here.
    let data = environment.get(env::XDG_DATA_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(environment.get(env::USER_HOME)?).join(".local/share")))?;
    Some(data.join("ctx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_variable_and_the_variable_over_the_platform() {
        let everything = [("CTX_HOME", "/b"), ("XDG_DATA_HOME", "/c"), ("HOME", "/d")];
        let found = |flag: Option<&str>, values: &[(&str, &str)]| {
            Home::find(flag.map(Path::new), &Environment::of(values)).expect("a home").path().to_owned()
        };
        assert_eq!(found(Some("/a"), &everything), Path::new("/a"));
        assert_eq!(found(None, &everything), Path::new("/b"));
        let nothing = Home::find(None, &Environment::of(&[])).expect_err("refused");
        assert_eq!(nothing.code, ErrorCode::NoHome);
    }

    #[cfg(not(any(target_os = "macos", windows)))]
    #[test]
    fn the_platforms_folder_is_the_one_of_the_xdg_standard() {
        let found =
            |values: &[(&str, &str)]| Home::find(None, &Environment::of(values)).expect("a home").path().to_owned();
        assert_eq!(found(&[("XDG_DATA_HOME", "/c"), ("HOME", "/d")]), Path::new("/c/ctx"));
        assert_eq!(found(&[("XDG_DATA_HOME", "c"), ("HOME", "/d")]), Path::new("/d/.local/share/ctx"));
    }

    #[test]
    fn a_notice_is_private_read_back_and_taken_down_only_by_its_own_daemon() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        let notice = Notice { pid: 7, listen: "127.0.0.1:8788".parse().expect("an address"), started_at: 1 };
        home.put_up(&notice).expect("written");
        assert_eq!(home.notice().as_ref(), Some(&notice));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(home.notice_file()).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        home.take_down(&Notice { pid: 8, ..notice.clone() });
        assert!(home.notice().is_some());
        home.take_down(&notice);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_broken_notice_counts_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        fs::write(home.notice_file(), "{\"pid\":").expect("written");
        assert_eq!(home.notice(), None);
    }
}
