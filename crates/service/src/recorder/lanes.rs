//! The queue of events: one lane per session, so that no session waits for another.
//!
//! The events of a lane are processed in order, by one thread at a time; lanes run in parallel. A lane with a held
//! request is urgent: if no thread is free for it, one is added. The other lanes share one thread, because requests
//! that have left are not worth a second processor. Each exchange stays in its first lane, with its state.

use super::event::Event;
use super::exchange::OpenExchange;
use crate::threads::lock;
use ctx_clients::Hints;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of threads.
const THREADS: usize = 64;

/// Threads that stay when idle: one for held requests, one for the rest.
const STAY: usize = 2;

/// The time after which other threads end without work.
const IDLE: Duration = Duration::from_secs(10);

/// The number of lanes without urgency processed in parallel, and the number while a reader waits for all.
const BEHIND: usize = 1;
const BEHIND_A_READER: usize = 4;

/// The longest wait for another lane. It times out only if threads are missing.
const CATCH_UP: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LaneKey {
    /// A session, or an agent in it.
    Session(Box<str>, Option<Box<str>>),
    /// Requests without a session that begin with the same words.
    Opening(u64),
    Others,
}

impl LaneKey {
    pub fn of(hints: &Hints) -> Option<LaneKey> {
        Some(LaneKey::Session(hints.session.clone()?, hints.agent.clone()))
    }
}

/// The position of an event in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

#[derive(Default)]
pub struct Lanes {
    state: Mutex<State>,
    /// Signals new work, or that none will come.
    work: Condvar,
    /// Signals that an event is done.
    done: Condvar,
    add_thread: OnceLock<Box<dyn Fn() -> std::io::Result<()> + Send + Sync>>,
}

#[derive(Default)]
struct State {
    lanes: HashMap<Arc<LaneKey>, Lane>,
    /// Lanes with events and without a thread; one may be in both.
    urgent: VecDeque<Arc<LaneKey>>,
    behind: VecDeque<Arc<LaneKey>>,
    /// All unfinished events.
    pending: BTreeSet<Order>,
    next: u64,
    threads: usize,
    idle: usize,
    /// Threads on lanes without urgency.
    working_behind: usize,
    /// Readers that wait for everything.
    readers: usize,
    /// Threads that wait for an event to be done.
    waiters: usize,
    closed: bool,
}

#[derive(Default)]
struct Lane {
    events: VecDeque<(Order, Instant, Event)>,
    open: HashMap<u64, OpenExchange>,
    running: Option<Order>,
    /// Held requests that arrive or wait, and others that wait for this lane.
    urged: usize,
    /// Whether and where it is scheduled.
    is_urgent: bool,
    is_behind: bool,
}

impl Lane {
    fn first(&self) -> Option<Order> {
        self.running.or_else(|| self.events.front().map(|(order, ..)| *order))
    }

    fn is_over(&self) -> bool {
        self.running.is_none() && self.urged == 0 && self.events.is_empty() && self.open.is_empty()
    }
}

/// An event to work on, with the exchanges of its lane.
pub(super) struct Job {
    pub place: Place,
    pub since: Instant,
    pub event: Event,
    pub open: HashMap<u64, OpenExchange>,
}

/// The origin of an event.
pub(super) struct Place {
    key: Arc<LaneKey>,
    pub order: Order,
    /// A client waits for its lane.
    pub is_urgent: bool,
}

/// Keeps a lane urgent until it is dropped.
pub struct Urgency {
    lanes: Arc<Lanes>,
    key: Arc<LaneKey>,
}

/// The next action of a thread.
pub(super) enum Next {
    Work(Box<Job>),
    /// Nothing came in time.
    Nothing,
    /// The thread should end.
    End,
}

