//! The service behind every face of the program: what flows is observed here, and read from here.
//!
//! [`recorder`] takes passive copies of what passes; [`observe`] and [`answer`] turn them into
//! records; [`writer`] stores them; [`view`] shows them. The network, the terminal and the page
//! live elsewhere. The proxy never waits for anything in this crate.

pub mod answer;
pub mod automatic;
mod card;
mod conversation;
mod credentials;
mod directory;
pub mod edit;
mod envelope;
mod expect;
mod gap;
mod held;
pub mod helper;
pub mod log;
mod newest;
pub mod observe;
mod phases;
pub mod provider;
pub mod recorded;
pub mod recorder;
mod sides;
pub mod streams;
mod transfer;
mod uploads;
pub mod view;
mod whose;
mod writer;

pub use answer::Timing;
pub use credentials::Credentials;
pub use observe::{Seen, Ticket};
pub use phases::{PhaseAction, PhaseView, PhaseWish, PhasesView};
pub use recorder::Recorder;
pub use transfer::Imported;
pub use view::Refusal;

use conversation::Conversation;
use ctx_store::{Hash, NewRecord, Step, Store, StoreError};
use ctx_wire::anthropic::models::Models;
use directory::{Directory, Shared, lock};
use gap::Gaps;
use held::Held;
use newest::Newest;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use writer::Writer;

/// How long a reader waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(10);

/// The note that a conversation has operations: what it sends must be composed.
const EDITED: &str = "edited";

