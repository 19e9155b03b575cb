//! The log of a team in a store, and the state in memory that requests are checked against. No request waits for the
//! store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctx_store::{Absent, AppendOutcome, Expectation, NewRecord, Note, Reader, Replica, Step, Store, StoreError};

use crate::error::TeamError;
use crate::event::{Entry, Event, KIND, VERSION};
use crate::key;
use crate::model::{Actor, Key, Person};
use crate::oidc;
use crate::scope::Scopes;
use crate::state::State;

/// The conversation of the log, in a store of its own.
pub(crate) const LOG: &str = "team";
/// The note with the times at which keys were used.
const USED: &str = "used";
const MINUTE: u64 = 60_000;
/// The interval between two writes of those times.
const SAVE: Duration = Duration::from_secs(60);
/// The longest pause between two looks at the changes of other daemons. A notification ends it.
const BEAT: Duration = Duration::from_millis(250);
const RETRY: Duration = Duration::from_millis(100);
/// Attempts at a change that conflicts with those of other daemons.
const TRIES: usize = 5;

type Keep = Box<dyn Fn(&State) + Send + Sync>;

pub struct Registry {
    store: Arc<dyn Store>,
    replica: Option<Arc<dyn Replica>>,
    state: RwLock<Arc<State>>,
    /// Serialises changes.
    changing: Mutex<()>,
    /// Keeps the log beyond the store.
    keeper: OnceLock<Mutex<Keep>>,
    /// When each key was last used, by its id.
    used: RwLock<HashMap<String, Arc<AtomicU64>>>,
}

/// The person of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub person: Arc<Person>,
    /// The key's id; empty if the identity provider named the person.
    pub key: String,
    /// The key's scopes; all without a key.
    pub scopes: Scopes,
    /// The key's end.
    pub expires_at: Option<u64>,
    /// The identity provider named the person, now or when the key was made.
    pub by_account: bool,
}

impl Identity {
    /// A person whom the identity provider named.
    pub fn without_key(person: Arc<Person>) -> Identity {
        Identity { person, key: String::new(), scopes: Scopes::ALL, expires_at: None, by_account: true }
    }

    pub fn actor(&self) -> Actor {
        let (id, role) = (self.person.id, self.person.role);
        Actor { id, role, scopes: self.scopes, expires_at: self.expires_at, by_account: self.by_account }
    }
}

/// The outcome of looking a key up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    Known(Identity),
    Unknown,
    /// Unknown here, and the store cannot tell at the moment.
    OutOfReach,
}

/// A stored change.
#[derive(Debug)]
pub struct StoredChange<T> {
    pub value: T,
    /// Daemons that may not know it yet.
    pub warnings: Vec<String>,
}

impl Registry {
    pub fn open(store: Arc<dyn Store>) -> Result<Registry, TeamError> {
        let state = read_log(&*store)?;
        let registry = Self::of(store, state);
        registry.read_used();
        Ok(registry)
    }

    /// Opens it while the store is out of reach, with what an earlier daemon saved of it.
    pub fn open_away(store: Arc<dyn Store>, saved: Vec<Entry>) -> Registry {
        Self::of(store, State::of(saved))
    }

    fn of(store: Arc<dyn Store>, state: State) -> Registry {
        let replica = store.replica();
        Registry {
            store,
            replica,
            state: RwLock::new(Arc::new(state)),
            changing: Mutex::default(),
            keeper: OnceLock::new(),
            used: RwLock::default(),
        }
    }

