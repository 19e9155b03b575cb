//! Opens the store of a daemon: the file in its home, or a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_store::{FolderLock, Owner, PostgresAddress, PostgresStore, Reader, SqliteStore, Store, StoreError};

use ctx_engine::card::Card;
use ctx_service::Service;

use crate::edited_cards;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::words;

/// An open store.
#[derive(Clone)]
pub enum OpenStore {
    File(Arc<SqliteStore>),
    Database {
        store: Arc<PostgresStore>,
        /// The edited conversations as far as known, if the database was out of reach.
        edited: Option<Vec<Card>>,
        home: Home,
        /// Keeps other daemons out of the home.
        _lock: Arc<FolderLock>,
    },
}

impl OpenStore {
    /// `team`: it has the conversations of several people. `note` gets remarks for people.
    pub fn open(
        home: &Home,
        database: Option<&PostgresAddress>,
        team: bool,
        note: impl Fn(&str),
    ) -> Result<Self, Failure> {
        let opened = match database {
            Some(address) => FolderLock::take(home.path()).and_then(|lock| {
                let (name, lock) = (replica_name(home), Arc::new(lock));
                let joined = PostgresStore::open(address).and_then(|store| match team {
                    true => store.join_for_several(&name),
                    false => store.join(&name),
                });
                let later = || match team {
                    true => PostgresStore::join_later_for_several(address, &name),
                    false => PostgresStore::join_later(address, &name),
                };
                let saved = edited_cards::read(home, &address.to_string()).filter(|_| edited_cards::are_current(home));
                let (store, edited) = match (joined, saved) {
                    (Err(error @ StoreError::Unavailable { .. }), Some(edited)) => {
                        note(&format!("{error}; starting without it: {}", without_database(edited.len())));
                        (later()?, Some(edited))
                    }
                    (joined, _) => {
                        let store = joined?;
                        edited_cards::forget(home.path());
                        edited_cards::forget_people(home.path());
                        edited_cards::note_return(home);
                        (store, None)
                    }
                };
                Ok(Self::Database { store: Arc::new(store), edited, home: home.clone(), _lock: lock })
            }),
            None => SqliteStore::open(home.path()).map(|store| Self::File(Arc::new(store))),
        };
        let opened = opened.map_err(|error| explain(error, home))?;
        match &opened {
            Self::File(store) => note_findings(store, note),
            Self::Database { store, .. } if home.has_store() => note(&format!(
                "conversations are stored in {}; those in {} are not shown: `ctx store copy` copies them",
                store.address(),
                home.path().display()
            )),
            Self::Database { .. } => {}
        }
        Ok(opened)
    }

    /// Opens the service on it.
    pub fn service(&self) -> Result<Service, StoreError> {
        match self {
            Self::Database { store, edited: Some(edited), .. } => Ok(Service::open_away(store.clone(), edited.clone())),
            Self::Database { store, .. } => Service::open_early(store.clone()),
            Self::File(store) => Service::open(store.clone()),
        }
    }

    /// The store of a person, or of the team's log. `folder` is theirs, in the home.
    pub fn of(&self, owner: Owner, folder: &Path) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::File(_) => Arc::new(SqliteStore::open(folder)?),
            Self::Database { store, .. } => Arc::new(store.of(owner)),
        })
    }

    /// Whether other daemons may use it at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Database { .. })
    }

    pub fn shared(&self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => store.clone(),
            Self::Database { store, .. } => store.clone(),
        }
    }

    /// The file or the address, to be shown.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::File(store) => store.path().to_owned(),
            Self::Database { store, .. } => PathBuf::from(store.address().to_string()),
        }
    }

    /// At the end of a process: moves everything into the main file, or takes leave of the other daemons.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        match self {
            Self::File(store) => store.checkpoint(),
            Self::Database { store, home, .. } => {
                // In this order: without the note, a start without the database would trust what it knew.
                if let Some(replica) = store.replica().filter(|_| edited_cards::note_leave(home))
                    && !replica.leave()
                {
                    edited_cards::note_return(home);
                }
                Ok(())
            }
        }
    }
}

fn without_database(edited: usize) -> String {
    match edited {
        0 => "no conversation is edited, so all requests pass".to_owned(),
        count => format!(
            "requests of {} are refused until it is back, all others pass",
            words::plural(count as u64, "edited conversation")
        ),
    }
}

/// The name of this daemon for people and for the other daemons. It stays the same after a restart.
fn replica_name(home: &Home) -> String {
    format!("{}:{}", machine(), home.path().display())
}

#[cfg(unix)]
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".to_owned())
}

fn note_findings(store: &SqliteStore, note: impl Fn(&str)) {
    let opened = store.opened();
    if let Some(aside) = &opened.moved_aside {
        note(&format!("the store was damaged; moved it to {} and created a new one", aside.display()));
    }
    if let Some(lost) = &opened.lost {
        let (first, last) = (lost.start, lost.end - 1);
        note(&format!(
            "records {first} to {last} of the store were acknowledged and are missing; `ctx doctor` has details"
        ));
    }
    for path in &opened.fixed_permissions {
        note(&format!("others could read {}; fixed", path.display()));
    }
}

/// If the store is in use, names the daemon that uses it.
fn explain(error: StoreError, home: &Home) -> Failure {
    let in_use = matches!(error, StoreError::InUse { .. });
    let failure = Failure::from(error);
    match home.notice() {
        Some(notice) if in_use => {
            failure.hint(format!("it listens on {}; use it, or stop it with `ctx stop`", notice.listen))
        }
        _ => failure,
    }
}

/// A store for reading: the file in a folder, with or without a running daemon, or a database.
pub fn reader(folder: &Path, database: Option<&PostgresAddress>) -> Result<Box<dyn Reader>, StoreError> {
    Ok(match database {
        Some(address) => Box::new(PostgresStore::open(address)?),
        None => Box::new(SqliteStore::open_reader(folder)?),
    })
}
