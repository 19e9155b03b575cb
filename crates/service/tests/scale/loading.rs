//! What a cold load reads.

use crate::support::growing::Growing;
use crate::support::{House, LONG};
use ctx_engine::Conversation;
use ctx_store::{
    Blob, ConversationRow, Cursor, Feed, Hash, Health, MemoryStore, PostgresStore, Progress, Reader, Records, Size,
    SqliteStore, Store, StoreError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::{PostgresServer, Session};

/// Counts the calls of a load, and the bytes that they return.
struct CountingReader<'a> {
    inner: &'a dyn Store,
    calls: AtomicU64,
    records: AtomicU64,
    blobs: AtomicU64,
    notes: AtomicU64,
    /// As a store packs them.
    packed: AtomicU64,
}

impl<'a> CountingReader<'a> {
    fn of(inner: &'a dyn Store) -> Self {
        let zero = || AtomicU64::new(0);
        CountingReader { inner, calls: zero(), records: zero(), blobs: zero(), notes: zero(), packed: zero() }
    }

    fn count(&self, kind: &AtomicU64, bytes: &[u8]) {
        kind.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let packed = zstd::bulk::compress(bytes, 1).expect("packed").len().min(bytes.len());
        self.packed.fetch_add(packed as u64, Ordering::Relaxed);
    }

    fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

impl Reader for CountingReader<'_> {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        self.call();
        let found = self.inner.records(conversation, after)?;
        found.records.iter().for_each(|record| {
            self.count(&self.records, &record.body);
            self.packed.fetch_add(32 * record.uses.len() as u64, Ordering::Relaxed);
        });
        Ok(found)
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        self.call();
        let found = self.inner.blobs(hashes)?;
        found.iter().for_each(|blob| {
            if let Blob::Present(bytes) = blob {
                self.count(&self.blobs, bytes);
            }
        });
        Ok(found)
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.call();
        let found = self.inner.note(conversation, name)?;
        found.iter().for_each(|body| self.count(&self.notes, body));
        Ok(found)
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        self.inner.log(after, limit)
    }

    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        self.inner.feed(after, limit)
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        self.inner.newest()
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.inner.notes(name)
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        self.inner.note_names()
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.inner.last_seq()
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        self.inner.conversations()
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        self.inner.conversations_with(kinds)
    }

    fn size(&self) -> Result<Size, StoreError> {
        self.inner.size()
    }

    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError> {
        self.inner.check_with(progress)
    }
}

/// Stores a conversation of so many turns of so many words, each answered. The client compacts it after every
/// `compacts` turns. Returns its id and the size of its newest request.
fn stored(store: Arc<dyn Store>, turns: usize, words: usize, compacts: usize) -> (String, usize) {
    let house = House::on(store);
    let headers = Session::new(11).headers();
    let mut growing = Growing::new(11);
    let mut conversation = String::new();
    for turn in 0..turns {
        growing.turn(words);
        if turn > 0 && turn % compacts == 0 {
            growing.compact();
        }
        let ticket = house.see(&headers, &growing.body());
        house.reply(&ticket, "I see.");
        conversation = ticket.conversation;
    }
    assert_eq!(house.ids().len(), 1);
    house.service.settle(LONG);
    (conversation, growing.body().len())
}

/// The best time of some loads.
fn best(store: &dyn Store, id: &str) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        Conversation::load(id, store).expect("read").expect("stored");
        begun.elapsed()
    };
    (0..7).map(time).min().unwrap_or_default()
}

/// The bytes that a load reads, packed.
fn measured(what: &str, store: &dyn Store, id: &str, size: usize) -> u64 {
    let counting = CountingReader::of(store);
    Conversation::load(id, &counting).expect("read").expect("stored");
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "{what}: {size} bytes; {} calls, records {}, blobs {}, notes {}; packed {}; {:?}",
        get(&counting.calls),
        get(&counting.records),
        get(&counting.blobs),
        get(&counting.notes),
        get(&counting.packed),
        best(store, id),
    );
    get(&counting.packed)
}

/// A store of each kind with this conversation.
fn on_every_store(from: Arc<MemoryStore>, mut test: impl FnMut(&str, Arc<dyn Store>)) {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = Arc::new(SqliteStore::open(folder.path()).expect("a store"));
    ctx_store::copy(&*from, &*sqlite, &Progress::default()).expect("copied");
    if let Some(server) = PostgresServer::shared() {
        let address = server.url(&server.new_database()).parse().expect("an address");
        let postgres = Arc::new(PostgresStore::open(&address).expect("a store"));
        ctx_store::copy(&*from, &*postgres, &Progress::default()).expect("copied");
        test("postgres", postgres);
    }
    test("sqlite", sqlite);
    test("memory", from);
}

/// Loads it into a service, as its next request would.
fn loaded(store: &Arc<dyn Store>, id: &str) -> House {
    let house = House::on(store.clone());
    house.service.frames(id, false, None).expect("frames");
    house.service.settle(LONG);
    house
}

#[test]
fn a_load_reads_each_message_once_and_with_a_snapshot_only_the_present_ones() {
    for (turns, compacts) in [(100, usize::MAX), (500, 50)] {
        let memory = Arc::new(MemoryStore::new());
        let (id, size) = stored(memory.clone(), turns, 390, compacts);
        on_every_store(memory, |name, store| {
            let first = measured(&format!("{name}, {turns} turns"), &*store, &id, size);
            drop(loaded(&store, &id));
            let has_snapshot = store.snapshot(&id).expect("read").is_some();
            assert_eq!(has_snapshot, compacts < turns, "{name}, {turns} turns: only what is no longer sent");
            let second = measured(&format!("{name}, {turns} turns, again"), &*store, &id, size);
            match turns {
                100 => assert!(first <= 300_000 && second == first, "{name}: {first}, then {second} bytes"),
                // The rest is records, which are always read.
                _ => assert!(second * 2 < first, "{name}: {first}, then {second} bytes"),
            }
        });
    }
}

#[test]
fn a_snapshot_is_renewed_when_it_lacks_much_and_goes_with_its_conversation() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let headers = Session::new(12).headers();
    let mut growing = Growing::new(12);
    let mut id = String::new();
    // Each time, the client compacts what was said before.
    let mut version = |turns: usize| {
        let house = House::on(store.clone());
        growing.compact();
        for _ in 0..turns {
            growing.turn(20);
            id = house.see(&headers, &growing.body()).conversation;
        }
        drop(house.close());
        drop(loaded(&store, &id));
        store.snapshot(&id).expect("read").map(|snapshot| snapshot.version)
    };
    assert_eq!(version(20), None, "nothing has left the path");
    let first = version(5);
    assert!(first.is_some());
    assert_eq!((version(5), version(20)), (first, first), "it lacks little");
    assert!(version(1) > first);

    let house = loaded(&store, &id);
    house.service.purge(std::slice::from_ref(&id)).expect("purged");
    assert_eq!((store.snapshot(&id).expect("read"), store.note_names().expect("read")), (None, Vec::new()));
}
