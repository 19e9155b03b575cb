//! The conversations of the people who share a daemon: a store and a folder for each, and the log of the team.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::edit::handle::Handles;
use ctx_engine::ports::About;
use ctx_engine::{Moments, Refusal};
use ctx_models::Models;
use ctx_server::OpenService;
use ctx_service::Service;
use ctx_service::automatic::Editor;
use ctx_store::{Owner, StoreError};
use ctx_team::{Entry, Registry, TeamError};

use crate::config::LiveRules;
use crate::edited_cards;
use crate::env::Environment;
use crate::failure::Failure;
use crate::home::Home;
use crate::open_store::OpenStore;

/// The owner of the team's log. -1, as the database counts, is taken.
const LOG: Owner = Owner(u32::MAX - 1);
/// The log as this daemon last knew it, for a start while the database is out of reach. It has hashes of keys.
const SAVED: &str = "people.json";
const REFRESH: Duration = Duration::from_secs(2);

pub struct Desks {
    pub store: OpenStore,
    pub home: Home,
    pub environment: Environment,
    pub moments: Moments,
    pub models: Models,
    /// Without the files of projects: those are on the machines of people.
    pub rules: Arc<LiveRules>,
    pub upstream: String,
    /// How agents read offloaded content.
    pub handles: Handles,
}

impl Desks {
    /// The folder of a person, or of the log.
    fn folder(&self, name: &str) -> Result<Home, Failure> {
        let folder = Home::find(Some(&self.home.path().join("people").join(name)), &self.environment)?;
        folder.prepare()?;
        Ok(folder)
    }

    fn saved(&self) -> PathBuf {
        self.home.path().join(SAVED)
    }

    /// The people and their keys.
    pub fn registry(&self, note: impl Fn(&str)) -> Result<Arc<Registry>, Failure> {
        let folder = self.folder("log")?;
        let store = self.store.of(LOG, folder.path())?;
        let saved = fs::read(self.saved()).ok().and_then(|text| serde_json::from_slice::<Vec<Entry>>(&text).ok());
        let registry = match (Registry::open(store.clone()), saved) {
            (Err(TeamError::Store(error)), Some(saved)) if error.is_temporary() => {
                note("the people and keys are those that this daemon knew last");
                Registry::open_away(store, saved)
            }
            (opened, _) => opened.map_err(|error| match error {
                TeamError::Store(error) => Failure::from(error),
                TeamError::Refused { code, message, hint } => Failure::new(code, message).hint(hint),
            })?,
        };
        let registry = Arc::new(registry);
        if self.store.is_shared() {
            self.keep(&registry);
        }
        Ok(registry)
    }

    /// Saves the log now and whenever it changes, until the registry ends.
    fn keep(&self, registry: &Arc<Registry>) {
        let (home, path, registry) = (self.home.clone(), self.saved(), Arc::downgrade(registry));
        let mut saved = None;
        let mut save = move || {
            let Some(registry) = registry.upgrade() else { return false };
            let state = registry.state();
            let last = state.entries().last().map(|entry| entry.seq);
            if saved != Some(last) {
                match home.replace(&path, &state.entries()) {
                    Ok(()) => saved = Some(last),
                    Err(error) => tracing::warn!(%error, "could not save the people and keys"),
                }
            }
            true
        };
        save();
        let thread = std::thread::Builder::new().name("ctx-people".into()).spawn(move || {
            while save() {
                std::thread::sleep(REFRESH);
            }
        });
        if let Err(error) = thread {
            tracing::warn!(%error, "cannot start a thread; the file of people and keys will be outdated");
        }
    }

    fn service(&self, person: u32) -> Result<(Home, Service), Failure> {
        let folder = self.folder(&person.to_string())?;
        let store = self.store.of(Owner(person), folder.path())?;
        let place = self.store.place().display().to_string();
        let service = match (Service::open(store.clone()), edited_cards::read(&folder, &place)) {
            (Err(error @ StoreError::Unavailable { .. }), Some(edited)) => {
                tracing::warn!(%error, person, "opened without the database");
                Service::open_away(store, edited)
            }
            (opened, _) => opened?,
        };
        Ok((folder, service))
    }
}

impl OpenService for Desks {
    fn open(&self, person: u32) -> Result<Arc<Service>, Refusal> {
        let (folder, service) = self.service(person).map_err(|failure| {
            tracing::warn!(error = %failure.message, person, "cannot open the conversations of a person");
            let hint = hint!["Try again in a moment; ", Command::Doctor, " checks the store."];
            Refusal::new(ErrorCode::Store, format!("The store cannot be opened: {}.", failure.message), hint)
        })?;
        let service = service.keeping_in_store(self.handles).with_moments(self.moments);
        let service = service.with_models(self.models.clone()).with_provider(self.rules.clone(), &self.upstream);
        let service = Arc::new(service);
        if self.store.is_shared() {
            edited_cards::keep(&folder, self.store.place().display().to_string(), &service);
        }
        let asking = Arc::downgrade(&service);
        let provider = move |about: &About<'_>| asking.upgrade().is_some_and(|service| service.provider_edits(about));
        let editor = Editor::in_store(self.rules.clone(), self.handles, Box::new(provider));
        service.automate(Some(Arc::new(editor)));
        Ok(service)
    }
}
