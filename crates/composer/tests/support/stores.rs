//! Stores that misbehave: they refuse, they count, they wait.

use ctx_store::{
    Blob, ConversationRow, Hash, Health, MemoryStore, Purged, Reader, Records, Size, Step, Store, StoreError,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

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

/// A store in memory that does what it is told to.
#[derive(Default)]
pub struct Moody {
    inner: MemoryStore,
    refuse_writes: AtomicBool,
    refuse_reads: AtomicBool,
    panic: AtomicBool,
    reading: Gate,
    writing: Gate,
    pub appends: AtomicU64,
    pub steps: Mutex<Vec<Step>>,
}

impl Moody {
    pub fn new() -> Moody {
        Moody::default()
    }

    pub fn refuse_writes(&self, refuse: bool) {
        self.refuse_writes.store(refuse, Ordering::SeqCst);
    }

    pub fn refuse_reads(&self, refuse: bool) {
        self.refuse_reads.store(refuse, Ordering::SeqCst);
    }

    /// The next reading of a log panics.
    pub fn panic_once(&self) {
        self.panic.store(true, Ordering::SeqCst);
    }

    /// Whoever reads a log waits until it is opened again.
    pub fn close(&self) {
        self.reading.set(true);
    }

    /// Whoever writes waits until it is opened again.
    pub fn close_writes(&self) {
        self.writing.set(true);
    }

    pub fn open(&self) {
        self.reading.set(false);
        self.writing.set(false);
    }

    fn readable(&self) -> Result<(), StoreError> {
        refused(&self.refuse_reads)
    }
}

fn refused(switch: &AtomicBool) -> Result<(), StoreError> {
    // Any error will do; this one can be made from outside.
    if switch.load(Ordering::SeqCst) { Err(StoreError::UnknownBlob(Hash::of(b"moody"))) } else { Ok(()) }
}

impl Reader for Moody {
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

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        self.readable()?;
        self.inner.blobs(hashes)
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.readable()?;
        self.inner.notes(name)
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

    fn check(&self) -> Result<Health, StoreError> {
        self.inner.check()
    }
}

impl Store for Moody {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<u64>, StoreError> {
        self.writing.wait();
        refused(&self.refuse_writes)?;
        let copies = steps.clone();
        let numbers = self.inner.append(steps)?;
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.steps.lock().expect("no panic").extend(copies);
        Ok(numbers)
    }

    fn purge(&self, conversations: &[String]) -> Result<Purged, StoreError> {
        self.inner.purge(conversations)
    }
}
