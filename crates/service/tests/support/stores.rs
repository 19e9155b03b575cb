//! A store that fails on command: it refuses, it is slow, it waits, it panics. It also counts and keeps what it was
//! handed.

use ctx_store::{
    AppendOutcome, Blob, ConversationRow, Cursor, Expectation, Feed, Hash, Health, MemoryStore, Progress, PurgeReport,
    Reader, Records, Size, Step, Store, StoreError,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock().expect("no panic") = closed;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let closed = self.closed.lock().expect("no panic");
        drop(self.opened.wait_while(closed, |closed| *closed).expect("no panic"));
    }
}

/// A wrapper around any store.
pub struct FailingStore {
    inner: Arc<dyn Store>,
    reads: Fault,
    writes: Fault,
    panic: AtomicBool,
    away: AtomicBool,
    reading: Gate,
    writing: Gate,
    pub appends: AtomicU64,
    pub steps: Mutex<Vec<Step>>,
}

/// What happens to calls of one sort.
#[derive(Default)]
struct Fault {
    /// Every n-th call fails: 0 none, 1 all.
    every: AtomicU64,
    calls: AtomicU64,
    delay_ms: AtomicU64,
}

impl Fault {
    fn fail_every(&self, n: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.every.store(n, Ordering::SeqCst);
    }

    fn meet(&self) -> Result<(), StoreError> {
        std::thread::sleep(Duration::from_millis(self.delay_ms.load(Ordering::SeqCst)));
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        match self.every.load(Ordering::SeqCst) {
            every if every > 0 && call.is_multiple_of(every) => {
                // Any error will do; this one can be made from outside.
                Err(StoreError::UnknownBlob(Hash::of(b"a failing store")))
            }
            _ => Ok(()),
        }
    }
}

impl FailingStore {
    pub fn new() -> FailingStore {
        FailingStore::around(Arc::new(MemoryStore::new()))
    }

    pub fn around(inner: Arc<dyn Store>) -> FailingStore {
        FailingStore {
            inner,
            reads: Fault::default(),
            writes: Fault::default(),
            panic: AtomicBool::default(),
            away: AtomicBool::default(),
            reading: Gate::default(),
            writing: Gate::default(),
            appends: AtomicU64::default(),
            steps: Mutex::default(),
        }
    }

    pub fn refuse_writes(&self, refuse: bool) {
        self.fail_every_write(u64::from(refuse));
    }

    pub fn refuse_reads(&self, refuse: bool) {
        self.fail_every_read(u64::from(refuse));
    }

    /// Every n-th write from now on fails; 0: none.
    pub fn fail_every_write(&self, n: u64) {
        self.writes.fail_every(n);
    }

    /// Every n-th read from now on fails; 0: none.
    pub fn fail_every_read(&self, n: u64) {
        self.reads.fail_every(n);
    }

    /// Every call takes this long.
    pub fn slow(&self, delay: Duration) {
        for fault in [&self.reads, &self.writes] {
            fault.delay_ms.store(delay.as_millis() as u64, Ordering::SeqCst);
        }
    }

    pub fn heal(&self) {
        self.refuse_reads(false);
        self.refuse_writes(false);
        self.slow(Duration::ZERO);
    }

    /// The next reading of a log panics.
    pub fn panic_once(&self) {
        self.panic.store(true, Ordering::SeqCst);
    }

    /// Every append fails as if the database were out of reach.
    pub fn go_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Readers of a log wait until it is opened again.
    pub fn close(&self) {
        self.reading.set(true);
    }

    /// Writers wait until it is opened again.
    pub fn close_writes(&self) {
        self.writing.set(true);
    }

    pub fn open(&self) {
        self.reading.set(false);
        self.writing.set(false);
    }

    fn readable(&self) -> Result<(), StoreError> {
        self.reads.meet()
    }
}

impl Reader for FailingStore {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        self.reading.wait();
        assert!(!self.panic.swap(false, Ordering::SeqCst), "told to panic");
        self.readable()?;
        self.inner.records(conversation, after)
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        self.readable()?;
        self.inner.log(after, limit)
    }

    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        self.readable()?;
        self.inner.feed(after, limit)
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        self.readable()?;
        self.inner.newest()
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        self.readable()?;
        self.inner.blobs(hashes)
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.readable()?;
        self.inner.notes(name)
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        self.readable()?;
        self.inner.note_names()
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.readable()?;
        self.inner.note(conversation, name)
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.inner.last_seq()
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        self.readable()?;
        self.inner.conversations()
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        self.readable()?;
        self.inner.conversations_with(kinds)
    }

    fn size(&self) -> Result<Size, StoreError> {
        self.inner.size()
    }

    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError> {
        self.inner.check_with(progress)
    }
}

impl Store for FailingStore {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError> {
        self.writing.wait();
        if self.away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable { why: "the test says so", source: None });
        }
        self.writes.meet()?;
        let copies = steps.clone();
        let outcomes = self.inner.append(steps)?;
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.steps.lock().expect("no panic").extend(copies);
        Ok(outcomes)
    }

    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        self.writes.meet()?;
        self.inner.remove(conversations)
    }

    fn remove_if(&self, expect: &Expectation) -> Result<Option<PurgeReport>, StoreError> {
        self.writes.meet()?;
        self.inner.remove_if(expect)
    }

    fn sweep(&self) -> Result<PurgeReport, StoreError> {
        self.writes.meet()?;
        self.inner.sweep()
    }
}
