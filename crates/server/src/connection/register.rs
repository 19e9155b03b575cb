//! The register of open client connections, from which idle ones are closed to free file handles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::phase::PhaseCell;

#[derive(Default)]
pub(crate) struct Register(Mutex<OpenConnections>);

#[derive(Default)]
struct OpenConnections {
    next: u64,
    connections: HashMap<u64, Entry>,
}

struct Entry {
    phase: Arc<PhaseCell>,
    leave: oneshot::Sender<()>,
}

/// A connection's entry in the register; dropping it removes the entry.
pub(crate) struct Place {
    register: Arc<Register>,
    number: u64,
    pub(super) phase: Arc<PhaseCell>,
    /// Ready when the connection should close.
    pub(super) leave: oneshot::Receiver<()>,
}

impl Register {
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let phase = PhaseCell::default();
        phase.idle(Instant::now());
        self.enter_as(Arc::new(phase))
    }

    fn enter_as(self: &Arc<Self>, phase: Arc<PhaseCell>) -> Place {
        let (leave, asked) = oneshot::channel();
        let mut open = self.lock();
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Entry { phase: phase.clone(), leave });
        Place { register: self.clone(), number, phase, leave: asked }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().connections.len()
    }

    /// Asks the longest idle connections to close, at most `most`, and returns their number.
    pub(crate) fn shed(&self, most: usize) -> usize {
        let mut open = self.lock();
        let mut resting: Vec<(u64, u64)> = open
            .connections
            .iter()
            .filter_map(|(number, entry)| Some((entry.phase.could_leave_since()?, *number)))
            .collect();
        resting.sort_unstable();
        resting.truncate(most);
        for (_, number) in &resting {
            if let Some(entry) = open.connections.remove(number) {
                let _ = entry.leave.send(());
            }
        }
        resting.len()
    }

    /// Code under this lock cannot panic halfway.
    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// A request arrived just before the connection was asked to close: it stays, and can be asked again.
    pub(super) fn stay(&mut self) {
        *self = self.register.enter_as(self.phase.clone());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.register.lock().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::phase::Phase;
    use super::*;
    use std::time::Duration;

    #[test]
    fn those_that_rested_longest_leave_first_and_busy_ones_stay() {
        let register = Arc::new(Register::default());
        let mut places: Vec<Place> = (0..4).map(|_| register.enter()).collect();
        let now = Instant::now();
        for (place, seconds) in places.iter().zip([30, 10, 20, 0]) {
            place.phase.enter(Phase::Resting);
            place.phase.idle(now + Duration::from_secs(seconds));
        }
        places[3].phase.enter(Phase::Serving);
        assert_eq!(register.shed(2), 2);
        let left: Vec<bool> = places.iter_mut().map(|place| place.leave.try_recv().is_ok()).collect();
        assert_eq!(left, [false, true, true, false]);
        places[1].stay();
        drop(places.remove(2));
        assert_eq!((register.count(), register.shed(9), register.count()), (3, 2, 1));
        drop(places);
        assert_eq!(register.count(), 0);
    }

    #[test]
    fn a_client_that_has_just_come_is_not_sent_away_before_it_could_ask() {
        let register = Arc::new(Register::default());
        let (mut rested, mut new) = (register.enter(), register.enter());
        rested.phase.enter(Phase::Resting);
        assert_eq!(register.shed(9), 1);
        assert!(rested.leave.try_recv().is_ok() && new.leave.try_recv().is_err());
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(register.shed(9), 1, "one that says nothing makes room too");
    }
}
