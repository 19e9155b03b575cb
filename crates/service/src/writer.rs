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
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::{Refusal, log};
use ctx_store::{AppendOutcome, NewRecord, Record, Step, Store, StoreError};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use versions::Versions;

mod files;
mod versions;

pub use files::StepFiles;

pub type Listener = Box<dyn Fn(&Record) -> bool + Send>;

/// The maximum number of steps per transaction.
const TOGETHER: usize = 64;
/// The size in bytes from which a transaction takes no more steps.
const LONG: u64 = 4 * 1024 * 1024;
/// The maximum number of bytes that wait for a slow disk.
const WAITING: u64 = 256 * 1024 * 1024;
/// The longest wait until a stored step takes effect: the thread that applies it may itself wait for the writer.
const COUNTS: Duration = Duration::from_millis(200);
/// The pause before a store out of reach is asked again.
const RETRY: Duration = Duration::from_millis(200);
/// With this many bytes waiting, the writer does not wait for a gap.
const CROWDED: u64 = 16 * 1024 * 1024;

enum Job {
    Step(PendingStep),
    /// A step of this conversation had no room.
    Lost(String),
    Settle(SyncSender<()>),
    /// A step that a thread waits for: stored alone, after all earlier ones, if none of those was lost. Listeners are
    /// notified when the sender is dropped.
    Now(Step, u64, SyncSender<Result<(), WriteError>>, Receiver<()>),
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

/// Why an awaited step was not stored.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the writer is not running")]
    Stopped,
    #[error("an earlier request could not be stored")]
    BuiltOnLost,
    /// The step was not even tried.
    #[error(transparent)]
    Away(StoreError),
    #[error("the conversation was changed elsewhere")]
    Conflict,
    #[error(transparent)]
    Refused(#[from] StoreError),
}

impl WriteError {
    /// The refusal of a change: `what` could not be stored.
    pub fn refusal(&self, what: &str) -> Refusal {
        let hint = match self {
            WriteError::Refused(StoreError::Gone { .. }) => {
                hint!["Nothing was changed. Restart the daemon; it creates a new store if the old one was removed."]
            }
            WriteError::Conflict => {
                let hint = hint!["Nothing was changed. Look at the conversation again and repeat the change."];
                return Refusal::new(ErrorCode::Stale, format!("{what} was not stored: {self}."), hint);
            }
            WriteError::Away(_) => hint!["Nothing was changed. Try again when the database is back."],
            WriteError::Refused(StoreError::Unavailable { .. }) => {
                hint!["The database is out of reach. Look at the history when it is back: the change may be stored."]
            }
            _ => hint!["Nothing was changed. Is the disk full? ", Command::Doctor, " checks the store."],
        };
        Refusal::new(ErrorCode::NotStored, format!("{what} could not be stored: {self}."), hint)
    }
}

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

/// The number of unstored steps of each conversation.
#[derive(Debug, Default)]
struct Backlog {
    steps: Mutex<HashMap<String, usize>>,
    /// When they came. Steps are stored in this order, but for those that someone waits for.
    since: Mutex<VecDeque<Instant>>,
    stored: Condvar,
}

impl Backlog {
    fn add(&self, step: &Step) {
        if let Some(id) = conversation_of(step) {
            *lock(&self.steps).entry(id.to_owned()).or_default() += 1;
            lock(&self.since).push_back(Instant::now());
        }
    }

