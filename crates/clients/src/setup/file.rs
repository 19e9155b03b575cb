//! Settings files on disk: read as text, written whole or not at all, links and modes kept.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;

use super::SetupError;

/// Reads a file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, SetupError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SetupError::new(
                ErrorCode::File,
                format!("{} is a link to a missing file", path.display()),
                "create the file or remove the link, and run this again",
            ));
        }
        Err(error) => return Err(SetupError::file("read", path, error)),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        SetupError::new(
            ErrorCode::SettingsBroken,
            format!("{} is not text in UTF-8 (byte {at}); nothing was changed", path.display()),
            "save it as UTF-8, or move it aside, and run this again",
        )
    })
}

/// The missing folders above a file, outermost first.
pub fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Reports beforehand what would fail. A read-only file is meant to stay, even where the system would allow replacing
/// it.
pub fn check_writable(path: &Path) -> Result<(), SetupError> {
    let read_only = |what: &Path| {
        SetupError::new(
            ErrorCode::ReadOnly,
            format!("{} is read-only; nothing was changed", what.display()),
            "make it writable (chmod u+w) and run this again",
        )
    };
    let target = target(path)?;
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(SetupError::new(
                ErrorCode::File,
                format!("{} is a folder; nothing was changed", path.display()),
                "move the folder aside and run this again",
            ));
        }
        Ok(metadata) if metadata.permissions().readonly() => return Err(read_only(&target)),
        _ => {}
    }
    match target.ancestors().skip(1).find(|folder| folder.exists()) {
        Some(folder) if folder.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) => {
            Err(read_only(folder))
        }
        _ => Ok(()),
    }
}

/// Writes a file atomically: a concurrent reader sees the old text or the new one. `None` removes it.
pub fn write(path: &Path, text: Option<&str>) -> Result<(), SetupError> {
    let Some(text) = text else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SetupError::file("remove", path, error)),
            _ => Ok(()),
        };
    };
    let target = target(path)?;
    let fail = |error: io::Error| SetupError::file("write", &target, error);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(|error| SetupError::file("make the folder", folder, error))?;
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".ctx-{}", std::process::id()));
    let draft = target.with_file_name(name);
    let written = write_draft(&draft, &target, text).and_then(|()| fs::rename(&draft, &target));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(fail)
}

fn write_draft(draft: &Path, target: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let old = fs::metadata(target).ok();
    #[cfg(unix)]
    if let Some(old) = &old {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        // Never wider than the old mode, not even briefly: the file may contain credentials.
        options.mode(old.mode() & 0o7777);
    }
    let mut file = options.open(draft)?;
    if let Some(old) = &old {
        file.set_permissions(old.permissions())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ours = file.metadata()?;
            if (ours.uid(), ours.gid()) != (old.uid(), old.gid()) {
                std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The target of the path, if it is a link.
fn target(path: &Path) -> Result<PathBuf, SetupError> {
    match path.is_symlink() {
        true => fs::canonicalize(path).map_err(|error| SetupError::file("follow", path, error)),
        false => Ok(path.to_owned()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn links_and_modes_are_kept_and_no_draft_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, real) = (folder.path().join("settings.json"), folder.path().join("dotfiles.json"));
        fs::write(&real, "old").expect("written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
        std::os::unix::fs::symlink("dotfiles.json", &link).expect("a link");
        write(&link, Some("new")).expect("written");
        assert_eq!(fs::read_to_string(&real).expect("text"), "new");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&real).expect("a file").permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
    }

    #[test]
    fn folders_are_made_and_known_beforehand() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/c.json");
        let missing = missing_folders(&path);
        assert_eq!(missing, [folder.path().join("a"), folder.path().join("a/b")]);
        assert_eq!(read(&path).expect("nothing"), None);
        write(&path, Some("x")).expect("written");
        assert_eq!(read(&path).expect("text").as_deref(), Some("x"));
        write(&path, None).expect("removed");
        write(&path, None).expect("removed already");
        assert_eq!(read(&path).expect("nothing"), None);
    }

    #[test]
    fn what_cannot_be_written_is_told_beforehand() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("settings.json");
        check_writable(&path).expect("it can be made");
        fs::write(&path, "{}").expect("written");
        check_writable(&path).expect("it can be changed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("a mode");
        assert_eq!(check_writable(&path).expect_err("read-only").code(), ErrorCode::ReadOnly);
        let below = folder.path().join("closed");
        fs::create_dir(&below).expect("a folder");
        assert!(check_writable(&below).expect_err("a folder").to_string().contains("is a folder"));
        fs::set_permissions(&below, fs::Permissions::from_mode(0o555)).expect("a mode");
        assert_eq!(check_writable(&below.join("a/b.json")).expect_err("read-only").code(), ErrorCode::ReadOnly);
        fs::set_permissions(&below, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    #[test]
    fn a_link_to_nothing_and_what_is_no_text_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("settings.json");
        std::os::unix::fs::symlink("nowhere.json", &link).expect("a link");
        assert!(read(&link).expect_err("refused").to_string().contains("a missing file"));
        let path = folder.path().join("latin.json");
        fs::write(&path, b"{\"a\": \"\xe9\"}").expect("written");
        assert!(read(&path).expect_err("refused").to_string().contains("byte 7"));
    }
}
