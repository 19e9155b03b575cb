//! The project files that a person trusts, as recorded by `ctx trust`: `trust.json` in the home. A file is trusted by
//! its path, its owner and the hash of its content, so a changed file waits again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::home::{Home, open_private, sync_name};

const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    version: u32,
    pub files: Vec<TrustedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// Absolute, without links.
    pub path: PathBuf,
    /// Its user id.
    pub owner: u32,
    /// The hash of its content.
    pub hash: String,
    /// Milliseconds since 1970.
    pub trusted_at: u64,
}

/// The fingerprint of a project's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    pub owner: u32,
    pub hash: String,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust { version: VERSION, files: Vec::new() }
    }
}

impl Trust {
    pub fn path(home: &Home) -> PathBuf {
        home.path().join("trust.json")
    }

    /// Loads the trusted files; none if `trust.json` does not exist.
    pub fn load(home: &Home) -> Result<Trust, ConfigError> {
        let path = Trust::path(home);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Trust::default()),
            Err(error) => return Err(ConfigError::file("read", &path, &error)),
        };
        let read = serde_json::from_slice::<Trust>(&text).ok().filter(|trust| trust.version == VERSION);
        read.ok_or_else(|| {
            ConfigError::new(ErrorCode::TrustUnreadable, format!("{} cannot be parsed", path.display()))
                .hint("delete it, then run `ctx trust` again in each project")
        })
    }

    pub fn save(&self, home: &Home) -> Result<(), ConfigError> {
        home.prepare()?;
        let path = Trust::path(home);
        let draft = home.path().join(format!("trust.json.{}", std::process::id()));
        let written = open_private(&draft, |options| options.truncate(true))
            .and_then(|mut file| file.write_all(&serde_json::to_vec_pretty(self)?).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path))
            .and_then(|()| sync_name(&path));
        written.map_err(|error| ConfigError::file("write", &path, &error))
    }

    pub fn holds(&self, path: &Path, print: &Fingerprint) -> bool {
        self.files.iter().any(|file| file.path == path && file.owner == print.owner && file.hash == print.hash)
    }

    /// Trusts a file in its current state, replacing the previous one.
    pub fn add(&mut self, path: &Path, print: &Fingerprint, now: u64) {
        self.files.retain(|file| file.path != path);
        let Fingerprint { owner, hash } = print.clone();
        self.files.push(TrustedFile { path: path.to_owned(), owner, hash, trusted_at: now });
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Revokes trust in the matching files, and returns them.
    pub fn revoke(&mut self, is_meant: impl Fn(&Path) -> bool) -> Vec<TrustedFile> {
        let (gone, kept) = self.files.drain(..).partition(|file| is_meant(&file.path));
        self.files = kept;
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;

    #[test]
    fn a_file_is_trusted_by_its_path_owner_and_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        let print = Fingerprint { owner: 7, hash: "abc".into() };
        let path = Path::new("/p/ctx.toml");
        let mut trust = Trust::load(&home).expect("none yet");
        assert!(!trust.holds(path, &print));
        trust.add(path, &print, 1);
        trust.save(&home).expect("saved");
        let mut trust = Trust::load(&home).expect("read");
        assert!(trust.holds(path, &print));
        assert!(!trust.holds(path, &Fingerprint { owner: 8, ..print.clone() }));
        assert!(!trust.holds(path, &Fingerprint { hash: "abd".into(), ..print.clone() }));
        assert!(!trust.holds(Path::new("/q/ctx.toml"), &print));
        trust.add(path, &Fingerprint { hash: "new".into(), ..print.clone() }, 2);
        assert!(!trust.holds(path, &print) && trust.files.len() == 1, "the newest content alone");
        assert_eq!(trust.revoke(|path| path.starts_with("/p")).len(), 1);
        assert!(trust.files.is_empty());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(Trust::path(&home)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_file_trusts_nothing_and_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        for text in ["{", "{\"version\":2,\"files\":[]}"] {
            fs::write(Trust::path(&home), text).expect("written");
            let refused = Trust::load(&home).expect_err(text);
            assert_eq!(refused.code, ErrorCode::TrustUnreadable);
        }
    }
}