    fn remove(&self, ids: &[String]) {
        let mut steps = lock(&self.steps);
        for id in ids {
            if let Some(count) = steps.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    steps.remove(id);
                }
            }
        }
        drop(steps);
        let mut since = lock(&self.since);
        let count = ids.len().min(since.len());
        since.drain(..count);
        drop(since);
        self.stored.notify_all();
    }

    fn oldest(&self) -> Duration {
        lock(&self.since).front().map(Instant::elapsed).unwrap_or_default()
    }

    fn is_empty(&self, id: &str) -> bool {
        !lock(&self.steps).contains_key(id)
    }

    /// False after `most`.
    fn wait(&self, id: &str, most: Duration) -> bool {
        let waited = self.stored.wait_timeout_while(lock(&self.steps), most, |steps| steps.contains_key(id));
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }
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

    /// Stores a step and waits until it is safe on disk. `losses`: of the conversation that it builds on.
    pub fn write_now(&self, step: Step, losses: u64) -> Result<Untold, WriteError> {
        let (done, wait) = sync_channel(1);
        let (untold, counts) = sync_channel(1);
        let _hurry = self.gaps.hurry();
        self.jobs
            .send((Instant::now(), Job::Now(Step { durable: true, ..step }, losses, done, counts)))
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

    /// Records that memory has this version of a conversation.
    pub fn set_version(&self, id: &str, version: u64) {
        self.versions.iter().for_each(|versions| versions.put(id, version));
    }
}

struct Work {
    store: Arc<dyn Store>,
    directory: Arc<Mutex<Directory>>,
    files: StepFiles,
    gaps: Arc<IdleGate>,
    listeners: Arc<Mutex<Vec<Listener>>>,
    unsaved: Arc<AtomicU64>,
    waiting: Arc<AtomicU64>,
    backlog: Arc<Backlog>,
    /// Where several daemons write to the store.
    versions: Option<Arc<Versions>>,
    conflicts: Arc<AtomicU64>,
    appends: Arc<AtomicU64>,
}

/// Moves the first awaited step before those of other conversations, but behind those of its own.
fn put_first(backlog: &mut VecDeque<Job>) {
    let Some(at) = backlog.iter().position(|job| matches!(job, Job::Now(..))) else { return };
    let Some(Job::Now(step, ..)) = backlog.get(at) else { return };
    let Some(id) = conversation_of(step).map(str::to_owned) else { return };
    let is_its = |job: &Job| match job {
        Job::Step(PendingStep { step, .. }) | Job::Now(step, ..) => conversation_of(step) == Some(&id),
        Job::Lost(conversation) => *conversation == id,
        Job::Settle(_) => false,
    };
    let rest = backlog.split_off(at + 1);
    let (mut first, others): (VecDeque<Job>, VecDeque<Job>) = backlog.drain(..).partition(is_its);
    first.extend(others);
    first.extend(rest);
    *backlog = first;
}

/// Refuses the awaited steps: the store is out of reach.
fn refuse_awaited(backlog: &mut VecDeque<Job>) {
    backlog.retain(|job| {
        let Job::Now(_, _, done, _) = job else { return true };
        let away = StoreError::Unavailable { why: "it did not answer", source: None };
        let _ = done.try_send(Err(WriteError::Away(away)));
        false
    });
}

/// The approximate size of a step in bytes.
fn size(step: &Step) -> u64 {
    let blobs: usize = step.blobs.iter().map(|(_, bytes)| bytes.len()).sum();
    let records: usize = step.records.iter().map(|record| record.body.len() + 200).sum();
    let notes: usize = step.notes.iter().map(|note| note.body.as_ref().map_or(0, Vec::len)).sum();
    (blobs + records + notes) as u64
}

fn bytes(steps: &[PendingStep]) -> u64 {
    steps.iter().map(|pending| size(&pending.step)).sum()
}

/// The conversations of steps, one for each.
fn ids(steps: &[PendingStep]) -> Vec<String> {
    steps.iter().filter_map(|pending| conversation_of(&pending.step)).map(str::to_owned).collect()
}

