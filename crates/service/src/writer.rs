//! Stores steps in the background, many per transaction.
//!
//! Observations may be lost: the client sends them again. So when a step cannot be stored, its conversation is dropped
//! from memory and replayed from the store, and the next request fills the gap. Steps that build on the lost one are
//! not stored either: they would begin in the middle.
//!
//! While the store is out of reach, nothing is lost: steps wait, as far as there is room, and the same transaction is
//! repeated until the store answers. Awaited steps are refused meanwhile.

use crate::directory::Directory;
use crate::idle::IdleGate;
use crate::threads::lock;
use backlog::Backlog;
use ctx_engine::Conversation;
use ctx_store::{Record, Step, Store};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use versions::Versions;
use work::Work;

mod backlog;
mod error;
mod files;
mod versions;
mod work;

pub use error::WriteError;
pub use files::StepFiles;

pub type Listener = Box<dyn Fn(&Record) -> bool + Send>;

/// The maximum number of bytes that wait for a slow disk.
const WAITING: u64 = 256 * 1024 * 1024;

enum Job {
    Step(PendingStep),
    /// A step of this conversation had no room.
    Lost(String),
    Settle(SyncSender<()>),
    /// A step that a thread waits for: stored alone, after all earlier ones, if none of those was lost. Listeners are
    /// notified when the sender is dropped.
    Now(Step, Base, SyncSender<Result<(), WriteError>>, Receiver<()>),
}

/// The state of a conversation that an awaited step builds on.
#[derive(Debug, Clone, Copy)]
pub struct Base {
    losses: u64,
    /// The version at which it was read; `None` if records of other daemons do not matter.
    read_at: Option<u64>,
}

impl From<u64> for Base {
    fn from(losses: u64) -> Base {
        Base { losses, read_at: None }
    }
}

impl From<&Conversation> for Base {
    fn from(conversation: &Conversation) -> Base {
        Base { losses: conversation.log.losses, read_at: Some(conversation.log.version) }
    }
}

/// A step that waits for the disk.
struct PendingStep {
    step: Step,
    /// The losses of the conversation whose state it builds on; `None` if it builds on none.
    losses: Option<u64>,
}

