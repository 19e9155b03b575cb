//! The stores of one place by owner: the operator's, and in a team each person's and the log. A home has a file for each,
//! a database has all in the same tables.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_store::{
    Finding, FindingKind, Health, Owner, PostgresAddress, PostgresStore, Progress, Reader, SqliteStore, Store,
    StoreError,
};
use ctx_team::{State, read_log};

use crate::failure::Failure;
use crate::output::words;

/// The owner of the team's log. -1, as the database counts, is taken.
pub const LOG: Owner = Owner(u32::MAX - 1);
/// The folder of a home that has the folders of people.
pub const PEOPLE: &str = "people";

/// The folder of an owner's store in a home.
pub fn folder(home: &Path, owner: Owner) -> PathBuf {
    match owner {
        Owner::SOLE => home.to_owned(),
        LOG => home.join(PEOPLE).join("log"),
        Owner(person) => home.join(PEOPLE).join(person.to_string()),
    }
}

/// All stores of a home or a database.
pub enum Stores {
    Home(PathBuf),
    Database(PostgresStore),
}

/// The result of checking all stores of a place.
pub struct StoresHealth {
    /// The sum. The log is no conversation of anybody and counts as none.
    pub health: Health,
    /// The number of people with a store; `None` without a team.
    pub people: Option<u64>,
}

impl Stores {
    pub fn open(home: &Path, database: Option<&PostgresAddress>) -> Result<Self, StoreError> {
        Ok(match database {
            Some(address) => Self::Database(PostgresStore::open(address)?),
            None => Self::Home(home.to_owned()),
        })
    }

    /// The operator first, then people, then the log, if there is one.
    pub fn owners(&self) -> Result<Vec<Owner>, StoreError> {
        let mut owners = match self {
            Self::Home(home) => in_folders(home)?,
            Self::Database(store) => store.owners()?,
        };
        owners.push(Owner::SOLE);
        owners.sort_unstable();
        owners.dedup();
        Ok(owners)
    }

    pub fn reader(&self, owner: Owner) -> Result<Box<dyn Reader>, StoreError> {
        Ok(match self {
            Self::Home(home) => Box::new(SqliteStore::open_reader(&folder(home, owner))?),
            Self::Database(store) => Box::new(store.of(owner)),
        })
    }

    /// The operator's store locks a home, so open it first and keep it.
    pub fn store(&self, owner: Owner) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::Home(home) => Arc::new(SqliteStore::open(&folder(home, owner))?),
            Self::Database(store) => Arc::new(store.of(owner)),
        })
    }

    /// The people; nobody without a log. A damaged log is an error.
    pub fn team(&self) -> Result<State, Failure> {
        match self.owners()?.contains(&LOG) {
            true => Ok(read_log(&*self.reader(LOG)?)?),
            false => Ok(State::default()),
        }
    }

    /// Checks every store. Findings in a team name the owner.
    pub fn check(&self, progress: &Progress) -> Result<StoresHealth, StoreError> {
        let owners = self.owners()?;
        if owners == [Owner::SOLE] {
            return Ok(StoresHealth { health: self.reader(Owner::SOLE)?.check_with(progress)?, people: None });
        }
        let team = self.team();
        let mut sum = Health::default();
        if team.as_ref().is_ok_and(|team| team.entries().is_empty()) && owners.iter().any(is_person) {
            let sentence = "there are conversations of people, but nobody is in the team's log".to_owned();
            sum.findings.push(Finding { kind: FindingKind::LostRecords, sentence, advice: LOG_ADVICE });
        }
        let team = team.unwrap_or_default();
        for owner in &owners {
            let checked = self.reader(*owner).and_then(|reader| reader.check_with(progress));
            let health = match checked {
                Ok(health) => health,
                Err(error) if error.is_temporary() => return Err(error),
                Err(StoreError::Absent { .. }) if *owner == Owner::SOLE && !self.had_commits(*owner) => continue,
                Err(error) => Health { findings: vec![unreadable(error)], ..Health::default() },
            };
            self.add(&mut sum, health, *owner, &team);
        }
        Ok(StoresHealth { health: sum, people: Some(owners.iter().filter(|owner| is_person(owner)).count() as u64) })
    }

    fn had_commits(&self, owner: Owner) -> bool {
        matches!(self, Self::Home(home) if SqliteStore::had_commits(&folder(home, owner)))
    }

    fn add(&self, sum: &mut Health, health: Health, owner: Owner, team: &State) {
        let Health { findings, mut counts, size, schema } = health;
        if owner == LOG {
            counts.conversations = 0;
        }
        sum.counts += counts;
        sum.schema = sum.schema.max(schema);
        sum.size.records += size.records;
        sum.size.blobs += size.blobs;
        match self {
            Self::Home(_) => {
                sum.size.database_bytes += size.database_bytes;
                sum.size.waiting_bytes += size.waiting_bytes;
            }
            // Each owner's health has the size of the whole database.
            Self::Database(_) => sum.size.database_bytes = size.database_bytes,
        }
        for mut finding in findings {
            if matches!(finding.kind, FindingKind::ServerSettings | FindingKind::NoReaderRole) {
                // Of the whole database.
                if !sum.findings.contains(&finding) {
                    sum.findings.push(finding);
                }
                continue;
            }
            finding.sentence = format!("{}: {}", in_words(owner, team), finding.sentence);
            if owner == LOG && finding.is_damage() && finding.kind != FindingKind::DamagedNotes {
                finding.advice = LOG_ADVICE;
            }
            sum.findings.push(finding);
        }
    }
}

const LOG_ADVICE: &str = "the daemon does not start with a damaged log, because it may have revoked a key; restore it \
                          from a backup";

/// The people with a store in this home, and the log.
fn in_folders(home: &Path) -> Result<Vec<Owner>, StoreError> {
    let people = home.join(PEOPLE);
    let failed = |source| StoreError::File { doing: "look into", path: people.clone(), source };
    let entries = match fs::read_dir(&people) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut owners = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let owner = match name.to_str() {
            Some("log") => Some(LOG),
            name => name.and_then(|name| name.parse().ok()).map(Owner).filter(is_person),
        };
        // Beside a database, a person's folder has no store.
        owners.extend(owner.filter(|owner| {
            let folder = folder(home, *owner);
            folder.join("ctx.db").exists() || SqliteStore::had_commits(&folder)
        }));
    }
    Ok(owners)
}

pub fn is_person(owner: &Owner) -> bool {
    *owner != Owner::SOLE && *owner != LOG
}

/// The owner of a store for people: `anna (person 1)`. The number is in the folder's name and in the database.
pub fn in_words(owner: Owner, team: &State) -> String {
    match owner {
        LOG => "the team's log".to_owned(),
        Owner::SOLE => "the operator".to_owned(),
        Owner(person) if team.everyone().contains(&person) => format!("{} (person {person})", team.name_of(person)),
        Owner(person) => format!("person {person}"),
    }
}

/// ` of 2 people and the team's log`; nothing without a team.
pub fn of_people(people: Option<u64>) -> String {
    people.map_or_else(String::new, |people| {
        format!(" of {} and the team's log", words::number_of(people, "person", "people"))
    })
}

/// A store that cannot be opened hides no other one.
fn unreadable(error: StoreError) -> Finding {
    let (kind, advice) = match &error {
        StoreError::Absent { .. } => (FindingKind::LostRecords, "it contained edits; restore the file from a backup"),
        _ => (FindingKind::DamagedFile, error.hint()),
    };
    Finding { kind, sentence: Failure::from(error).message, advice }
}
