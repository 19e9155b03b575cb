//! Stores steps behind everybody's back, many in one transaction.
//!
//! What was merely observed may be lost: the client will send it again. So when a step cannot be
//! stored, its conversation is dropped from memory and replayed from what is stored, and the next
//! request fills the gap.

use crate::directory::{Directory, lock};
use ctx_store::{NewRecord, Record, Step, Store};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub type Listener = Box<dyn Fn(&Record) -> bool + Send>;

/// The most steps that share a transaction.
const TOGETHER: usize = 64;

enum Job {
    Step(Step),
    Settle(SyncSender<()>),
}

pub struct Writer {
    jobs: Sender<Job>,
    listeners: Arc<Mutex<Vec<Listener>>>,
    unsaved: Arc<AtomicU64>,
}

impl Writer {
    pub fn start(store: Arc<dyn Store>, directory: Arc<Mutex<Directory>>) -> Writer {
        let (jobs, queue) = channel();
        let listeners: Arc<Mutex<Vec<Listener>>> = Arc::default();
        let unsaved: Arc<AtomicU64> = Arc::default();
        let work = Work { store, directory, listeners: listeners.clone(), unsaved: unsaved.clone() };
        let started = std::thread::Builder::new().name("ctx-writer".into()).spawn(move || work.run(&queue));
        if let Err(error) = started {
            tracing::error!(%error, "cannot start the writer; nothing will be stored");
        }
        Writer { jobs, listeners, unsaved }
    }

    pub fn write(&self, step: Step) {
        if self.jobs.send(Job::Step(step)).is_err() {
            self.unsaved.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn settle(&self, most: Duration) {
        let (done, wait) = sync_channel(1);
        if self.jobs.send(Job::Settle(done)).is_ok() {
            let _ = wait.recv_timeout(most);
        }
    }

    pub fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    pub fn unsaved(&self) -> u64 {
        self.unsaved.load(Ordering::Relaxed)
    }
}

struct Work {
    store: Arc<dyn Store>,
    directory: Arc<Mutex<Directory>>,
    listeners: Arc<Mutex<Vec<Listener>>>,
    unsaved: Arc<AtomicU64>,
}

impl Work {
    fn run(&self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            let mut steps = Vec::new();
            let mut waiting = Vec::new();
            let mut job = Some(first);
            while let Some(next) = job.take() {
                match next {
                    Job::Step(step) => steps.push(step),
                    Job::Settle(done) => waiting.push(done),
                }
                if steps.len() < TOGETHER {
                    job = queue.try_recv().ok();
                }
            }
            self.store(steps);
            for done in waiting {
                let _ = done.try_send(());
            }
        }
    }

    fn store(&self, steps: Vec<Step>) {
        if steps.is_empty() {
            return;
        }
        let records: Vec<Vec<NewRecord>> = steps.iter().map(|step| step.records.clone()).collect();
        let count = steps.len() as u64;
        match self.store.append(steps) {
            Ok(last) => self.tell(records, last),
            Err(error) => {
                tracing::warn!(%error, steps = count, "could not store what was observed; it will be learned again from the next request");
                self.unsaved.fetch_add(count, Ordering::Relaxed);
                let mut directory = lock(&self.directory);
                records.iter().flatten().for_each(|record| directory.unload(&record.conversation));
            }
        }
    }

    fn tell(&self, steps: Vec<Vec<NewRecord>>, last: Vec<u64>) {
        let mut listeners = lock(&self.listeners);
        if listeners.is_empty() {
            return;
        }
        for (records, last) in steps.into_iter().zip(last) {
            let count = records.len() as u64;
            for (index, record) in (1..).zip(records) {
                let NewRecord { conversation, at, kind, version, uses, body } = record;
                let stored = Record { seq: last + index - count, conversation, at, kind, version, uses, body };
                listeners.retain(|listener| listener(&stored));
            }
        }
    }
}
