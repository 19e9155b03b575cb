//! The thread that stores steps: in order, many per transaction, and again while the store is out of reach.

use super::backlog::Backlog;
use super::versions::Versions;
use super::{Base, Job, Listener, PendingStep, StepFiles, WriteError, conversation_of, size};
use crate::directory::Directory;
use crate::idle::IdleGate;
use crate::threads::lock;
use ctx_engine::log;
use ctx_store::{AppendOutcome, Expectation, NewRecord, Record, Step, Store, StoreError};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The maximum number of steps per transaction.
const TOGETHER: usize = 64;
/// The size in bytes from which a transaction takes no more steps.
const LONG: u64 = 4 * 1024 * 1024;
/// The pause before a store out of reach is asked again.
const RETRY: Duration = Duration::from_millis(200);
/// The longest wait until a stored step takes effect: the thread that applies it may itself wait for the writer.
const COUNTS: Duration = Duration::from_millis(200);
/// With this many bytes waiting, the writer does not wait for a gap.
const CROWDED: u64 = 16 * 1024 * 1024;

/// The thread that stores steps.
pub(super) struct Work {
    pub store: Arc<dyn Store>,
    pub directory: Arc<Mutex<Directory>>,
    pub files: StepFiles,
    pub gaps: Arc<IdleGate>,
    pub listeners: Arc<Mutex<Vec<Listener>>>,
    pub unsaved: Arc<AtomicU64>,
    pub waiting: Arc<AtomicU64>,
    pub backlog: Arc<Backlog>,
    /// Where several daemons write to the store.
    pub versions: Option<Arc<Versions>>,
    pub conflicts: Arc<AtomicU64>,
    pub appends: Arc<AtomicU64>,
}

/// Moves the first awaited step before those of other conversations, but behind those of its own.
pub(super) fn put_first(backlog: &mut VecDeque<Job>) {
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

fn bytes(steps: &[PendingStep]) -> u64 {
    steps.iter().map(|pending| size(&pending.step)).sum()
}

/// The conversations of steps, one for each.
fn ids(steps: &[PendingStep]) -> Vec<String> {
    steps.iter().filter_map(|pending| conversation_of(&pending.step)).map(str::to_owned).collect()
}

impl Work {
    pub(super) fn run(&self, queue: &Receiver<(Instant, Job)>) {
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
                    Job::Now(step, base, done, counts) => {
                        now = Some((step, base, done, counts));
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
                now.into_iter().for_each(|(step, base, done, counts)| {
                    backlog.push_front(Job::Now(step, base, done, counts));
                });
                refuse_awaited(&mut backlog);
                continue;
            }
            for done in waiting {
                let _ = done.try_send(());
            }
            if let Some((step, base, done, counts)) = now {
                self.answer(step, base, &done, &counts);
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
    fn answer(&self, step: Step, base: Base, done: &SyncSender<Result<(), WriteError>>, counts: &Receiver<()>) {
        let records = step.records.clone();
        match self.store_now(step, base) {
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

    fn store_now(&self, mut step: Step, base: Base) -> Result<Vec<AppendOutcome>, WriteError> {
        let conversation = step.records.first().map(|record| record.conversation.clone()).unwrap_or_default();
        if lock(&self.directory).losses(&conversation) != base.losses {
            return Err(if self.versions.is_some() { WriteError::Conflict } else { WriteError::BuiltOnLost });
        }
        if let (Some(versions), Some(read_at)) = (&self.versions, base.read_at) {
            // Read again meanwhile, it may have records of other daemons that the step does not know.
            let version = versions.since(&conversation, read_at).ok_or(WriteError::Conflict)?;
            step.expect = Some(Expectation { conversation, version });
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
