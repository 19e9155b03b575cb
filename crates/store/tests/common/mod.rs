//! Small makers of steps for the store's tests.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use ctx_store::{Hash, NewRecord, Note, Step};

pub fn blob(bytes: impl AsRef<[u8]>) -> (Hash, Vec<u8>) {
    let bytes = bytes.as_ref();
    (Hash::of(bytes), bytes.to_vec())
}

pub fn record(conversation: &str, body: impl AsRef<[u8]>) -> NewRecord {
    NewRecord {
        conversation: conversation.to_owned(),
        at: 1_700_000_000_000,
        kind: "request".to_owned(),
        version: 1,
        uses: Vec::new(),
        body: body.as_ref().to_vec(),
    }
}

pub fn note(conversation: &str, name: &str, body: &str) -> Note {
    Note { conversation: conversation.to_owned(), name: name.to_owned(), body: Some(body.as_bytes().to_vec()) }
}

/// One record that uses the given blobs, together with them.
pub fn step(conversation: &str, body: impl AsRef<[u8]>, blobs: &[&[u8]]) -> Step {
    let blobs: Vec<_> = blobs.iter().map(blob).collect();
    let mut record = record(conversation, body);
    record.uses = blobs.iter().map(|(hash, _)| *hash).collect();
    Step { blobs, records: vec![record], ..Step::default() }
}

/// Bytes that no compressor makes smaller, the same on every run.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.number().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}