impl Work {
    fn run(&self, queue: &Receiver<(Instant, Job)>) {
        let mut backlog = VecDeque::new();
        let mut unanswered: Vec<PendingStep> = Vec::new();
        loop {
            if !unanswered.is_empty() {
                let more = queue.recv_timeout(RETRY);
                let is_over = matches!(more, Err(RecvTimeoutError::Disconnected));
                backlog.extend(more.map(|(_, job)| job));
                unanswered = self.finish(unanswered);
                if !unanswered.is_empty() && is_over {
                    return;
                }
                if !unanswered.is_empty() {
                    refuse_awaited(&mut backlog);
                    continue;
                }
            }
            if backlog.is_empty() {
                let Ok(job) = queue.recv() else { return };
                self.gaps.wait(job.0, || self.waiting.load(Ordering::Relaxed) > CROWDED);
                backlog.push_back(job.1);
            }
            backlog.extend(queue.try_iter().map(|(_, job)| job));
            put_first(&mut backlog);
            let mut steps = Vec::new();
            let mut waiting = Vec::new();
            let mut now = None;
            let mut job = backlog.pop_front();
            while let Some(next) = job.take() {
                match next {
                    Job::Step(step) => steps.push(step),
                    Job::Lost(conversation) => self.unload(|directory| directory.lose(&conversation)),
                    Job::Settle(done) => waiting.push(done),
                    Job::Now(step, losses, done, counts) => {
                        now = Some((step, losses, done, counts));
                        break;
                    }
                }
                // A long step is stored alone, so that an awaited one need not wait for many of them.
                if steps.len() < TOGETHER && bytes(&steps) < LONG {
                    job = backlog.pop_front();
                }
            }
            unanswered = self.finish(steps);
            if !unanswered.is_empty() {
                waiting.into_iter().rev().for_each(|done| backlog.push_front(Job::Settle(done)));
                now.into_iter().for_each(|(step, losses, done, counts)| {
                    backlog.push_front(Job::Now(step, losses, done, counts));
                });
                refuse_awaited(&mut backlog);
                continue;
            }
            for done in waiting {
                let _ = done.try_send(());
            }
            if let Some((step, losses, done, counts)) = now {
                self.answer(step, losses, &done, &counts);
            }
        }
    }

    /// Stores steps. Returns those that a store out of reach did not take: they must be repeated as they are.
    fn finish(&self, steps: Vec<PendingStep>) -> Vec<PendingStep> {
        let (waited, mut done) = (bytes(&steps), ids(&steps));
        // A panic, ours or a listener's, costs these steps, never the writer.
        let unanswered = catch_unwind(AssertUnwindSafe(|| self.store(steps))).unwrap_or_else(|_| {
            tracing::error!("storing a request failed; later requests restore it");
            self.unsaved.fetch_add(1, Ordering::Relaxed);
            self.unload(Directory::lose_all);
            Vec::new()
        });
        for id in ids(&unanswered) {
            if let Some(at) = done.iter().position(|known| *known == id) {
                done.swap_remove(at);
            }
        }
        self.waiting.fetch_sub(waited - bytes(&unanswered), Ordering::Relaxed);
        self.backlog.remove(&done);
        unanswered
    }

    /// Stores an awaited step and tells its thread.
    fn answer(&self, step: Step, losses: u64, done: &SyncSender<Result<(), WriteError>>, counts: &Receiver<()>) {
        let records = step.records.clone();
        match self.store_now(step, losses) {
            Ok(outcomes) => {
                let _ = done.try_send(Ok(()));
                let _ = counts.recv_timeout(COUNTS);
                self.settled(vec![records], outcomes);
            }
            Err(error) => {
                match &error {
                    // It may be stored after all: only the store knows.
                    WriteError::Refused(StoreError::Unavailable { .. }) => self.lose(&records),
                    WriteError::Conflict => self.outdate(&records),
                    _ => {}
                }
                drop(done.try_send(Err(error)));
            }
        }
    }

    fn store_now(&self, step: Step, losses: u64) -> Result<Vec<AppendOutcome>, WriteError> {
        let conversation = step.records.first().map(|record| record.conversation.as_str()).unwrap_or_default();
        if lock(&self.directory).losses(conversation) != losses {
            return Err(if self.versions.is_some() { WriteError::Conflict } else { WriteError::BuiltOnLost });
        }
        let outcomes = self.append(vec![step])?;
        let is_conflict = outcomes.iter().any(|outcome| matches!(outcome, AppendOutcome::Conflict { .. }));
        if is_conflict { Err(WriteError::Conflict) } else { Ok(outcomes) }
    }

