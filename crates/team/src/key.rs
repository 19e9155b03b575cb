//! Keys of people. A key is 256 random bits, so a plain hash suffices: there is nothing to guess.

use std::fmt;

use ctx_store::Hash;

/// The beginning of every key, by which it is recognised among other credentials.
pub const KEY_PREFIX: &str = "ctxk_";

/// The header of a key, beside the client's own credential.
pub const KEY_HEADER: &str = "x-ctx-key";

const BYTES: usize = 32;
/// Characters after the prefix that are stored and shown.
const SHOWN: usize = 6;

/// The text of a key. It exists when the key is made and while a request is checked, and is never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl KeyText {
    /// A new key. `None`: the system provides no random bytes.
    pub fn generate() -> Option<Self> {
        Some(Self(format!("{KEY_PREFIX}{}", random_hex()?)))
    }

    /// The text itself. The long name makes a reader stop at every use.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> Hash {
        hash(self.0.as_bytes())
    }

    /// The id of the key: the beginning of its hash.
    pub fn id(&self) -> String {
        self.hash().to_string().chars().take(8).collect()
    }

    pub(crate) fn shown(&self) -> String {
        self.0.chars().take(KEY_PREFIX.len() + SHOWN).collect()
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyText(…)")
    }
}

/// 256 random bits in hexadecimal. `None`: the system provides no random bytes.
pub(crate) fn random_hex() -> Option<String> {
    let mut bytes = [0u8; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn hash(text: &[u8]) -> Hash {
    Hash::of(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_long_random_and_never_printed() {
        let (one, other) = (KeyText::generate().unwrap(), KeyText::generate().unwrap());
        assert!(one != other && one.expose_secret().len() == KEY_PREFIX.len() + 64);
        assert!(one.expose_secret().starts_with("ctxk_") && one.shown().len() == 11);
        assert!(!format!("{one:?}").contains(&one.expose_secret()[5..]));
        assert_eq!(one.hash(), hash(one.expose_secret().as_bytes()));
    }
}
