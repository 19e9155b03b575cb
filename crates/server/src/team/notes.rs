//! Entries of the audit log that people cause as often as they like: sign-ins, exports and purges. Every entry is a
//! durable write, and changes such as a revocation wait for the writes before them. So the first entry is written at
//! once, and repetitions together, once a minute. Those that still wait when the daemon stops are lost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ctx_team::{Actor, Event, Registry};
use tokio::runtime::Handle;

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) struct AuditNotes {
    pause: Duration,
    /// How many of each kind wait for their next entry, by person.
    waiting: Mutex<HashMap<(u32, Note), u64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Note {
    /// The person signed in on the page with this.
    SignedIn { with: String },
    /// Conversations of this owner were exported or deleted.
    Taken { owner: u32, action: &'static str },
}

impl Note {
    fn event(&self, person: u32, count: u64) -> Event {
        match self {
            Self::SignedIn { with } => Event::SignedIn { person, with: with.clone() },
            Self::Taken { owner, action } => {
                Event::Taken { owner: *owner, action: (*action).to_owned(), conversations: count }
            }
        }
    }
}

impl Default for AuditNotes {
    fn default() -> Self {
        Self { pause: MINUTE, waiting: Mutex::default() }
    }
}

impl AuditNotes {
    /// Enters `count` of these behind the answer: people sign in while the database is away, too.
    pub(crate) fn enter(
        self: &Arc<Self>,
        (registry, runtime): (&Arc<Registry>, &Handle),
        by: Actor,
        note: Note,
        count: u64,
    ) {
        let key = (by.id, note);
        if !self.is_first(&key, count) {
            return;
        }
        let (notes, registry, mut count) = (self.clone(), registry.clone(), count);
        runtime.spawn(async move {
            loop {
                let (registry, by, event) = (registry.clone(), by.clone(), key.1.event(key.0, count));
                let entered = tokio::task::spawn_blocking(move || registry.change(&by, |_| Ok((event.clone(), ()))));
                if let Ok(Err(error)) = entered.await {
                    tracing::warn!(%error, note = ?key.1, "could not be entered into the audit log");
                }
                tokio::time::sleep(notes.pause).await;
                match notes.take(&key) {
                    Some(more) => count = more,
                    None => return,
                }
            }
        });
    }

    /// Whether none of these was entered within the last minute. Otherwise they wait.
    fn is_first(&self, key: &(u32, Note), count: u64) -> bool {
        match self.waiting().entry(key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(0);
                true
            }
            Entry::Occupied(mut waiting) => {
                *waiting.get_mut() += count;
                false
            }
        }
    }

    /// Those that wait, if any; otherwise the next one is a first one again.
    fn take(&self, key: &(u32, Note)) -> Option<u64> {
        let mut all = self.waiting();
        let count = all.get_mut(key).map(std::mem::take).filter(|count| *count > 0);
        if count.is_none() {
            all.remove(key);
        }
        count
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<(u32, Note), u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ctx_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn repeated_exports_are_entered_together_and_none_is_lost() {
        let registry = Arc::new(Registry::open(Arc::new(MemoryStore::new())).expect("a registry"));
        let notes = Arc::new(AuditNotes { pause: Duration::from_millis(200), waiting: Mutex::default() });
        let (runtime, bob) = (Handle::current(), Actor { id: 2, ..Actor::OPERATOR });
        let note = || Note::Taken { owner: 1, action: "exported" };
        for _ in 0..100 {
            notes.enter((&registry, &runtime), bob.clone(), note(), 1);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while !notes.waiting().is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(notes.waiting().is_empty(), "nothing waits any more");
        let state = registry.state();
        let entered = state.entries().iter().map(|entry| match entry.event {
            Event::Taken { owner: 1, conversations, .. } => (entry.by, conversations),
            _ => (0, 0),
        });
        assert_eq!(entered.collect::<Vec<_>>(), [(2, 1), (2, 99)]);
    }
}