    /// The files that a commit names are on disk before the commit is.
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError> {
        self.files.secure();
        let Some(versions) = &self.versions else { return self.store.append(steps) };
        let (steps, ids) = versions.expect(steps);
        let outcomes = self.store.append(steps)?;
        versions.follow(&ids, &outcomes);
        Ok(outcomes)
    }

    /// All in one transaction; if that fails, one by one, so that a bad step affects no other. Returns the steps if the
    /// store is out of reach.
    fn store(&self, mut steps: Vec<PendingStep>) -> Vec<PendingStep> {
        steps.retain(|pending| self.is_whole(pending));
        if steps.is_empty() {
            return steps;
        }
        let records: Vec<Vec<NewRecord>> = steps.iter().map(|pending| pending.step.records.clone()).collect();
        match self.append(steps.iter().map(|pending| pending.step.clone()).collect()) {
            Ok(outcomes) => self.settled(records, outcomes),
            Err(StoreError::Unavailable { .. }) => return steps,
            Err(error) if steps.len() == 1 => {
                tracing::warn!(%error, "could not store a request; the next one restores it");
                records.iter().for_each(|records| self.lose(records));
            }
            Err(_) => {
                // A store that goes out of reach in between keeps the rest waiting.
                let mut rest = steps.into_iter();
                while let Some(pending) = rest.next() {
                    let mut unanswered = self.store(vec![pending]);
                    if !unanswered.is_empty() {
                        unanswered.extend(rest);
                        return unanswered;
                    }
                }
            }
        }
        Vec::new()
    }

    /// Whether nothing that a step builds on was lost.
    fn is_whole(&self, PendingStep { step, losses }: &PendingStep) -> bool {
        let (Some(losses), Some(id)) = (losses, conversation_of(step)) else { return true };
        let is_whole = lock(&self.directory).losses(id) == *losses;
        let count = if self.versions.is_some() { &self.conflicts } else { &self.unsaved };
        count.fetch_add(u64::from(!is_whole), Ordering::Relaxed);
        is_whole
    }

    fn lose(&self, records: &[NewRecord]) {
        self.unsaved.fetch_add(1, Ordering::Relaxed);
        self.unload(|directory| records.iter().for_each(|record| directory.lose(&record.conversation)));
    }

    /// Another daemon was faster: the conversation is read again with its records.
    fn outdate(&self, records: &[NewRecord]) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        self.unload(|directory| records.iter().for_each(|record| directory.outdate(&record.conversation)));
    }

    /// Tells listeners what is stored. A step in conflict is lost: its conversation is read again with the records of
    /// the other writer.
    fn settled(&self, steps: Vec<Vec<NewRecord>>, outcomes: Vec<AppendOutcome>) {
        for (records, outcome) in steps.into_iter().zip(outcomes) {
            match outcome {
                AppendOutcome::Stored { numbers } => {
                    self.appends.fetch_add(1, Ordering::Relaxed);
                    self.tell(records, numbers);
                }
                AppendOutcome::Conflict { version } => {
                    tracing::debug!(
                        version,
                        "a conversation was continued elsewhere; its next request brings the rest"
                    );
                    self.outdate(&records);
                }
            }
        }
    }

    /// Unloaded conversations are freed after the directory is unlocked.
    fn unload(&self, unload: impl FnOnce(&mut Directory)) {
        let mut directory = lock(&self.directory);
        unload(&mut directory);
        let attic = directory.empty_attic();
        drop(directory);
        attic.free();
    }

    fn tell(&self, records: Vec<NewRecord>, numbers: Vec<u64>) {
        let arrived = records.iter().filter(|record| record.kind == log::ARRIVED);
        let mut directory = lock(&self.directory);
        arrived.for_each(|record| directory.complete(&record.conversation));
        drop(directory);
        let mut listeners = lock(&self.listeners);
        if listeners.is_empty() {
            return;
        }
        for (record, seq) in records.into_iter().zip(numbers) {
            let NewRecord { conversation, at, kind, version, uses, body } = record;
            let stored = Record { seq, conversation, at, kind, version, uses, body };
            listeners.retain(|listener| listener(&stored));
        }
    }
}

#[cfg(test)]
mod tests;
