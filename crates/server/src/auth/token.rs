//! The daemon's token: created once, stored in a private file, compared in constant time. The parent module decides
//! where it is required.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

use crate::secret::Secret;

const TOKEN_BYTES: usize = 32;

#[derive(Clone)]
pub struct Token(Secret);

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read the token file {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the token file {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("the token file {path} contains no token")]
    Malformed { path: PathBuf },
    #[error("the system provides no random bytes for a token: {0}")]
    Random(String),
}

impl TokenError {
    /// Advice; empty if there is none.
    pub fn hint(&self) -> &'static str {
        match self {
            TokenError::Read { .. } => "check that you own the file",
            TokenError::Write { .. } => "check the folder's owner and the free space",
            TokenError::Malformed { .. } => "delete it and restart the daemon, which creates a new one",
            TokenError::Random(_) => "",
        }
    }
}

impl Token {
    pub fn generate() -> Result<Self, TokenError> {
        Ok(Self(Secret::new(hex(&random::<TOKEN_BYTES>()?))))
    }

    /// A token that a person has chosen: long enough, and fit for a header and an address.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (text.len() >= TOKEN_BYTES && text.bytes().all(is_fit)).then(|| Self(Secret::new(text)))
    }

    /// The token file in the daemon's home.
    pub fn path(home: &Path) -> PathBuf {
        home.join("token")
    }

    /// Reads the token of a home. `Ok(None)`: there is none yet.
    pub fn load(home: &Path) -> Result<Option<Self>, TokenError> {
        let path = Self::path(home);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(TokenError::Read { path, source }),
        };
        let text = text.trim();
        if text.len() != TOKEN_BYTES * 2 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(TokenError::Malformed { path });
        }
        keep_private(&path)?;
        Ok(Some(Self(Secret::new(text))))
    }

    /// Reads the token, or creates it. Two daemons that start at once get the same one: the file appears complete or
    /// not at all, and the first wins.
    pub fn load_or_create(home: &Path) -> Result<Self, TokenError> {
        if let Some(token) = Self::load(home)? {
            return Ok(token);
        }
        let path = Self::path(home);
        let fail = |source| TokenError::Write { path: path.clone(), source };
        create_private_folder(home).map_err(fail)?;
        let token = Self::generate()?;
        // The name of the draft is unguessable and contains nothing of the token.
        let draft = home.join(format!("token.{}.{}", std::process::id(), hex(&random::<8>()?)));
        let linked = write_private(&draft, token.expose())
            .and_then(|()| fs::hard_link(&draft, &path).or_else(|error| without_links(error, &draft, &path)));
        let _ = fs::remove_file(&draft);
        match linked {
            Ok(()) => Ok(token),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::load(home)?.ok_or_else(|| fail(error)),
            Err(error) => Err(fail(error)),
        }
    }

    /// The text of the token, for the link of the page and the header of the CLI.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        self.expose().as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Falls back to a rename on file systems without hard links.
fn without_links(error: io::Error, draft: &Path, path: &Path) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::rename(draft, path),
    }
}

pub(super) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], TokenError> {
    let mut bytes = [0u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(bytes)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

fn create_private_folder(home: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(home)
}

/// Closes a token file that others can read (copied, or restored from a backup).
#[cfg(unix)]
fn keep_private(path: &Path) -> Result<(), TokenError> {
    use std::os::unix::fs::PermissionsExt;
    let read = |source| TokenError::Read { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(read)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!("others could read the token file; fixed");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(read)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_private(_path: &Path) -> Result<(), TokenError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_made_once_and_found_again() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().join("deep/home");
        let first = Token::load_or_create(&home).expect("a token");
        let second = Token::load_or_create(&home).expect("the same token");
        assert_eq!(first.expose(), second.expose());
        assert_eq!(first.expose().len(), 64);
        assert_eq!(fs::read_dir(&home).expect("the home").count(), 1, "no draft is left behind");
    }

    #[test]
    fn daemons_that_start_at_once_agree_on_one_token() {
        let home = tempfile::tempdir().expect("a folder");
        let tokens: Vec<String> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| Token::load_or_create(home.path()).expect("a token").expose().to_owned()))
                .collect();
            makers.into_iter().map(|maker| maker.join().expect("a thread")).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file_and_the_folder() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().join("home");
        Token::load_or_create(&home).expect("a token");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&Token::path(&home)), 0o600);
        assert_eq!(mode(&home), 0o700);

        fs::set_permissions(Token::path(&home), fs::Permissions::from_mode(0o644)).expect("opened");
        Token::load_or_create(&home).expect("a token");
        assert_eq!(mode(&Token::path(&home)), 0o600, "an opened file is closed again");
    }

    #[test]
    fn a_file_that_holds_no_token_is_refused_with_advice() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(Token::path(home.path()), "short").expect("written");
        let error = Token::load_or_create(home.path()).expect_err("refused");
        assert!(error.hint().contains("delete it"), "{error}");
    }

    #[test]
    fn only_the_whole_token_matches_and_printing_it_shows_nothing() {
        let token = Token::generate().expect("a token");
        assert!(token.matches(token.expose().as_bytes()));
        assert!(!token.matches(b""));
        assert!(!token.matches(&token.expose().as_bytes()[1..]));
        assert!(!token.matches(&[b'0'; 64]));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
