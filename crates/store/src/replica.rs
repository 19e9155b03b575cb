//! Several daemons on one store. Each composes from its own memory, so an edit counts only when all of them know it.
//!
//! A daemon polls, takes the announced edits into account, and beats: that tells the others what it has seen, and gives
//! it a lease. The daemon that made an edit waits until every other one has seen it, or has no lease any more.

use std::time::Duration;

use crate::StoreError;

/// How long a daemon counts as running after its last beat.
pub const LEASE: Duration = Duration::from_secs(2);

/// How long a daemon serves what it knows after its last beat, also after a restart; then it counts as knowing nothing.
/// Commits name it for longer, see [`NAMED_FOR`].
pub const KNOWN_FOR: Duration = Duration::from_secs(12 * 3_600);

/// How long every commit names a daemon that is silent. It may have been cut off for [`KNOWN_FOR`], and then been
/// started again for as long.
pub const NAMED_FOR: Duration = Duration::from_secs(25 * 3_600);

/// A daemon among those that share a store.
pub trait Replica: Send + Sync {
    /// Waits for an announcement, at most for `most`, and returns everything new since the last beat.
    fn poll(&self, most: Duration) -> Result<News, StoreError>;

    /// The news that came while everything was read into memory, without waiting. From now on nothing counts as seen
    /// before [`Replica::beat`]. Call it before memory serves its first request.
    fn catch_up(&self) -> News {
        News::default()
    }

    /// Tells the others that everything returned by [`Replica::poll`] is in effect here, and extends the lease.
    fn beat(&self) -> Result<(), StoreError>;

    /// Waits until every other daemon has seen the newest announced edit of a conversation, or has lost its lease.
    /// Returns those without a lease. It takes little longer than a lease, whatever happens.
    fn await_others(&self, conversation: &str) -> Result<Vec<Absent>, StoreError>;

    /// All daemons known to the store, and whether it is in reach. Does not ask the store.
    fn presence(&self) -> Presence;

    /// Whether the last beat is so long ago that this daemon knows nothing any more. Asked for every request.
    fn is_outdated(&self) -> bool {
        self.presence().is_outdated
    }

    /// Takes leave, so that no other daemon waits for this one or names it. Whether the store knows it.
    fn leave(&self) -> bool;
}

/// The changes by other daemons since the last beat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Conversations with edits, or purged. They must be taken into account before the next beat.
    pub edited: Vec<String>,
    /// Conversations with new records of any kind and any daemon, and the number of the newest. They may come later than
    /// the edits.
    pub grown: Vec<(String, u64)>,
    /// Announcements may be missing: everything in memory must be read again.
    pub is_incomplete: bool,
}

/// A daemon that has not been heard of for longer than a lease. It may still run, and send requests without the newest
/// edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    pub name: String,
    /// The time since its last beat.
    pub silent: Duration,
}

/// A daemon's connection to the store and to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    pub name: String,
    /// For how long the store has been out of reach; `None` while it answers.
    pub away: Option<Duration>,
    /// The time since the last beat. Beyond [`LEASE`], others no longer wait for this daemon.
    pub lease_age: Duration,
    /// Whether its last beat is so long ago that it knows nothing any more.
    pub is_outdated: bool,
    /// The calls of the store that did not end in time, since the start.
    pub late_calls: u64,
    /// The other daemons, with the time since their last beat, as of the last poll.
    pub others: Vec<(String, Duration)>,
}

impl Presence {
    /// Whether edits are acknowledged without this daemon: its lease is over.
    pub fn is_blind(&self) -> bool {
        self.lease_age > LEASE
    }
}
