//! Maps with quick hashes.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Keyed by internal numbers or hashes. No outsider chooses the keys, so a multiplication is a sufficient hash.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Quick>>;

/// Keyed by names that outsiders choose, such as the ids of calls: the hash begins at random.
pub type NameMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
pub type NameSet<K> = HashSet<K, foldhash::fast::RandomState>;

#[derive(Debug, Default, Clone, Copy)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, number: u64) {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(SPREAD);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotId;
    use std::hash::BuildHasher;

    #[test]
    fn neighbours_are_spread() {
        let build = BuildHasherDefault::<Quick>::default();
        let low: HashSet<u64> = (0..1000u64).map(|n| build.hash_one(SlotId(7 << 24 | n)) & 0xFFFF).collect();
        assert!(low.len() > 980, "{} of 1000", low.len());
    }
}
