//! The service behind every face of the program: what flows is observed here, and read from here.
//!
//! [`recorder`] takes passive copies of what passes; [`observe`] and [`answer`] turn them into
//! records; [`writer`] stores them; [`view`] shows them. The network, the terminal and the page
//! live elsewhere. The proxy never waits for anything in this crate.
//!
//! # Locks
//!
//! Conversations know nothing of each other, so that none of them waits for another. Each has a lock of its own, which
//! is held while a request is booked in it and while a view of it is made; a step goes to the writer under that lock, so
//! the log has the records of a conversation in the order in which they build on each other. The order is:
//!
//! 1. `editing` of one conversation: commits follow each other. Held while the disk works.
//! 2. The conversation. **No thread that holds one conversation waits for another one, for the writer or for a reader
//!    of the store.** What is needed of another conversation is copied before (`origin`, `gathered imports`).
//! 3. The directory, the held sessions, and the other small maps: each for a few lines, none inside another but
//!    `ledger` before the directory. Freed conversations are dropped after the directory is let go.

mod activity;
use ctx_engine::card::Card;
use ctx_engine::{Conversation, EDITED, Engine, NO, log};
mod answer_ids;
mod archive;
mod attribution;
pub mod automatic;
mod bodies;
mod directory;
pub mod edit;
pub mod helper;
mod idle;
mod intercept;
mod keyed_lock;
pub mod observe;
mod phases;
pub mod provider;
pub mod recorder;
pub mod replay_source;
pub mod response;
mod side_traffic;
pub mod streams;
mod uploads;
pub mod view;
mod writer;

pub use ctx_core::edit::refusal::nearest;
pub use recorder::Recorder;

use answer_ids::AnswerIds;
use bodies::Newest;
use ctx_models::Models;
use ctx_store::{Step, Store, StoreError};
use directory::{Directory, Shared, lock};
use idle::IdleGate;
use intercept::Held;
use keyed_lock::KeyedLock;
use recorder::{Lanes, Order};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use writer::Writer;

/// So many conversations are purged before others have their turn.
const PURGED_TOGETHER: usize = 64;

/// How long a reader waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Service {
    store: Arc<dyn Store>,
    engine: Engine,
    directory: Arc<Mutex<Directory>>,
    writer: Writer,
    newest: Newest,
    held: Held,
    uploads: Arc<uploads::Uploads>,
    gaps: Arc<IdleGate>,
    streams: Arc<streams::Streams>,
    /// What is wanted of the provider.
    provider: Arc<provider::ProviderState>,
    /// Who edits by itself, if anybody.
    automatic: automatic::Switch,
    /// Titles that a helper gave, by conversation.
    titles: Mutex<HashMap<String, ctx_engine::conversation::titles::Titles>>,
    /// What requests took and cost, as far as somebody has asked. Taken before the directory.
    ledger: Mutex<view::Ledger>,
    /// What edited conversations weigh, found out when somebody looks.
    weighed: Mutex<view::Weighed>,
    /// Wakes conversations whose edits wait for a moment.
    alarm: edit::wait::Alarm,
    /// The conversations of which something of the history is being stored: what is stored counts a little later.
    storing: KeyedLock,
    /// One commit of a conversation is made at a time.
    editing: KeyedLock,
    /// What waits to be looked at, in one lane for each session.
    lanes: Arc<Lanes>,
    answers: AnswerIds,
    /// Requests whose history the provider keeps, since the start.
    elsewhere: AtomicU64,
}

impl Service {
    pub fn open(store: Arc<dyn Store>) -> Result<Service, StoreError> {
        let directory = Arc::new(Mutex::new(Directory::open(&*store)?));
        let gaps: Arc<IdleGate> = Arc::default();
        let writer = Writer::start(store.clone(), directory.clone(), gaps.clone());
        let held = Held::default();
        let edited = marked(&*store, EDITED, &log::EDITS)?;
        for card in lock(&directory).cards() {
            let edited = edited.contains(&card.id);
            held.put(&Card { edited, ..card.clone() }, edited);
        }
        let alarm = edit::wait::Alarm::of(marked(&*store, ctx_engine::conversation::waiting::WAITING, &[log::WAIT])?);
        let titles = ctx_engine::conversation::titles::read(store.notes(ctx_engine::conversation::titles::TITLES)?);
        Ok(Service {
            engine: Engine::new(store.clone()),
            store,
            directory,
            writer,
            newest: Newest::default(),
            gaps,
            streams: Arc::default(),
            held,
            uploads: Arc::default(),
            provider: Arc::default(),
            automatic: automatic::Switch::default(),
            titles: Mutex::new(titles),
            ledger: Mutex::default(),
            weighed: Mutex::default(),
            alarm,
            storing: KeyedLock::default(),
            editing: KeyedLock::default(),
            lanes: Arc::default(),
            answers: AnswerIds::default(),
            elsewhere: AtomicU64::new(0),
        })
    }