    /// Calls `keep` with the state now, and with each new one before anyone is told of the change. Only the first one
    /// counts.
    pub fn before_confirming(&self, keep: impl Fn(&State) + Send + Sync + 'static) {
        keep(&self.state());
        let _ = self.keeper.set(Mutex::new(Box::new(keep)));
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The newest state known here.
    pub fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks a key up in memory.
    pub fn recognise(&self, text: &[u8]) -> Recognition {
        self.recognise_by(|state, now| state.holder(&key::hash(text), now))
    }

    /// Looks up the key with which a session of the page began.
    pub fn recognise_session(&self, session: &str, key: &str) -> Recognition {
        self.recognise_by(|state, now| state.holder_of(key, now).filter(|_| !state.is_ended(session)))
    }

    /// Looks up the person of a session that began at the identity provider, after so many times at which their account
    /// was unlinked.
    pub fn recognise_signed_in(&self, session: &str, person: u32, unlinks: u64) -> Recognition {
        if self.is_outdated() {
            return Recognition::OutOfReach;
        }
        let state = self.state();
        let is_valid = !state.is_ended(session) && state.unlinks(person) == unlinks;
        match state.person(person).filter(|_| is_valid) {
            Some(person) => Recognition::Known(Identity::without_key(person.clone())),
            None if self.is_away() => Recognition::OutOfReach,
            None => Recognition::Unknown,
        }
    }

    /// The person of an account at the identity provider. Stores what is still missing for that, step by step; usually
    /// nothing.
    pub fn admit(&self, next: impl Fn(&State) -> Result<oidc::Step, TeamError>) -> Result<Identity, TeamError> {
        if self.is_outdated() {
            return Err(StoreError::Unavailable { why: "it has been away for too long", source: None }.into());
        }
        if let oidc::Step::Known(person) = next(&self.state())? {
            return Ok(Identity::without_key(person));
        }
        let _one_at_a_time = lock(&self.changing);
        for _ in 0..2 * TRIES {
            let state = self.state();
            match next(&state)? {
                oidc::Step::Known(person) => {
                    self.confirm();
                    return Ok(Identity::without_key(person));
                }
                oidc::Step::Change { by, event } => self.append(&state, by, event)?,
            };
        }
        Err(StoreError::Slow.into())
    }

    fn recognise_by(&self, find: impl Fn(&State, u64) -> Option<(&Arc<Key>, &Arc<Person>)>) -> Recognition {
        if self.is_outdated() {
            return Recognition::OutOfReach;
        }
        let (state, now) = (self.state(), now());
        let Some((key, person)) = find(&state, now) else {
            return if self.is_away() { Recognition::OutOfReach } else { Recognition::Unknown };
        };
        // Never before it was made.
        self.note_use(&key.id, (now / MINUTE * MINUTE).max(key.made_at));
        Recognition::Known(Identity {
            person: person.clone(),
            key: key.id.clone(),
            scopes: key.scopes,
            expires_at: key.expires_at,
            by_account: key.by_account,
        })
    }

    /// Whether the store is out of reach, so that keys may exist that are unknown here.
    pub fn is_away(&self) -> bool {
        self.replica.as_ref().is_some_and(|replica| replica.presence().away.is_some())
    }

    /// Whether the store has been out of reach for so long that keys may have been revoked meanwhile.
    fn is_outdated(&self) -> bool {
        self.replica.as_ref().is_some_and(|replica| replica.is_outdated())
    }

    /// When a key was last used, by the minute.
    pub fn last_used(&self, key: &str) -> Option<u64> {
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        used.get(key).map(|at| at.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    fn note_use(&self, key: &str, minute: u64) {
        if let Some(at) = self.used.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            at.fetch_max(minute, Ordering::Relaxed);
            return;
        }
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        used.entry(key.to_owned()).or_default().fetch_max(minute, Ordering::Relaxed);
    }

    /// Makes a change: `decide` gets the newest state, and is asked again if another daemon was faster.
    pub fn change<T>(
        &self,
        by: &Actor,
        decide: impl Fn(&State) -> Result<(Event, T), TeamError>,
    ) -> Result<StoredChange<T>, TeamError> {
        let _one_at_a_time = lock(&self.changing);
        for _ in 0..TRIES {
            let state = self.state();
            let (event, value) = decide(&state)?;
            if self.append(&state, by.id, event)? {
                return Ok(StoredChange { value, warnings: self.confirm() });
            }
        }
        Err(StoreError::Slow.into())
    }

    /// Whether the event follows this state. If not, another daemon was faster, and the newest state is read.
    fn append(&self, state: &State, by: u32, event: Event) -> Result<bool, TeamError> {
        let entry = Entry { seq: 0, at: now(), by, event };
        let body = serde_json::to_vec(&entry).unwrap_or_default();
        let record = NewRecord {
            conversation: LOG.to_owned(),
            at: entry.at,
            kind: KIND.to_owned(),
            version: VERSION,
            uses: Vec::new(),
            body,
        };
        let step = Step {
            records: vec![record],
            expect: Some(Expectation { conversation: LOG.to_owned(), version: state.version }),
            durable: true,
            is_announced: true,
            ..Step::default()
        };
        match self.store.append(vec![step])?.pop() {
            Some(AppendOutcome::Stored { numbers }) => {
                let seq = numbers.last().copied().unwrap_or_default();
                let mut newer = state.clone();
                newer.take(Entry { seq, ..entry });
                self.publish(newer);
                Ok(true)
            }
            Some(AppendOutcome::Conflict { .. }) | None => self.reload().map(|()| false),
        }
    }

    fn publish(&self, newer: State) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if newer.version < state.version {
            return;
        }
        let is_new = newer.version > state.version;
        *state = Arc::new(newer);
        drop(state);
        if is_new {
            // One after the other, so that the newest is the last.
            self.keeper.get().iter().for_each(|keep| lock(keep)(&self.state()));
        }
    }

    /// Reads the log again.
    pub fn reload(&self) -> Result<(), TeamError> {
        self.publish(read_log(&*self.store)?);
        Ok(())
    }

    /// Waits until the other daemons know the newest change.
    fn confirm(&self) -> Vec<String> {
        let Some(replica) = &self.replica else { return Vec::new() };
        match replica.await_others(LOG) {
            Ok(absent) => absent.iter().map(in_words).collect(),
            Err(error) => vec![format!("The change is stored, but other daemons may not know it yet: {error}.")],
        }
    }

    /// Starts to follow the changes of other daemons, and to save when keys were used, until the registry is dropped.
    pub fn follow(self: &Arc<Self>) -> std::io::Result<()> {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let weak = Arc::downgrade(self);
        thread("ctx-keys").spawn(move || {
            loop {
                std::thread::sleep(SAVE);
                let Some(registry) = weak.upgrade() else { return };
                registry.save_used();
            }
        })?;
        let Some(replica) = self.replica.clone() else { return Ok(()) };
        let weak = Arc::downgrade(self);
        thread("ctx-team").spawn(move || {
            loop {
                let news = replica.poll(BEAT);
                let Some(registry) = weak.upgrade() else { return };
                let taken = news.map_err(TeamError::from).and_then(|news| {
                    if news.is_incomplete || !news.edited.is_empty() || !news.grown.is_empty() {
                        registry.reload()?;
                    }
                    Ok(replica.beat()?)
                });
                if let Err(error) = taken {
                    tracing::debug!(%error, "the changes of the team cannot be followed");
                    std::thread::sleep(RETRY);
                }
            }
        })?;
        Ok(())
    }

    fn read_used(&self) {
        let note = self.store.note(LOG, USED).ok().flatten();
        let saved: HashMap<String, u64> = note.and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
        saved.iter().for_each(|(key, minute)| self.note_use(key, *minute));
    }

    /// Saves when keys were used. Several daemons write the same note: each first takes what the others wrote.
    pub fn save_used(&self) {
        self.read_used();
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        let times: HashMap<&str, u64> =
            used.iter().map(|(key, at)| (key.as_str(), at.load(Ordering::Relaxed))).collect();
        if times.is_empty() {
            return;
        }
        let body = serde_json::to_vec(&times).ok();
        drop(used);
        let note = Note { conversation: LOG.to_owned(), name: USED.to_owned(), body };
        if let Err(error) = self.store.append(vec![Step { notes: vec![note], ..Step::default() }]) {
            tracing::debug!(%error, "cannot save when keys were used");
        }
    }
}

/// The log as stored. A damaged entry may be a revoked key, so it is an error; an event of a newer version is skipped,
/// because newer versions only add.
pub fn read_log(store: &dyn Reader) -> Result<State, TeamError> {
    let found = store.records(LOG, 0)?;
    if let Some(damaged) = found.skipped.first() {
        let what = format!("entry {} of the log of people cannot be read", damaged.seq);
        return Err(StoreError::Damaged(what.into()).into());
    }
    let mut state = State::default();
    for record in &found.records {
        match Entry::of(record) {
            Some(entry) => state.take(entry),
            None => {
                tracing::warn!(seq = record.seq, "skipped an entry of the log of people that a newer version wrote")
            }
        }
        state.version = state.version.max(record.seq);
    }
    Ok(state)
}

fn in_words(Absent { name, silent }: &Absent) -> String {
    let seconds = silent.as_secs_f64();
    format!(
        "The daemon {name} has not been heard of for {seconds:.0} s. If it still runs, it may not know this change."
    )
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyText;
    use crate::model::Role;
    use crate::state::NewKey;
    use ctx_store::MemoryStore;
    use std::collections::BTreeSet;

    fn add(registry: &Registry, name: &str) -> u32 {
        let added = registry.change(&Actor::OPERATOR, |state| {
            let event = state.add_person(&Actor::OPERATOR, name, Role::Member, BTreeSet::new())?;
            let Event::PersonAdded { person, .. } = event else { unreachable!() };
            Ok((event, person))
        });
        added.expect("added").value
    }

    #[test]
    fn a_person_and_their_key_survive_a_restart_and_the_key_is_not_in_the_store() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let registry = Registry::open(store.clone()).expect("open");
        let (person, text) = (add(&registry, "anna"), KeyText::generate().expect("random"));
        let actor = Actor { id: person, role: Role::Member, ..Actor::OPERATOR };
        let made =
            registry.change(&actor, |state| Ok((state.make_key(&actor, person, &text, &NewKey::default())?, ())));
        assert!(made.expect("made").warnings.is_empty());
        let Recognition::Known(identity) = registry.recognise(text.expose_secret().as_bytes()) else {
            panic!("known");
        };
        registry.save_used();
        let again = Registry::open(store.clone()).expect("open");
        assert_eq!(again.recognise(text.expose_secret().as_bytes()), Recognition::Known(identity.clone()));
        let made_at = again.state().keys().next().expect("a key").made_at;
        assert_eq!(again.last_used(&identity.key), Some(made_at), "by the minute, but not before it was made");
        assert_eq!(again.recognise(b"ctxk_other"), Recognition::Unknown);
        let log = store.log(0, 100).expect("a log");
        let secret = &text.expose_secret()[12..];
        assert!(log.records.iter().all(|record| !String::from_utf8_lossy(&record.body).contains(secret)));
    }

    #[test]
    fn two_daemons_that_add_at_once_give_two_numbers() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let (one, other) = (Registry::open(store.clone()).unwrap(), Registry::open(store).unwrap());
        assert_eq!((add(&one, "anna"), add(&other, "bob"), add(&one, "carl")), (1, 2, 3));
        one.reload().unwrap();
        assert_eq!(one.state().people().count(), 3);
    }
}
