//! The daemon's token: given by CTX_TOKEN or a file that CTX_TOKEN_FILE names, as in a container, else kept in the home.

use std::path::Path;

use ctx_core::ErrorCode;
use ctx_server::Token;

use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::home::Home;

/// The token of a running daemon. `None`: there is none yet.
pub fn known(home: &Home, environment: &Environment) -> Result<Option<Token>, Failure> {
    match given(environment)? {
        Some(token) => Ok(Some(token)),
        None => Ok(Token::load(home.path())?),
    }
}

/// The token for a daemon that starts.
pub fn for_daemon(home: &Home, environment: &Environment) -> Result<Token, Failure> {
    match given(environment)? {
        Some(token) => Ok(token),
        None => Ok(Token::load_or_create(home.path())?),
    }
}

fn given(environment: &Environment) -> Result<Option<Token>, Failure> {
    let (text, source) = match (environment.text(env::TOKEN), environment.get(env::TOKEN_FILE)) {
        (Some(text), _) => (text, env::TOKEN.name()),
        (None, Some(file)) => {
            let path = Path::new(&file);
            let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
            (text, env::TOKEN_FILE.name())
        }
        (None, None) => return Ok(None),
    };
    Token::parse(&text).map(Some).ok_or_else(|| {
        Failure::new(ErrorCode::Token, format!("{source}: a token has at least 32 letters, digits, `-` or `_`"))
            .hint("make one with: openssl rand -hex 32")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "0123456789-abcdefghij_ABCDEFGHIJ";

    #[test]
    fn a_token_comes_from_the_environment_then_a_file_then_the_home() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        std::fs::write(&file, format!("{GIVEN}X\n")).expect("written");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        let file = file.display().to_string();
        let told = |values: &[(&str, &str)]| {
            known(&home, &Environment::of(values)).expect("read").map(|token| token.expose().to_owned())
        };
        assert_eq!(told(&[("CTX_TOKEN", GIVEN), ("CTX_TOKEN_FILE", &file)]).as_deref(), Some(GIVEN));
        assert_eq!(told(&[("CTX_TOKEN_FILE", &file)]), Some(format!("{GIVEN}X")));
        assert_eq!(told(&[]), None);
        let made = for_daemon(&home, &Environment::of(&[])).expect("made");
        assert_eq!(told(&[]).as_deref(), Some(made.expose()));
        for bad in ["short", "0123456789 0123456789 0123456789 0123456789"] {
            let failure = known(&home, &Environment::of(&[("CTX_TOKEN", bad)])).expect_err("refused");
            assert!(failure.message.starts_with("CTX_TOKEN: ") && !failure.message.contains(bad), "{failure:?}");
        }
        assert!(known(&home, &Environment::of(&[("CTX_TOKEN_FILE", "/no/such")])).is_err());
    }
}
