//! Short hashes that recognise. They are compared, never emitted.

use std::fmt;

/// 16 bytes of a blake3 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

    /// The key of this one followed by `next`: recognises a whole path.
    pub fn then(self, next: Key) -> Key {
        Key::of([&self.0[..], &next.0[..]])
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

    /// Whether nothing was fed yet.
    pub fn is_empty(&self) -> bool {
        self.parts == 0
    }

    pub fn finish(self) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&self.hasher.finalize().as_bytes()[..16]);
        Key(key)
    }
}
