//! The address of a blob: the blake3 hash of its exact bytes, and its text form.

use std::fmt;
use std::str::FromStr;

/// The blake3 hash of a blob's exact bytes, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Hash({self})")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a hash: a hash is 64 hexadecimal digits")]
pub struct ParseHashError;

impl FromStr for Hash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| ParseHashError)?;
        Ok(Self(*hash.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_being_written_and_read() {
        let hash = Hash::of(b"hello");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string(), "ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f");
    }

    #[test]
    fn what_is_not_64_hexadecimal_digits_is_not_a_hash() {
        for text in ["", "ea8f", &"g".repeat(64), &"a".repeat(65), "é"] {
            assert_eq!(text.parse::<Hash>(), Err(ParseHashError), "{text}");
        }
    }
}