    /// Offloaded content goes there.
    pub fn offloading_to(mut self, folder: edit::Folder) -> Service {
        self.engine.offload_folder = Some(Arc::new(folder));
        self
    }

    /// Moments that wishes wait for are told by these.
    pub fn with_moments(mut self, moments: ctx_engine::Moments) -> Service {
        self.engine.moments = moments;
        self
    }

    /// With what somebody says of models.
    pub fn with_models(mut self, models: Models) -> Service {
        self.engine.models = models;
        self
    }

    /// Whether a request must be held until it is composed: its conversation has operations or waits for some, or may;
    /// or all are looked at; or the provider may have to be asked for something beside it.
    pub fn holds(&self, hints: &ctx_clients::Hints) -> bool {
        self.automatic.holds_all() || self.held.holds(hints) || self.provider.holds(hints)
    }

    /// Requests since the start that carried only what was new: the provider keeps their history.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere.load(Ordering::Relaxed)
    }

    /// What bodies are compared with while they pass.
    pub fn newest(&self) -> &Newest {
        &self.newest
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Calls `listener` with every record that was stored, until it returns false.
    pub fn listen(&self, listener: impl Fn(&ctx_store::Record) -> bool + Send + 'static) {
        self.writer.listen(Box::new(listener));
    }

    /// Replies while they grow.
    pub fn streams(&self) -> &Arc<streams::Streams> {
        &self.streams
    }

    /// Waits until all that was observed so far is stored, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        let _ = self.writer.settle(most);
    }

    /// How many conversations are edited, or may be.
    pub fn edited_count(&self) -> usize {
        self.held.edited_count()
    }

    /// What could not be stored since the start.
    pub fn unsaved(&self) -> u64 {
        self.writer.unsaved()
    }

    /// The stored conversations that were active last before `oldest`, also those that no listing shows.
    pub fn inactive_since(&self, oldest: u64) -> Result<Vec<String>, StoreError> {
        Ok(activity::inactive_since(oldest, &self.store.conversations()?, now()))
    }

    /// Forgets conversations for good. Whoever works on one of them is waited for; a request of one of them that comes
    /// meanwhile waits, and then begins anew. Other conversations go on.
    pub fn purge(&self, ids: &[String]) -> Result<ctx_store::Purged, StoreError> {
        let mut purged = ctx_store::Purged::default();
        // In the order in which they were stored: neighbours share pages of the file.
        let mut ids = ids.to_vec();
        {
            let directory = lock(&self.directory);
            ids.sort_by_cached_key(|id| directory.card(id).map(|card| card.last_activity));
        }
        // A few at a time, so that none of them waits for all the others.
        for some in ids.chunks(PURGED_TOGETHER) {
            purged += self.purge_some(some)?;
        }
        purged += self.store.sweep()?;
        Ok(purged)
    }

    fn purge_some(&self, ids: &[String]) -> Result<ctx_store::Purged, StoreError> {
        // In one order, so that two that purge do not wait for each other.
        let sorted: BTreeSet<&String> = ids.iter().collect();
        let _commits: Vec<_> = sorted.iter().map(|id| self.editing.lock(id)).collect();
        let places: Vec<Shared> = sorted.iter().map(|id| lock(&self.directory).place(id)).collect();
        let _busy: Vec<_> = places.iter().map(|place| lock(place)).collect();
        // What still waits to be written would come back otherwise.
        self.settle(PATIENCE);
        let removed = self.store.remove(ids);
        if removed.is_err() {
            // They are still stored: an empty place must not be taken for one of them.
            self.with_directory(|directory| ids.iter().for_each(|id| directory.unload(id)));
            return removed;
        }
        let mut ledger = lock(&self.ledger);
        for id in ids {
            ledger.forget(id);
            lock(&self.titles).remove(id);
            lock(&self.weighed).remove(id);
            let card = lock(&self.directory).card(id).cloned();
            self.held.forget(id, card.as_ref());
            self.alarm.set(id, None);
            self.engine.offload_folder.iter().for_each(|folder| folder.forget(id));
        }
        self.with_directory(|directory| ids.iter().for_each(|id| directory.forget(id)));
        removed
    }

    /// The conversation, from memory or replayed from the store.
    fn get(&self, id: &str) -> Result<Option<Shared>, StoreError> {
        const TRIES: usize = 3;
        for attempt in 1.. {
            let dropped = {
                let mut directory = lock(&self.directory);
                if let Some(found) = directory.touch(id) {
                    return Ok(Some(found));
                }
                directory.dropped()
            };
            // What still waits to be written is a part of it. Nobody is kept waiting meanwhile.
            if !self.writer.settle_conversation(id, PATIENCE) {
                return Err(StoreError::Slow);
            }
            let Some(mut conversation) = Conversation::load(id, &*self.store)? else { break };
            conversation.titles = lock(&self.titles).get(id).cloned().unwrap_or_default();
            self.note_parent(&mut conversation);
            conversation.folder = conversation.folder_with(None);
            conversation.cache.keep_for(self.engine.kept_for(conversation.envelope.model.as_deref()));
            let mut directory = lock(&self.directory);
            if directory.dropped() == dropped || attempt == TRIES {
                self.held.raise(&conversation);
                return Ok(Some(directory.keep(conversation)));
            }
        }
        Ok(None)
    }

    /// A conversation that nobody has heard of.
    fn newborn(&self, id: String, opened: log::Opened) -> Conversation {
        Conversation::new(id, opened)
    }

    /// Whether [`Service::rest`] would give something back.
    fn is_heavy(&self) -> bool {
        lock(&self.directory).is_heavy()
    }

    /// Gives back the memory of conversations that nobody has asked for lately.
    fn rest(&self) {
        self.with_directory(Directory::rest);
    }

    /// Drops all conversations from memory; they are replayed when they are needed.
    fn start_over(&self) {
        self.with_directory(Directory::unload_all);
    }

    /// Changes the directory. What that unloads is freed when others can have the directory again.
    fn with_directory<T>(&self, change: impl FnOnce(&mut Directory) -> T) -> T {
        let mut directory = lock(&self.directory);
        let outcome = change(&mut directory);
        let attic = directory.empty_attic();
        drop(directory);
        attic.free();
        outcome
    }

    fn is_current(&self, id: &str, shared: &Shared) -> bool {
        lock(&self.directory).is_current(id, shared)
    }

    /// Notes how heavy a conversation has become. One that was unloaded while a request was booked in it is unloaded
    /// again: whoever has loaded it meanwhile did so without that request.
    fn weigh_loaded(&self, id: &str, shared: &Shared, weight: usize) {
        self.with_directory(|directory| {
            if !directory.is_current(id, shared) {
                directory.unload(id);
            }
            directory.weigh(id, weight);
        });
    }

    /// Waits until everything is booked that passed in another conversation before the request of this `order`.
    fn catch_up(&self, id: &str, order: Option<Order>) {
        let Some(order) = order else { return };
        let whose = lock(&self.directory).card(id).and_then(|card| Some((card.session.clone()?, card.agent.clone())));
        if let Some((session, agent)) = whose {
            self.lanes.catch_up(&session, agent.as_deref(), order);
        }
    }

    fn write(&self, step: Step) {
        self.writer.write(step);
    }
}

/// The conversations that a mark says yes of. The log decides where a mark is lost: a record of one of these
/// kinds then counts as a yes.
fn marked(store: &dyn Store, name: &str, kinds: &[&str]) -> Result<HashSet<String>, StoreError> {
    let marks: HashMap<String, bool> = store.notes(name)?.into_iter().map(|(id, body)| (id, body != NO)).collect();
    let logged = store.conversations_with(kinds)?.into_iter().filter(|id| !marks.contains_key(id));
    let yes = marks.iter().filter(|(_, is_so)| **is_so).map(|(id, _)| id.clone());
    Ok(yes.chain(logged).collect())
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests;
