//! The gateways that the user is signed in to, with the key for each: a private file in the home.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde::{Deserialize, Serialize};

use super::GatewayUrl;
use crate::failure::Failure;
use crate::home::Home;
use crate::platform::permissions::{is_open_to_others, make_private};

#[derive(Default, Serialize, Deserialize)]
pub struct Logins {
    /// The one that commands use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<GatewayUrl>,
    #[serde(default)]
    logins: BTreeMap<String, Login>,
}

/// The key for one gateway. It has no `Debug`, because it contains the key.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    pub key: String,
    /// The key's id, if `ctx login` had it made for this machine: `ctx logout` revokes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    pub person: String,
    /// In milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The authority of the gateway's certificate, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
}

impl Logins {
    pub fn file(home: &Home) -> PathBuf {
        home.path().join("logins.json")
    }

    pub fn load(home: &Home) -> Result<Logins, Failure> {
        let path = Self::file(home);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::file("read", &path, &error)),
        };
        close(&path)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::new(ErrorCode::File, format!("cannot parse {}: {error}", path.display()))
                .hint("delete it and sign in again with `ctx login`")
        })
    }

    fn save(&self, home: &Home) -> Result<(), Failure> {
        home.prepare()?;
        Ok(home.replace(&Self::file(home), self)?)
    }

    pub fn current(&self) -> Option<&GatewayUrl> {
        self.current.as_ref()
    }

    pub fn get(&self, url: &GatewayUrl) -> Option<&Login> {
        self.logins.get(&url.to_string())
    }

    /// Stores a login, which commands use from now on.
    pub fn add(mut self, url: &GatewayUrl, login: Login, home: &Home) -> Result<(), Failure> {
        self.logins.insert(url.to_string(), login);
        self.current = Some(url.clone());
        self.save(home)
    }

    /// Removes a login. Commands use the daemon on this machine again if it was the current one.
    pub fn remove(mut self, url: &GatewayUrl, home: &Home) -> Result<(), Failure> {
        self.logins.remove(&url.to_string());
        if self.current.as_ref() == Some(url) {
            self.current = None;
        }
        self.save(home)
    }
}

impl Serialize for GatewayUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GatewayUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Closes a file that others can read (copied, or restored from a backup).
fn close(path: &Path) -> Result<(), Failure> {
    match is_open_to_others(path) {
        true => make_private(path).map_err(|error| Failure::file("make private", path, &error)),
        false => Ok(()),
    }
}
