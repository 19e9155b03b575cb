//! The project's `ctx.toml`: where it is, and how far it is believed. It may have come with somebody else's
//! repository, so on its own it cannot decide where credentials go: a file that tries is refused until the
//! user names it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::ConfigFile;
use crate::failure::Failure;
use crate::home::Home;

/// The nearest `ctx.toml`, from the working folder up to the top of its repository.
pub fn config_file(folder: &Path, home: &Home) -> Option<PathBuf> {
    find(folder, "ctx.toml").filter(|path| *path != home.config_file())
}

/// The nearest file of this name, likewise.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    folders(folder).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folder and those above it, up to the top of its repository.
pub fn folders(folder: &Path) -> impl Iterator<Item = &Path> {
    let top = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    folder.ancestors().take_while(move |folder| folder.starts_with(top))
}

pub fn check(file: &ConfigFile) -> Result<(), Failure> {
    let elsewhere = file.upstream.as_ref().filter(|url| !is_this_machine(url.host()));
    let wants = match elsewhere {
        Some(url) => format!("send requests, with their credentials, to {url}"),
        None if file.proxy.is_some() => "send requests through a proxy of its choice".to_owned(),
        None if file.ca_files.is_some() => "trust certificates of its choice".to_owned(),
        None if file.allow_remote == Some(true) => "let other machines in".to_owned(),
        None if file.offload.as_ref().is_some_and(|folder| !is_beside(folder, &file.path)) => {
            "have files written outside of the project".to_owned()
        }
        None => match file.helper.wants_more() {
            Some(wants) => wants.to_owned(),
            None => return Ok(()),
        },
    };
    let path = file.path.display();
    Err(Failure::new("config-untrusted", format!("{path} is part of a project and wants to {wants}"))
        .hint(format!("if you mean it, name the file: --config {path} (or CTX_CONFIG); otherwise remove it")))
}

fn is_beside(folder: &Path, file: &Path) -> bool {
    file.parent().is_some_and(|project| folder.starts_with(project))
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || number.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}
