//! The file with the edited conversations of a shared store, for a start while the database is out of reach. It contains
//! ids and hashes, no content.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use ctx_engine::card::Card;
use ctx_service::Service;
use ctx_store::KNOWN_FOR;
use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::owners::PEOPLE;

const FILE: &str = "edited.json";

/// While it is there, the files of this home are outdated: the daemon took leave, and the others no longer name it.
const LEFT: &str = "left";

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
    // A daemon that starts without the database goes on with the time of the beat before.
    let beat = fs::metadata(path(home)).and_then(|file| file.modified()).unwrap_or_else(|_| SystemTime::now());
    let saved = Mutex::new(SavedCards { beat, changes: None, content: None });
    let keeper = Arc::new(Keeper { home: home.clone(), store, service: Arc::downgrade(service), saved });
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

/// Whether a daemon may start with the files in this home: every edit since the last beat named it.
pub fn are_current(home: &Home) -> bool {
    let saved = fs::metadata(path(home)).and_then(|file| file.modified());
    let age = saved.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    !home.path().join(LEFT).exists() && age.is_some_and(|age| age < KNOWN_FOR)
}

/// Called before the daemon takes leave. False: it cannot be recorded, so the others must go on naming it.
pub fn note_leave(home: &Home) -> bool {
    let noted = home.replace(&home.path().join(LEFT), &true);
    noted.inspect_err(|error| tracing::warn!(%error, "cannot record that the daemon takes leave")).is_ok()
}

/// The daemon is among the others again, or it could not take leave.
pub fn note_return(home: &Home) {
    remove(&home.path().join(LEFT));
}

/// Forgets what an earlier daemon saved in a folder: edits may have been made since.
pub fn forget(folder: &Path) {
    remove(&folder.join(FILE));
}

/// The same for the folders of all people in a home.
pub fn forget_people(home: &Path) {
    for entry in fs::read_dir(home.join(PEOPLE)).into_iter().flatten().flatten() {
        forget(&entry.path());
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "cannot remove an outdated file");
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
    saved: Mutex<SavedCards>,
}

struct SavedCards {
    /// The time of the last beat, which the file has as its own.
    beat: SystemTime,
    /// The changes that the file contains.
    changes: Option<u64>,
    content: Option<Content>,
}

impl Keeper {
    /// Makes the file as old as the last beat: what is saved while the database is away makes it no newer.
    fn date(&self, beat: SystemTime) {
        let dated = fs::File::options().append(true).open(path(&self.home)).and_then(|file| file.set_modified(beat));
        if let Err(error) = dated {
            tracing::warn!(%error, "could not date the file of edited conversations");
        }
    }

    /// Saves the cards if there are others than before. `all`: also if only their activity is newer. False if the
    /// service has ended.
    fn save(&self, all: bool) -> bool {
        let Some(service) = self.service.upgrade() else { return false };
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(presence) = service.presence().filter(|presence| presence.away.is_none()) {
            saved.beat = SystemTime::now().checked_sub(presence.lease_age).unwrap_or(saved.beat);
        }
        if all {
            match path(&self.home).exists() {
                true => self.date(saved.beat),
                false => (saved.changes, saved.content) = (None, None),
            }
        }
        // Read first: a change meanwhile is saved with the next call.
        let changes = service.edited_changes();
        if !all && saved.changes == Some(changes) {
            return true;
        }
        let content = Content { store: self.store.clone(), edited: service.edited_cards() };
        if saved.content.as_ref() == Some(&content) {
            saved.changes = Some(changes);
            return true;
        }
        match self.home.replace(&path(&self.home), &content) {
            Ok(()) => {
                self.date(saved.beat);
                (saved.changes, saved.content) = (Some(changes), Some(content));
            }
            Err(error) => tracing::warn!(%error, "could not save which conversations are edited"),
        }
        true
    }
}
