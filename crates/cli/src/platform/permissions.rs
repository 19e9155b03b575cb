//! Permissions of files. Windows keeps a user's folder private by itself.

use std::path::Path;

/// Whether other users can read, write or enter it.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub fn is_open_to_others(_path: &Path) -> bool {
    false
}

/// Lets only the owner read and write a file.
#[cfg(unix)]
pub fn make_private(path: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
pub fn make_private(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
