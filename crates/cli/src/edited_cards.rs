//! The file with the edited conversations of a shared store, for a start while the database is out of reach. It contains
//! ids and hashes, no content.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ctx_engine::card::Card;
use ctx_service::Service;
use serde::{Deserialize, Serialize};

use crate::home::Home;

const FILE: &str = "edited.json";

/// The interval between two looks for a change.
const REFRESH: Duration = Duration::from_secs(5);

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

/// Saves the cards now, and whenever they change, until the service ends.
pub fn keep(home: &Home, store: String, service: &Arc<Service>) {
    let (home, service) = (home.clone(), Arc::downgrade(service));
    let mut saved = None;
    let mut save = move || {
        let Some(service) = service.upgrade() else { return false };
        let content = Content { store: store.clone(), edited: service.edited_cards() };
        if saved.as_ref() != Some(&content) {
            match home.replace(&path(&home), &content) {
                Ok(()) => saved = Some(content),
                Err(error) => tracing::warn!(%error, "could not save which conversations are edited"),
            }
        }
        true
    };
    save();
    let thread = std::thread::Builder::new().name("ctx-edited".into());
    let started = thread.spawn(move || {
        while save() {
            std::thread::sleep(REFRESH);
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "cannot start a thread; the file of edited conversations will be outdated");
    }
}
