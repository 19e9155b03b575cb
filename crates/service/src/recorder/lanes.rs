//! What waits to be looked at: one lane for each session, so that no session waits for another.
//!
//! The events of a lane are taken in order, by one thread at a time; different lanes are worked on side by side. A lane
//! with a held request in it is urgent: when no thread is free for it, one is added. The other lanes share one thread,
//! because what has already left is not worth a second processor. Each exchange stays in the lane it began in, with
//! what is known of it.

use super::event::Event;
use super::exchange::Open;
use crate::threads::lock;
use ctx_clients::Hints;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The most threads.
const THREADS: usize = 64;

/// Threads that stay when there is nothing to do: one for what was held, one for the rest.
const STAY: usize = 2;

/// A thread beyond those ends after so long without work.
const IDLE: Duration = Duration::from_secs(10);

/// Lanes that are not urgent and worked on at once, and how many while a reader waits for all of them.
const BEHIND: usize = 1;
const BEHIND_A_READER: usize = 4;

/// The longest wait for another lane. It only ends early where threads are missing.
const CATCH_UP: Duration = Duration::from_secs(2);

/// Whose events share a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LaneKey {
    /// A session, or an agent in it.
    Session(Box<str>, Option<Box<str>>),
    /// Requests without a session that begin with the same words.
    Opening(u64),
    /// All others.
    Others,
}

impl LaneKey {
    pub fn of(hints: &Hints) -> Option<LaneKey> {
        Some(LaneKey::Session(hints.session.clone()?, hints.agent.clone()))
    }
}

/// The place of an event among all events, in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

#[derive(Default)]
pub struct Lanes {
    state: Mutex<State>,
    /// There is work, or none will come.
    work: Condvar,
    /// Something was done.
    done: Condvar,
    add_thread: OnceLock<Box<dyn Fn() -> std::io::Result<()> + Send + Sync>>,
}

#[derive(Default)]
struct State {
    lanes: HashMap<Arc<LaneKey>, Lane>,
    /// Lanes with events that no thread works on; one may stand in both.
    urgent: VecDeque<Arc<LaneKey>>,
    behind: VecDeque<Arc<LaneKey>>,
    /// All events that are not done yet.
    pending: BTreeSet<Order>,
    next: u64,
    threads: usize,
    idle: usize,
    /// Threads that work on lanes that are not urgent.
    working_behind: usize,
    /// Readers that wait for everything.
    readers: usize,
    /// Those that wait for something to be done.
    waiters: usize,
    closed: bool,
}

#[derive(Default)]
struct Lane {
    events: VecDeque<(Order, Instant, Event)>,
    open: HashMap<u64, Open>,
    running: Option<Order>,
    /// Held requests that arrive or wait, and others that wait for this lane.
    urged: usize,
    /// Whether it is lined up, and where.
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
    pub open: HashMap<u64, Open>,
}

/// Where an event comes from.
pub(super) struct Place {
    key: Arc<LaneKey>,
    pub order: Order,
    /// A client waits for its lane.
    pub is_urgent: bool,
}

/// A lane is urgent as long as this is there.
pub struct Urgency {
    lanes: Arc<Lanes>,
    key: Arc<LaneKey>,
}

/// What a thread should do next.
pub(super) enum Next {
    Work(Box<Job>),
    /// Nothing came for as long as it waited.
    Nothing,
    /// The thread should end.
    End,
}

impl Lanes {
    /// Adds an event to its lane; false when nobody will look at it.
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

    /// A client waits for what is in this lane, or will, until the guard is dropped.
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

    /// Waits until all that came before is done, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        let mut state = lock(&self.state);
        let now = Order(state.next);
        state.readers += 1;
        self.work.notify_all();
        let mut state = self.wait_until(state, most, |state| state.pending.first().is_none_or(|first| *first >= now));
        state.readers -= 1;
    }

    /// Waits until all is done that came to a session's lane before `order`. Orders only ever wait for smaller ones,
    /// so two of them never wait for each other.
    pub fn catch_up(self: &Arc<Self>, session: &str, agent: Option<&str>, order: Order) {
        let key = Arc::new(LaneKey::Session(session.into(), agent.map(Into::into)));
        let is_behind = |state: &State| state.lanes.get(&key).and_then(Lane::first).is_some_and(|first| first < order);
        if !is_behind(&lock(&self.state)) {
            return;
        }
        let _urgency = self.urge(&key);
        drop(self.wait_until(lock(&self.state), CATCH_UP, |state| !is_behind(state)));
    }

    /// The next event, for a thread that waits for it no longer than `most`.
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

    /// An event is done: its lane can go on.
    pub(super) fn finish(&self, place: &Place, open: HashMap<u64, Open>) {
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
        // The caller takes the next event itself. To wake another thread for it would make them take turns.
        self.wake(state, 1);
    }

    /// Adds the threads that stay. `start` starts one that calls [`Lanes::next`] until it is told to end.
    pub fn start(&self, start: impl Fn() -> std::io::Result<()> + Send + Sync + 'static) -> std::io::Result<()> {
        for _ in 0..STAY {
            start()?;
            lock(&self.state).threads += 1;
        }
        let _ = self.add_thread.set(Box::new(start));
        Ok(())
    }

    /// Whether nothing is known of any exchange.
    #[cfg(test)]
    pub fn are_empty(&self) -> bool {
        lock(&self.state).lanes.is_empty()
    }

    /// Nothing will be looked at any more.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Wakes a thread for what is lined up, and adds one when all are at work. So many threads are about to take
    /// something anyway.
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
        // Counted at once, so that nobody else adds one for the same lane.
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
    /// Lines up a lane that has events and no thread.
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

    /// `None` when another thread works on the lane, or has.
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
