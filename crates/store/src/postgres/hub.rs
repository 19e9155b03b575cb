//! One daemon for many owners: a single connection and a single lease serve the stores of all of them.
//!
//! A thread polls for everyone and hands the news to the owners whose stores are open. It beats when each of them has
//! taken its news into account, so a commit of any owner waits for this daemon exactly as it would for a daemon of that
//! owner alone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::replica::{AllNews, Inner};
use crate::replica::LEASE;
use crate::{Absent, News, Owner, Presence, Replica, StoreError};

/// The longest pause between two beats. A notification ends it.
const BEAT: Duration = Duration::from_millis(250);
/// The pause after a failed poll or beat.
const RETRY: Duration = Duration::from_millis(100);
/// An owner without news is asked for rarely: there may be thousands.
const QUIET: Duration = Duration::from_secs(5);

/// The owners of a daemon.
pub struct Hub {
    inner: Arc<Inner>,
    inboxes: Mutex<HashMap<i32, Arc<Inbox>>>,
    unserved: OnceLock<Unserved>,
}

/// Gets the edited conversations of an owner whose store is not open. `None`: those of all such owners may be edited.
pub type Unserved = Box<dyn Fn(Option<Owner>, &[String]) + Send + Sync>;

/// The news for one owner.
#[derive(Default)]
struct Inbox {
    state: Mutex<Mail>,
    changed: Condvar,
}

#[derive(Default)]
struct Mail {
    /// Not handed out yet.
    waiting: Option<News>,
    /// Handed out, and not in effect yet.
    taken: Option<News>,
    /// A reader takes the news; before that, nothing of the owner is in memory.
    is_followed: bool,
    readers: usize,
}

impl Mail {
    /// Takes everything that is not in effect yet.
    fn take(&mut self) -> Option<News> {
        match (self.taken.take(), self.waiting.take()) {
            (taken, Some(waiting)) => Some(joined(taken, waiting)),
            (taken, None) => taken,
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.inner.leave();
    }
}

impl Hub {
    pub fn start(inner: Arc<Inner>) -> Result<Arc<Self>, StoreError> {
        let hub = Arc::new(Self { inner, inboxes: Mutex::default(), unserved: OnceLock::new() });
        let weak = Arc::downgrade(&hub);
        let thread = std::thread::Builder::new().name("ctx-hub".into());
        thread.spawn(move || run(&weak)).map_err(|error| StoreError::Database(error.into()))?;
        Ok(hub)
    }

    /// The daemon for one owner. Open it before anything of the owner is read into memory.
    pub fn of(self: &Arc<Self>, owner: i32) -> Arc<dyn Replica> {
        let inbox = {
            let mut inboxes = lock(&self.inboxes);
            let inbox = inboxes.entry(owner).or_default();
            lock(&inbox.state).readers += 1;
            inbox.clone()
        };
        Arc::new(OwnerReplica { hub: self.clone(), owner, inbox })
    }

    fn owners(&self) -> HashSet<i32> {
        lock(&self.inboxes).keys().copied().collect()
    }

    /// Calls `unserved` with the edits of owners whose stores are not open, before they count as seen here. Only the
    /// first one counts.
    pub fn on_unserved(&self, unserved: Unserved) {
        let _ = self.unserved.set(unserved);
    }

    /// Hands out the news. Owners that came during the poll may have missed some.
    fn distribute(&self, all: &AllNews, before: &HashSet<i32>) {
        let inboxes = lock(&self.inboxes);
        if all.is_incomplete
            && let Some(unserved) = self.unserved.get()
        {
            unserved(None, &[]);
        }
        all.by_owner.iter().filter(|(owner, _)| !inboxes.contains_key(owner)).for_each(|(owner, news)| {
            self.hand_to_none(*owner, news);
        });
        for (owner, inbox) in &*inboxes {
            let news = all.by_owner.get(owner).cloned().unwrap_or_default();
            let is_incomplete = all.is_incomplete || !before.contains(owner);
            let is_news = is_incomplete || !news.edited.is_empty() || !news.grown.is_empty();
            if is_news {
                let mut mail = lock(&inbox.state);
                let waiting = mail.waiting.take();
                mail.waiting = Some(joined(waiting, News { is_incomplete, ..news }));
                inbox.changed.notify_all();
            }
        }
    }

    /// Tells of the edits of an owner whose store is not open.
    fn hand_to_none(&self, owner: i32, news: &News) {
        let Some(unserved) = self.unserved.get() else { return };
        if news.is_incomplete {
            unserved(None, &[]);
        } else if !news.edited.is_empty() {
            unserved(Some(Owner(owner.cast_unsigned())), &news.edited);
        }
    }

