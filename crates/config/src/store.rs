//! The place of the store: a flag, the environment or the home's settings name a database; otherwise it is a file in the
//! home. A project cannot choose it. The password may stand elsewhere, so that the address can be shown.

use std::fs;
use std::path::Path;

use ctx_core::ErrorCode;
use ctx_store::{PostgresAddress, StoreError};

use crate::env::{self, Environment};
use crate::{ConfigError, ConfigFile, Flags};

/// The database of the daemon; `None` for a file in the home.
pub(crate) fn address(
    flags: &Flags,
    environment: &Environment,
    file: &ConfigFile,
) -> Result<Option<PostgresAddress>, ConfigError> {
    let keys = &file.layer.config.store;
    let address = match (&flags.store, environment.text(env::STORE), &keys.url) {
        (Some(address), ..) => address.clone(),
        (None, Some(url), _) => parse(env::STORE.name(), &url)?,
        (None, None, Some(url)) => parse("store.url", url.expose_secret())?,
        (None, None, None) => return Ok(None),
    };
    let own = keys.password_file.as_ref().map(|path| file.resolve(path));
    Ok(Some(with_password(address, environment, own.as_deref())?))
}

/// Parses an address; the error names its source, never the address.
pub fn parse(source: &str, url: &str) -> Result<PostgresAddress, ConfigError> {
    url.parse()
        .map_err(|error: StoreError| ConfigError::new(error.code(), format!("{source}: {error}")).hint(error.hint()))
}

/// The address with the password of the environment, or of a file. One in the address itself counts first.
pub fn with_password(
    address: PostgresAddress,
    environment: &Environment,
    file: Option<&Path>,
) -> Result<PostgresAddress, ConfigError> {
    if let Some(password) = environment.text(env::STORE_PASSWORD) {
        return Ok(address.with_password(&password));
    }
    let named = environment.get(env::STORE_PASSWORD_FILE).map(std::path::PathBuf::from);
    let Some(path) = named.as_deref().or(file) else { return Ok(address) };
    let read = fs::read_to_string(path).map_err(|error| {
        ConfigError::new(ErrorCode::Config, format!("cannot read the database password in {}: {error}", path.display()))
            .hint("check the path; the file must be text, and yours")
    })?;
    Ok(address.with_password(read.trim_end_matches(['\r', '\n'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(flags: &Flags, values: &[(&str, &str)], text: &str) -> Result<Option<PostgresAddress>, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ctx.toml");
        fs::write(&path, text).expect("written");
        let file = ConfigFile::read(&path)?.expect("a file");
        address(flags, &Environment::of(values), &file)
    }

    #[test]
    fn the_flag_counts_before_the_variable_and_the_variable_before_the_file() {
        let file = "[store]\nurl = \"postgres://file@h/d\"\n";
        let flags = Flags { store: parse("--store", "postgres://flag@h/d").ok(), ..Flags::default() };
        let shown = |flags: &Flags, values: &[(&str, &str)], text: &str| {
            loaded(flags, values, text).expect("settings").map(|address| address.to_string())
        };
        let variable = [("CTX_STORE", "postgres://variable@h/d")];
        assert_eq!(shown(&flags, &variable, file).as_deref(), Some("postgres://flag@h/d"));
        assert_eq!(shown(&Flags::default(), &variable, file).as_deref(), Some("postgres://variable@h/d"));
        assert_eq!(shown(&Flags::default(), &[], file).as_deref(), Some("postgres://file@h/d"));
        assert_eq!(shown(&Flags::default(), &[], ""), None);
    }

    #[test]
    fn no_message_contains_the_password() {
        let error = loaded(&Flags::default(), &[("CTX_STORE", "postgres://u:s3cret@h:x/d")], "").expect_err("no port");
        assert!(!format!("{error:?}").contains("s3cret") && error.message.contains("CTX_STORE"), "{error:?}");
        let missing = [("CTX_STORE", "postgres://u@h/d"), ("CTX_STORE_PASSWORD_FILE", "/nowhere")];
        assert!(loaded(&Flags::default(), &missing, "").expect_err("no file").message.contains("/nowhere"));
    }
}