impl Lanes {
    /// Adds an event to its lane; false if the lanes are closed.
    pub(super) fn push(&self, key: &Arc<LaneKey>, event: Event) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return false;
        }
        let order = Order(state.next);
        state.next += 1;
        state.pending.insert(order);
        state.lanes.entry(key.clone()).or_default().events.push_back((order, Instant::now(), event));
        state.schedule(key);
        self.wake(state, 0);
        true
    }

    /// Marks that a client waits for the present or future events of this lane, until the guard is dropped.
    pub fn urge(self: &Arc<Self>, key: &Arc<LaneKey>) -> Urgency {
        let mut state = lock(&self.state);
        state.lanes.entry(key.clone()).or_default().urged += 1;
        state.schedule(key);
        self.wake(state, 0);
        Urgency { lanes: self.clone(), key: key.clone() }
    }

    fn calm(&self, key: &Arc<LaneKey>) {
        let mut state = lock(&self.state);
        if let Some(lane) = state.lanes.get_mut(key) {
            lane.urged = lane.urged.saturating_sub(1);
            if lane.is_over() {
                state.lanes.remove(key);
            }
        }
    }

    /// Waits until all earlier events are done, at most for `most`.
    pub fn settle(&self, most: Duration) {
        let mut state = lock(&self.state);
        let now = Order(state.next);
        state.readers += 1;
        self.work.notify_all();
        let mut state = self.wait_until(state, most, |state| state.pending.first().is_none_or(|first| *first >= now));
        state.readers -= 1;
    }

    /// Waits until all events of a session's lane before `order` are done. Orders only wait for smaller ones, so two
    /// never wait for each other.
    pub fn catch_up(self: &Arc<Self>, session: &str, agent: Option<&str>, order: Order) {
        let key = Arc::new(LaneKey::Session(session.into(), agent.map(Into::into)));
        let is_behind = |state: &State| state.lanes.get(&key).and_then(Lane::first).is_some_and(|first| first < order);
        if !is_behind(&lock(&self.state)) {
            return;
        }
        let _urgency = self.urge(&key);
        drop(self.wait_until(lock(&self.state), CATCH_UP, |state| !is_behind(state)));
    }

    /// The next event, for a thread that waits at most for `most`.
    pub(super) fn next(&self, most: Option<Duration>) -> Next {
        let mut state = lock(&self.state);
        let patience = if state.threads > STAY { Some(IDLE) } else { most };
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(job) = state.take() {
                return Next::Work(Box::new(job));
            }
            if state.closed {
                state.threads -= 1;
                return Next::End;
            }
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                if state.threads > STAY {
                    state.threads -= 1;
                    return Next::End;
                }
                return Next::Nothing;
            }
            state.idle += 1;
            state = match rest {
                Some(rest) => self.work.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0,
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.idle -= 1;
        }
    }

    /// Ends an event: its lane can continue.
    pub(super) fn finish(&self, place: &Place, open: HashMap<u64, OpenExchange>) {
        let Place { key, order, is_urgent } = place;
        let mut state = lock(&self.state);
        state.pending.remove(order);
        state.working_behind -= usize::from(!is_urgent);
        if let Some(lane) = state.lanes.get_mut(key) {
            lane.running = None;
            lane.open = open;
            if lane.is_over() {
                state.lanes.remove(key);
            }
        }
        state.schedule(key);
        if state.waiters > 0 {
            self.done.notify_all();
        }
        // The caller takes the next event itself. Waking another thread for it would make them alternate.
        self.wake(state, 1);
    }

    /// Adds the threads that stay. `start` starts one that calls [`Lanes::next`] until it returns `Next::End`.
    pub fn start(&self, start: impl Fn() -> std::io::Result<()> + Send + Sync + 'static) -> std::io::Result<()> {
        for _ in 0..STAY {
            start()?;
            lock(&self.state).threads += 1;
        }
        let _ = self.add_thread.set(Box::new(start));
        Ok(())
    }

    /// Whether there is no unfinished exchange.
    #[cfg(test)]
    pub fn are_empty(&self) -> bool {
        lock(&self.state).lanes.is_empty()
    }

    /// Closes the lanes: no more events are processed.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Wakes a thread for scheduled lanes, and adds one if all are busy. `about_to`: the threads about to take an event
    /// anyway.
    fn wake(&self, mut state: MutexGuard<'_, State>, about_to: usize) {
        let behind = usize::from(!state.behind.is_empty() && state.may_work_behind());
        let lined_up = (state.urgent.len() + behind).saturating_sub(about_to);
        if lined_up > 0 && state.idle > 0 {
            self.work.notify_one();
        }
        let Some(add_thread) = self.add_thread.get().filter(|_| lined_up > state.idle && state.threads < THREADS)
        else {
            return;
        };
        // Counted at once, so that no other thread adds one for the same lane.
        state.threads += 1;
        drop(state);
        if let Err(error) = add_thread() {
            tracing::warn!(%error, "cannot start another thread; requests are observed one at a time");
            lock(&self.state).threads -= 1;
        }
    }

    fn wait_until<'s>(
        &self,
        state: MutexGuard<'s, State>,
        most: Duration,
        is_so: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        let mut state = state;
        state.waiters += 1;
        let waited = self.done.wait_timeout_while(state, most, |state| !is_so(state) && !state.closed);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiters -= 1;
        state
    }
}

impl State {
    /// Schedules a lane that has events and no thread.
    fn schedule(&mut self, key: &Arc<LaneKey>) {
        let is_ready = |lane: &&mut Lane| lane.running.is_none() && !lane.events.is_empty();
        let Some(lane) = self.lanes.get_mut(key).filter(is_ready) else { return };
        let (line, is_lined_up) = match lane.urged {
            0 => (&mut self.behind, &mut lane.is_behind),
            _ => (&mut self.urgent, &mut lane.is_urgent),
        };
        if !std::mem::replace(is_lined_up, true) {
            line.push_back(key.clone());
        }
    }

    fn may_work_behind(&self) -> bool {
        self.working_behind < if self.readers > 0 { BEHIND_A_READER } else { BEHIND }
    }

    fn take(&mut self) -> Option<Job> {
        while let Some(key) = self.urgent.pop_front() {
            if let Some(job) = self.begin(&key, true) {
                return Some(job);
            }
        }
        while self.may_work_behind() {
            let key = self.behind.pop_front()?;
            if let Some(job) = self.begin(&key, false) {
                self.working_behind += 1;
                return Some(job);
            }
        }
        None
    }

    /// `None` if another thread processes the lane, or has processed it.
    fn begin(&mut self, key: &Arc<LaneKey>, is_urgent: bool) -> Option<Job> {
        let lane = self.lanes.get_mut(key)?;
        *(if is_urgent { &mut lane.is_urgent } else { &mut lane.is_behind }) = false;
        if lane.running.is_some() {
            return None;
        }
        let (order, since, event) = lane.events.pop_front()?;
        lane.running = Some(order);
        let place = Place { key: key.clone(), order, is_urgent };
        Some(Job { place, since, event, open: std::mem::take(&mut lane.open) })
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        self.lanes.calm(&self.key);
    }
}

#[cfg(test)]
mod tests;