    /// Waits until all news are in effect.
    fn is_settled(&self) -> bool {
        let end = Instant::now() + LEASE / 2;
        let inboxes: Vec<Arc<Inbox>> = lock(&self.inboxes).values().cloned().collect();
        inboxes.iter().all(|inbox| {
            let mut mail = lock(&inbox.state);
            while mail.is_followed && (mail.waiting.is_some() || mail.taken.is_some()) {
                let Some(left) = end.checked_duration_since(Instant::now()) else { return false };
                mail = inbox.changed.wait_timeout(mail, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            true
        })
    }
}

/// Polls and beats until the last owner is gone.
fn run(weak: &Weak<Hub>) {
    loop {
        let Some(hub) = weak.upgrade().filter(|hub| !hub.inner.has_left()) else { return };
        let (before, inner) = (hub.owners(), hub.inner.clone());
        // The last owner may go during the poll.
        drop(hub);
        let polled = inner.poll_all(BEAT);
        let Some(hub) = weak.upgrade() else { return };
        let beaten = polled.and_then(|all| {
            hub.distribute(&all, &before);
            // News that are not in effect come again with the next poll.
            if hub.is_settled() { inner.beat_now() } else { Ok(()) }
        });
        drop(hub);
        if let Err(error) = beaten {
            tracing::debug!(%error, "the edits of other daemons cannot be followed");
            std::thread::sleep(RETRY);
        }
    }
}

/// Two portions of news as one.
fn joined(first: Option<News>, mut second: News) -> News {
    let Some(first) = first else { return second };
    second.is_incomplete |= first.is_incomplete;
    second.edited.extend(first.edited);
    second.edited.sort();
    second.edited.dedup();
    let newest =
        second.grown.drain(..).chain(first.grown).fold(HashMap::new(), |mut all: HashMap<String, u64>, one| {
            let version = all.entry(one.0).or_default();
            *version = one.1.max(*version);
            all
        });
    second.grown = newest.into_iter().collect();
    second
}

/// One owner of the daemon.
struct OwnerReplica {
    hub: Arc<Hub>,
    owner: i32,
    inbox: Arc<Inbox>,
}

impl Drop for OwnerReplica {
    fn drop(&mut self) {
        let mut inboxes = lock(&self.hub.inboxes);
        let mut mail = lock(&self.inbox.state);
        mail.readers -= 1;
        if mail.readers == 0 {
            inboxes.remove(&self.owner);
            // Before anyone opens the store again, and before they count as seen.
            mail.take().iter().for_each(|news| self.hub.hand_to_none(self.owner, news));
        }
        // Another reader takes what this one took.
        self.inbox.changed.notify_all();
    }
}

impl Replica for OwnerReplica {
    /// Does not ask the database: the hub does, for all owners. Without news, it fails as long as this daemon is cut off
    /// for so long that it knows nothing any more.
    fn poll(&self, most: Duration) -> Result<News, StoreError> {
        let end = Instant::now() + most.max(QUIET);
        let mut mail = lock(&self.inbox.state);
        mail.is_followed = true;
        while mail.waiting.is_none() && mail.taken.is_none() {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return match self.is_outdated() {
                    true => Err(StoreError::Unavailable { why: "it has been away for too long", source: None }),
                    false => Ok(News::default()),
                };
            };
            mail = self.inbox.changed.wait_timeout(mail, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // News that could not be taken into account are handed out again.
        let news = mail.take().unwrap_or_default();
        mail.taken = Some(news.clone());
        Ok(news)
    }

    fn catch_up(&self) -> News {
        let mut mail = lock(&self.inbox.state);
        mail.is_followed = true;
        // The first poll hands them out again.
        mail.waiting.clone().unwrap_or_default()
    }

    fn beat(&self) -> Result<(), StoreError> {
        lock(&self.inbox.state).taken = None;
        self.inbox.changed.notify_all();
        Ok(())
    }

    fn await_others(&self, conversation: &str) -> Result<Vec<Absent>, StoreError> {
        self.hub.inner.await_others(self.owner, conversation)
    }

    fn presence(&self) -> Presence {
        self.hub.inner.presence()
    }

    fn is_outdated(&self) -> bool {
        self.hub.inner.is_outdated()
    }

    /// The daemon leaves with the owner that runs it.
    fn leave(&self) -> bool {
        let has_left = self.owner == Owner::SOLE.0.cast_signed() && self.hub.inner.leave();
        let mut mail = lock(&self.inbox.state);
        mail.is_followed = false;
        mail.take();
        self.inbox.changed.notify_all();
        has_left
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_joined_without_repeating_a_conversation() {
        let news = |edited: &[&str], grown: &[(&str, u64)]| News {
            edited: edited.iter().map(|id| (*id).to_owned()).collect(),
            grown: grown.iter().map(|(id, version)| ((*id).to_owned(), *version)).collect(),
            is_incomplete: false,
        };
        let mut all = joined(Some(news(&["a", "b"], &[("a", 3)])), news(&["b", "c"], &[("a", 2), ("c", 9)]));
        all.grown.sort();
        assert_eq!(all, news(&["a", "b", "c"], &[("a", 3), ("c", 9)]));
        assert!(joined(Some(News { is_incomplete: true, ..News::default() }), News::default()).is_incomplete);
    }
}
