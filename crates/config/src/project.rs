//! The locations of a project's files. They may come with a stranger's repository, so they set nothing for the daemon,
//! and little for their own project until a person trusts them (`trust`).

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::home::Home;

/// The nearest `ctx.toml`, from the working directory up to the top of its repository.
pub fn config_file(folder: &Path, home: &Home) -> Option<PathBuf> {
    let own = home.config_file();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    find(folder, "ctx.toml").filter(|path| *path != own && real(path) != real(&own))
}

/// The nearest file of this name, likewise.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    folders(folder).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folder and its parents, up to the top of its repository.
pub fn folders(folder: &Path) -> impl Iterator<Item = &Path> {
    let top = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    folder.ancestors().take_while(move |folder| folder.starts_with(top))
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || number.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}