/// A stored step that listeners do not know yet: a listener queries at once, and must find it applied. Keep until it
/// takes effect.
#[must_use]
pub struct Untold(#[allow(dead_code, reason = "what matters is when it is dropped")] SyncSender<()>);

pub struct Writer {
    jobs: Sender<(Instant, Job)>,
    gaps: Arc<IdleGate>,
    waiting: Arc<AtomicU64>,
    backlog: Arc<Backlog>,
    listeners: Arc<Mutex<Vec<Listener>>>,
    unsaved: Arc<AtomicU64>,
    versions: Option<Arc<Versions>>,
    conflicts: Arc<AtomicU64>,
    appends: Arc<AtomicU64>,
}

/// The conversation of a step: each has one.
fn conversation_of(step: &Step) -> Option<&str> {
    let record = step.records.first().map(|record| record.conversation.as_str());
    record.or_else(|| step.notes.first().map(|note| note.conversation.as_str()))
}

impl Writer {
    pub fn start(
        store: Arc<dyn Store>,
        directory: Arc<Mutex<Directory>>,
        gaps: Arc<IdleGate>,
        files: StepFiles,
    ) -> Writer {
        let (jobs, queue) = channel();
        let listeners: Arc<Mutex<Vec<Listener>>> = Arc::default();
        let unsaved: Arc<AtomicU64> = Arc::default();
        let waiting: Arc<AtomicU64> = Arc::default();
        let backlog: Arc<Backlog> = Arc::default();
        let (conflicts, appends): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let versions: Option<Arc<Versions>> = store.replica().map(|_| Arc::default());
        let work = Work {
            store,
            directory,
            files,
            gaps: gaps.clone(),
            listeners: listeners.clone(),
            unsaved: unsaved.clone(),
            waiting: waiting.clone(),
            backlog: backlog.clone(),
            versions: versions.clone(),
            conflicts: conflicts.clone(),
            appends: appends.clone(),
        };
        let started = std::thread::Builder::new().name("ctx-writer".into()).spawn(move || {
            crate::threads::step_back();
            work.run(&queue);
        });
        if let Err(error) = started {
            tracing::error!(%error, "cannot start the writer; nothing will be stored");
        }
        Writer { jobs, gaps, waiting, backlog, listeners, unsaved, versions, conflicts, appends }
    }

    /// Stores a step later. `losses`: of the conversation that it builds on, if any.
    pub fn write(&self, step: Step, losses: Option<u64>) {
        let bytes = size(&step);
        let mut job = Job::Step(PendingStep { step, losses });
        if self.waiting.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > WAITING
            && let Job::Step(PendingStep { step, .. }) = &job
        {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.unsaved.fetch_add(1, Ordering::Relaxed);
            let Some(conversation) = step.records.first().map(|record| record.conversation.clone()) else { return };
            job = Job::Lost(conversation);
        }
        if let Job::Step(pending) = &job {
            self.backlog.add(&pending.step);
        }
        if self.jobs.send((Instant::now(), job)).is_err() {
            self.unsaved.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stores a step and waits until it is safe on disk.
    pub fn write_now(&self, step: Step, base: impl Into<Base>) -> Result<Untold, WriteError> {
        let (done, wait) = sync_channel(1);
        let (untold, counts) = sync_channel(1);
        let _hurry = self.gaps.hurry();
        self.jobs
            .send((Instant::now(), Job::Now(Step { durable: true, ..step }, base.into(), done, counts)))
            .map_err(|_| WriteError::Stopped)?;
        wait.recv().map_err(|_| WriteError::Stopped)??;
        Ok(Untold(untold))
    }

    /// Waits until all steps of one conversation are stored or lost; false after `most`. Returns at once if it has
    /// none, however busy the disk is.
    pub fn settle_conversation(&self, id: &str, most: Duration) -> bool {
        if self.backlog.is_empty(id) {
            return true;
        }
        let _hurry = self.gaps.hurry();
        self.backlog.wait(id, most)
    }

    /// Waits until all earlier steps are stored or lost; false after `most`.
    pub fn settle(&self, most: Duration) -> bool {
        let (done, wait) = sync_channel(1);
        let _hurry = self.gaps.hurry();
        // A stopped writer has nothing under way.
        self.jobs.send((Instant::now(), Job::Settle(done))).is_err()
            || wait.recv_timeout(most) != Err(RecvTimeoutError::Timeout)
    }

    pub fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    pub fn unsaved(&self) -> u64 {
        self.unsaved.load(Ordering::Relaxed)
    }

    /// The number of steps that another daemon overtook.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// The number of stored steps.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::Relaxed)
    }

    /// For how long the oldest step has been waiting for the store.
    pub fn oldest_waiting(&self) -> Duration {
        self.backlog.oldest()
    }

    /// The bytes that wait for the store.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether a step of this conversation is not stored yet.
    pub fn has_backlog(&self, id: &str) -> bool {
        !self.backlog.is_empty(id)
    }

    /// The version that memory has of a conversation, if several daemons write to the store.
    pub fn version(&self, id: &str) -> Option<u64> {
        self.versions.as_ref().map(|versions| versions.get(id))
    }

    /// Records that this version of a conversation was read into memory.
    pub fn set_version(&self, id: &str, version: u64) {
        self.versions.iter().for_each(|versions| versions.put(id, version));
    }
}

/// The approximate size of a step in bytes.
fn size(step: &Step) -> u64 {
    let blobs: usize = step.blobs.iter().map(|(_, bytes)| bytes.len()).sum();
    let records: usize = step.records.iter().map(|record| record.body.len() + 200).sum();
    let notes: usize = step.notes.iter().map(|note| note.body.as_ref().map_or(0, Vec::len)).sum();
    (blobs + records + notes) as u64
}

#[cfg(test)]
mod tests;
