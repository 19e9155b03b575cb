//! The file with the edited conversations of a shared store, for a start while the database is out of reach. It contains
//! ids and hashes, no content.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ctx_engine::card::Card;
use ctx_service::Service;
use serde::{Deserialize, Serialize};

use crate::home::Home;

const FILE: &str = "edited.json";

/// The interval between two looks for another edited conversation.
const LOOK: Duration = Duration::from_millis(250);
/// The number of looks until newer activity is saved too.
const REFRESH: u64 = 20;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    /// The address of the database that they are in.
    store: String,
    edited: Vec<Card>,
}

fn path(home: &Home) -> PathBuf {
    home.path().join(FILE)
}

/// The cards that an earlier daemon saved for this store.
pub fn read(home: &Home, store: &str) -> Option<Vec<Card>> {
    let content: Content = serde_json::from_slice(&fs::read(path(home)).ok()?).ok()?;
    (content.store == store).then_some(content.edited)
}

/// Saves the cards now, before an edit is acknowledged, and whenever they change, until the service ends.
pub fn keep(home: &Home, store: String, service: &Arc<Service>) {
    let keeper =
        Arc::new(Keeper { home: home.clone(), store, service: Arc::downgrade(service), saved: Mutex::default() });
    keeper.save(true);
    let confirming = keeper.clone();
    service.before_confirming(move || {
        confirming.save(false);
    });
    let thread = std::thread::Builder::new().name("ctx-edited".into());
    let started = thread.spawn(move || {
        for number in 1_u64.. {
            std::thread::sleep(LOOK);
            if !keeper.save(number.is_multiple_of(REFRESH)) {
                return;
            }
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "cannot start a thread; the file of edited conversations will be outdated");
    }
}

/// Forgets what an earlier daemon saved: edits may have been made since.
pub fn forget(home: &Home) {
    match fs::remove_file(path(home)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(%error, "cannot remove an outdated file of edited conversations");
        }
        _ => {}
    }
}

/// Whether the file has all these conversations.
pub fn has(home: &Home, store: &str, ids: &[String]) -> bool {
    read(home, store).is_some_and(|cards| ids.iter().all(|id| cards.iter().any(|card| card.id == *id)))
}

struct Keeper {
    home: Home,
    store: String,
    service: Weak<Service>,
    /// The changes that the file contains, and the file.
    saved: Mutex<(Option<u64>, Option<Content>)>,
}

impl Keeper {
    /// Saves the cards if there are others than before. `all`: also if only their activity is newer. False if the
    /// service has ended.
    fn save(&self, all: bool) -> bool {
        let Some(service) = self.service.upgrade() else { return false };
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if all && !path(&self.home).exists() {
            *saved = (None, None);
        }
        // Read first: a change meanwhile is saved with the next call.
        let changes = service.edited_changes();
        if !all && saved.0 == Some(changes) {
            return true;
        }
        let content = Content { store: self.store.clone(), edited: service.edited_cards() };
        if saved.1.as_ref() == Some(&content) {
            saved.0 = Some(changes);
            return true;
        }
        match self.home.replace(&path(&self.home), &content) {
            Ok(()) => *saved = (Some(changes), Some(content)),
            Err(error) => tracing::warn!(%error, "could not save which conversations are edited"),
        }
        true
    }
}