/// Why something that passed could not be taken note of. It has been forwarded all the same.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("the request cannot be read: {0}")]
    Unreadable(#[from] ctx_wire::anthropic::request::Unreadable),
    #[error("the request's encoding cannot be undone: {0}")]
    Encoding(#[from] ctx_wire::encoding::DecodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct Composer {
    store: Arc<dyn Store>,
    directory: Arc<Mutex<Directory>>,
    writer: Writer,
    newest: Newest,
    held: Held,
    uploads: Arc<uploads::Uploads>,
    offload_folder: Option<edit::Folder>,
    gaps: Arc<Gaps>,
    streams: Arc<streams::Streams>,
    nonce: AtomicU64,
    /// Who edits by itself, if anybody.
    automatic: automatic::Switch,
    /// Titles that a helper gave, by conversation.
    titles: Mutex<HashMap<String, helper::titles::Titles>>,
    /// Prices, windows and the like.
    models: Models,
    /// What requests took and cost, as far as somebody has asked. Taken before the directory.
    ledger: Mutex<view::Ledger>,
    /// What edited conversations weigh, found out when somebody looks.
    weighed: Mutex<view::Weighed>,
    /// What moments are told by that wishes wait for, and who wakes up for them.
    moments: edit::Moments,
    alarm: edit::wait::Alarm,
    /// What the provider is asked to edit by itself.
    provider: provider::Provider,
    /// The conversation of which something of the history is being stored: what is stored counts a little later.
    storing: Mutex<Option<String>>,
    /// One commit is made at a time. Taken before all others.
    editing: Mutex<()>,
    /// One request is looked at at a time, so that records are written in the order they build on
    /// each other. Locks are taken in this order: this one, a conversation, another conversation
    /// (only under this one), the directory. Whoever holds the directory takes no other.
    observing: Mutex<()>,
}

impl Composer {
    pub fn open(store: Arc<dyn Store>) -> Result<Composer, StoreError> {
        let directory = Arc::new(Mutex::new(Directory::open(&*store)?));
        let gaps: Arc<Gaps> = Arc::default();
        let writer = Writer::start(store.clone(), directory.clone(), gaps.clone());
        let held = Held::default();
        let edited: HashSet<String> = store.notes(EDITED)?.into_iter().map(|(id, _)| id).collect();
        lock(&directory).cards().for_each(|card| held.put(card, edited.contains(&card.id)));
        let waiting = store.notes(edit::wait::WAITING)?.into_iter().map(|(id, _)| id);
        let alarm = edit::wait::Alarm::of(waiting);
        let titles = helper::titles::read(store.notes(helper::titles::TITLES)?);
        Ok(Composer {
            store,
            directory,
            writer,
            newest: Newest::default(),
            gaps,
            streams: Arc::default(),
            held,
            uploads: Arc::default(),
            offload_folder: None,
            nonce: AtomicU64::new(0),
            automatic: automatic::Switch::default(),
            titles: Mutex::new(titles),
            models: Models::listed().clone(),
            ledger: Mutex::default(),
            weighed: Mutex::default(),
            moments: edit::Moments::default(),
            alarm,
            provider: provider::Provider::default(),
            storing: Mutex::default(),
            editing: Mutex::default(),
            observing: Mutex::default(),
        })
    }

    /// Offloaded content goes there.
    pub fn offloading_to(mut self, folder: edit::Folder) -> Composer {
        self.offload_folder = Some(folder);
        self
    }

    /// Moments that wishes wait for are told by these.
    pub fn with_moments(mut self, moments: edit::Moments) -> Composer {
        self.moments = moments;
        self
    }

    /// With what somebody says of models.
    pub fn with_models(mut self, models: Models) -> Composer {
        self.models = models;
        self
    }

    /// Whether a request must be held until it is composed: its conversation has operations or waits for some, or may;
    /// or all are looked at; or the provider may have to be asked for something beside it.
    pub fn holds(&self, hints: &ctx_wire::anthropic::identify::Hints) -> bool {
        self.automatic.holds_all() || self.held.holds(hints) || self.provider.holds(hints)
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
        self.writer.settle(most);
    }

    /// What could not be stored since the start.
    pub fn unsaved(&self) -> u64 {
        self.writer.unsaved()
    }

    /// Forgets conversations for good.
    pub fn purge(&self, ids: &[String]) -> Result<ctx_store::Purged, StoreError> {
        let _alone = lock(&self.observing);
        // What still waits to be written would come back otherwise.
        self.writer.settle(PATIENCE);
        let purged = self.store.purge(ids)?;
        let mut ledger = lock(&self.ledger);
        let mut directory = lock(&self.directory);
        ids.iter().for_each(|id| {
            ledger.forget(id);
            directory.forget(id);
            lock(&self.titles).remove(id);
            lock(&self.weighed).remove(id);
            self.held.forget(id);
            self.alarm.set(id, None);
            self.offload_folder.iter().for_each(|folder| folder.forget(id));
        });
        Ok(purged)
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
            self.writer.settle(PATIENCE);
            let Some(mut conversation) = Conversation::load(id, &*self.store)? else { break };
            conversation.titles = lock(&self.titles).get(id).cloned().unwrap_or_default();
            conversation.folder = self.folder_of(&conversation, None);
            conversation.keep_for(self.kept_for(conversation.envelope.model.as_deref()));
            let mut directory = lock(&self.directory);
            if directory.dropped() == dropped || attempt == TRIES {
                return Ok(Some(directory.keep(conversation)));
            }
        }
        Ok(None)
    }

    /// Seconds that the provider's cache lives for a model, where somebody said so.
    fn kept_for(&self, model: Option<&str>) -> Option<u64> {
        self.moments.cache_seconds.or_else(|| self.models.cache_seconds_of(model))
    }

    /// A conversation that nobody has heard of.
    fn newborn(&self, id: String, opened: log::Opened) -> Conversation {
        Conversation::new(id, opened)
    }

    /// Whether [`Composer::rest`] would give something back.
    fn is_heavy(&self) -> bool {
        lock(&self.directory).is_heavy()
    }

    /// Gives back the memory of conversations that nobody has asked for lately.
    fn rest(&self) {
        lock(&self.directory).rest();
    }

    /// Drops all conversations from memory; they are replayed when they are needed.
    fn start_over(&self) {
        lock(&self.directory).unload_all();
    }

    fn write(&self, step: Step) {
        self.writer.write(step);
    }

    fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn record(conversation: &str, at: u64, kind: &str, body: &impl Serialize, uses: Vec<Hash>) -> NewRecord {
    NewRecord {
        conversation: conversation.to_owned(),
        at,
        kind: kind.to_owned(),
        version: log::VERSION,
        uses,
        body: serde_json::to_vec(body).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
