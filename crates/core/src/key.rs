//! Short hashes for recognition. They are compared, never emitted.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// 16 bytes of a blake3 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of `parts`; each is length-prefixed, so `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut builder = KeyBuilder::default();
        for part in parts {
            builder.feed(part);
        }
        builder.finish()
    }

    fn short(hash: &blake3::Hash) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&hash.as_bytes()[..16]);
        Key(key)
    }

    /// Combines this key with `next`: recognises a whole path.
    pub fn then(self, next: Key) -> Key {
        // Equal to `Key::of` of the two, in one step, because a long path has many.
        const LENGTH: [u8; 8] = 16_u64.to_le_bytes();
        let mut bytes = [0; 48];
        bytes[..8].copy_from_slice(&LENGTH);
        bytes[8..24].copy_from_slice(&self.0);
        bytes[24..32].copy_from_slice(&LENGTH);
        bytes[32..].copy_from_slice(&next.0);
        Key::short(&blake3::hash(&bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Key {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Key, NotAKey> {
        let mut key = [0; 16];
        for (at, byte) in key.iter_mut().enumerate() {
            let digits = text.get(at * 2..at * 2 + 2).ok_or(NotAKey)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NotAKey)?;
        }
        if text.len() == 32 { Ok(Key(key)) } else { Err(NotAKey) }
    }
}

/// A text that is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not 32 hexadecimal digits")
    }
}

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Builds a key part by part.
#[derive(Default)]
pub struct KeyBuilder {
    hasher: blake3::Hasher,
    parts: u32,
}

impl KeyBuilder {
    pub fn feed(&mut self, part: &[u8]) {
        self.hasher.update(&(part.len() as u64).to_le_bytes());
        self.hasher.update(part);
        self.parts += 1;
    }

    /// Whether no part was added yet.
    pub fn is_empty(&self) -> bool {
        self.parts == 0
    }

    pub fn finish(self) -> Key {
        Key::short(&self.hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_key_of_its_parts() {
        let (one, two) = (Key::of([b"one".as_slice()]), Key::of([b"two".as_slice()]));
        assert_eq!(one.then(two), Key::of([&one.0[..], &two.0[..]]));
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!("12".parse::<Key>(), Err(NotAKey));
    }
}
