//! Small makers of steps for the store's tests.

use ctx_store::{AppendOutcome, Expectation, Hash, NewRecord, Note, PostgresStore, Step, Store};
use testkit::PostgresServer;

/// Tests each promise on each store.
macro_rules! every_store {
    ($($promise:ident)*) => {
        mod memory {
            $(#[test] fn $promise() { super::$promise(&ctx_store::MemoryStore::new()); })*
        }
        mod sqlite {
            $(#[test] fn $promise() {
                let folder = tempfile::tempdir().unwrap();
                super::$promise(&ctx_store::SqliteStore::open(folder.path()).unwrap());
            })*
        }
        mod postgres {
            $(#[test] fn $promise() {
                if let Some(store) = crate::common::postgres() {
                    super::$promise(&store);
                }
            })*
        }
        mod pooler {
            $(#[test] fn $promise() {
                if let Some(store) = crate::common::pooled() {
                    super::$promise(&store);
                }
            })*
        }
    };
}

/// A store in a new database; `None` if there is no server.
pub fn postgres() -> Option<PostgresStore> {
    let server = PostgresServer::shared()?;
    let address = server.url(&server.new_database()).parse().unwrap();
    Some(PostgresStore::open(&address).unwrap())
}

/// A store in a new database, through a pooler that lends a connection for one transaction.
pub fn pooled() -> Option<PostgresStore> {
    let server = PostgresServer::shared()?;
    let port = server.pooler()?;
    let address = PostgresServer::url_at(port, &server.new_database()).parse().unwrap();
    Some(PostgresStore::open(&address).unwrap())
}

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

/// The step, stored only at this version of the conversation.
pub fn at(conversation: &str, version: u64, step: Step) -> Step {
    Step { expect: Some(Expectation { conversation: conversation.to_owned(), version }), ..step }
}

/// Appends steps without conflicts and returns all numbers that their records got.
pub fn append(store: &dyn Store, steps: Vec<Step>) -> Vec<u64> {
    let numbers = |outcome| match outcome {
        AppendOutcome::Stored { numbers } => numbers,
        AppendOutcome::Conflict { version } => panic!("a conflict with version {version}"),
    };
    store.append(steps).unwrap().into_iter().flat_map(numbers).collect()
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
