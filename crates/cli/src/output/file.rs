//! Writes files for the user.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ctx_core::ErrorCode;

use crate::failure::Failure;
use crate::home;

pub fn taken(file: &Path) -> Failure {
    Failure::new(ErrorCode::File, format!("{} already exists", file.display()))
        .hint("name another file, or use --force")
}

/// Writes the whole file or none: it is renamed once it is complete.
pub fn keep(file: &Path, content: &[u8], force: bool) -> Result<(), Failure> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let part = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = home::open_private(&part, |options| options.create_new(true))
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| if force { fs::rename(&part, file) } else { name_it(&part, file) })
        .and_then(|()| home::sync_name(file));
    let _ = fs::remove_file(&part);
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(file),
        _ => Failure::file("write", file, &error),
    })
}

/// Links the file into place, which fails if the name exists; renames it on a disk without links.
fn name_it(part: &Path, file: &Path) -> io::Result<()> {
    fs::hard_link(part, file).or_else(|error| match fs::symlink_metadata(file) {
        Err(none) if none.kind() == io::ErrorKind::NotFound => fs::rename(part, file),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_never_over_another_unless_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.ctx");
        keep(&file, b"one", false).expect("written");
        assert_eq!(keep(&file, b"two", false).expect_err("refused").code, ErrorCode::File);
        assert_eq!(fs::read(&file).expect("a file"), b"one");
        keep(&file, b"two", true).expect("written");
        assert_eq!(fs::read(&file).expect("a file"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left behind");
        assert!(keep(&folder.path().join("no/such.ctx"), b"x", false).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }
}
