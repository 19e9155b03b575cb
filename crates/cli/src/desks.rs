//! The conversations of the people who share a daemon: a store and a folder for each, and the log of the team.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

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

use crate::config::{LiveRules, WaitlessRules};
use crate::edited_cards;
use crate::env::Environment;
use crate::failure::Failure;
use crate::home::Home;
use crate::open_store::OpenStore;
use crate::owners::{self, LOG};

/// The log as this daemon last knew it, for a start while the database is out of reach. It has hashes of keys.
const SAVED: &str = "people.json";

pub struct Desks {
    pub store: OpenStore,
    pub home: Home,
    pub environment: Environment,
    pub moments: Moments,
    pub models: Models,
    /// Without the files of projects: those are on the machines of people.
    pub rules: Arc<WaitlessRules<LiveRules>>,
    pub upstream: String,
    /// How agents read offloaded content.
    pub handles: Handles,
}

impl Desks {
    /// The folder of a person, or of the log.
    fn folder(&self, owner: Owner) -> Result<Home, Failure> {
        let folder = Home::find(Some(&owners::folder(self.home.path(), owner)), &self.environment)?;
        folder.prepare()?;
        Ok(folder)
    }

    /// From now on forgets the files of edited conversations of people whose desks are closed here when they are edited.
    /// Then a desk that is opened while the database is away is refused instead of serving without an edit.
    pub fn forget_outdated(&self) {
        let OpenStore::Database { store, .. } = &self.store else { return };
        let place = self.store.place().display().to_string();
        let (home, environment) = (self.home.path().to_owned(), self.environment.clone());
        store.on_unserved(move |owner, ids| match owner {
            None => edited_cards::forget_people(&home),
            Some(owner) => {
                let folder = Home::find(Some(&owners::folder(&home, owner)), &environment);
                let outdated = folder.iter().filter(|folder| !edited_cards::has(folder, &place, ids));
                outdated.for_each(|folder| edited_cards::forget(folder.path()));
            }
        });
    }

    fn saved(&self) -> PathBuf {
        self.home.path().join(SAVED)
    }

    /// The people and their keys.
    pub fn registry(&self, note: impl Fn(&str)) -> Result<Arc<Registry>, Failure> {
        let folder = self.folder(LOG)?;
        let store = self.store.of(LOG, folder.path())?;
        let saved = fs::read(self.saved()).ok().and_then(|text| serde_json::from_slice::<Vec<Entry>>(&text).ok());
        let registry = match (Registry::open(store.clone()), saved) {
            (Err(TeamError::Store(error)), Some(saved)) if error.is_temporary() => {
                note("the people and keys are those that this daemon knew last");
                Registry::open_away(store, saved)
            }
            (opened, _) => opened?,
        };
        let registry = Arc::new(registry);
        if self.store.is_shared() {
            self.keep(&registry);
            self.forget_outdated();
        }
        Ok(registry)
    }

    /// Saves the log now, and whenever it changes before anyone is told of the change, so that a key that was revoked
    /// stays so if this daemon is killed and starts while the database is away.
    fn keep(&self, registry: &Arc<Registry>) {
        let (home, path) = (self.home.clone(), self.saved());
        registry.before_confirming(move |state| {
            if let Err(error) = home.replace(&path, &state.entries()) {
                tracing::warn!(%error, "could not save the people and keys");
            }
        });
    }

    fn service(&self, person: u32) -> Result<(Home, Service), Failure> {
        let folder = self.folder(Owner(person))?;
        let store = self.store.of(Owner(person), folder.path())?;
        let place = self.store.place().display().to_string();
        // After too long, edits were made that no longer name this daemon.
        let is_current = !store.replica().is_some_and(|replica| replica.is_outdated());
        let saved = || edited_cards::read(&folder, &place).filter(|_| is_current);
        let opened = match self.store.is_shared() {
            true => Service::open_early(store.clone()),
            false => Service::open(store.clone()),
        };
        let service = match (opened, saved()) {
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
