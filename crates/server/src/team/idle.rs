//! Closes unused desks: each has about eight threads and the list of its conversations in memory. The next
//! request opens it again, and finds everything in the store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ctx_service::now;
use ctx_team::Actor;

use super::{Desk, Team};

/// The time for storing what was observed last, and for the threads to end.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// The longest pause between two looks.
const LOOK: Duration = Duration::from_secs(60);

/// Runs until the team ends.
pub(super) fn start(team: &Arc<Team>, idle: Duration) {
    let (weak, pause): (Weak<Team>, _) = (Arc::downgrade(team), (idle / 4).min(LOOK).max(PAUSE));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(pause).await;
            let Some(team) = weak.upgrade() else { return };
            team.close_idle(idle).await;
        }
    });
}

impl Desk {
    /// Marks it as used now.
    pub(super) fn touch(&self) {
        self.used.store(now(), Ordering::Relaxed);
    }

    /// Whether closing it would interrupt nothing. The caller holds the lock of the list, which has one reference.
    fn is_idle(self: &Arc<Self>, idle: Duration) -> bool {
        let used = Duration::from_millis(now().saturating_sub(self.used.load(Ordering::Relaxed)));
        let load = self.recorder.load();
        used >= idle
            && Arc::strong_count(self) == 1
            // WebSockets.
            && Arc::strong_count(&self.observer) == 1
            // Handlers, live events and jobs.
            && self.api.holders() == self.holders
            && self.traffic.counts().in_flight == 0
            && load.queued == 0
            && self.service.waiting_bytes() == 0
            // The alarm applies deferred edits without a request.
            && !self.service.has_deferred_edits()
    }
}

impl Team {
    pub(super) async fn close_idle(&self, idle: Duration) {
        // A desk opens only after the old one has released its store.
        let _one_at_a_time = self.opening.lock().await;
        for person in self.people_at_desks() {
            let closing = {
                let mut desks = self.write();
                let is_idle = desks.get(&person).is_some_and(|desk| desk.is_idle(idle));
                if is_idle { desks.remove(&person) } else { None }
            };
            let Some(desk) = closing else { continue };
            self.around.metrics.closing(&desk.service, &desk.recorder);
            let closed = self.runtime.spawn_blocking(move || close(desk)).await;
            match closed {
                Ok(true) => tracing::debug!(person, "closed the conversations of a person who was idle"),
                _ => tracing::warn!(person, "the conversations of a person who was idle could not be closed"),
            }
        }
    }

    /// The operator's desk stays open.
    fn people_at_desks(&self) -> Vec<u32> {
        let desks = self.desks.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        desks.keys().copied().filter(|person| *person != Actor::OPERATOR.id).collect()
    }
}

/// Stores everything and waits until the store is free; false if something holds on to it.
fn close(desk: Arc<Desk>) -> bool {
    let deadline = Instant::now() + PATIENCE;
    desk.recorder.settle(PATIENCE);
    // The last reference is dropped here, so that the store is closed when this returns.
    let store = desk.service.store().clone();
    drop(desk);
    while Arc::strong_count(&store) > 1 {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}
