//! Limits for machines that ask to sign in, and for people who sign in on the page. Anyone may ask for a machine, so
//! everything that is not a decision of a person is limited, by each daemon for itself.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two questions of a machine about its login.
pub(crate) const INTERVAL: Duration = Duration::from_secs(2);
/// Clocks and networks are not exact.
const TOLERANCE: Duration = Duration::from_millis(500);
const MINUTE: Duration = Duration::from_secs(60);

/// New logins in a minute.
const MOST_ASKED: usize = 30;
/// Questions about logins in a minute: twenty machines at a time.
const MOST_POLLS: usize = 600;
/// Wrong codes of a person in a minute.
const MOST_WRONG: usize = 10;
/// Sign-ins of a person on the page in a minute.
const MOST_SIGN_INS: usize = 20;

#[derive(Default)]
pub(crate) struct LoginLimits {
    asked: Limiter,
    polls: Limiter,
    wrong: Limiter,
    sign_ins: Limiter,
    recent_machines: Mutex<RecentMachines>,
}

/// The machines that asked a moment ago.
#[derive(Default)]
struct RecentMachines {
    /// By the beginning of their secrets.
    machines: HashSet<String>,
    /// With the time, oldest first.
    order: VecDeque<(Instant, String)>,
}

impl RecentMachines {
    /// Remembers a machine; false if it is remembered already.
    fn put(&mut self, secret: &str, now: Instant) -> bool {
        while self.order.front().is_some_and(|(at, _)| now.duration_since(*at) >= INTERVAL - TOLERANCE) {
            if let Some((_, name)) = self.order.pop_front() {
                self.machines.remove(&name);
            }
        }
        let name: String = secret.chars().take(16).collect();
        let is_new = self.machines.insert(name.clone());
        if is_new {
            self.order.push_back((now, name));
        }
        is_new
    }
}

impl LoginLimits {
    /// Whether another machine may ask now.
    pub(crate) fn may_ask(&self) -> bool {
        self.asked.take(0, MOST_ASKED, Instant::now())
    }

    /// Whether a machine may ask about its login now.
    pub(crate) fn may_poll(&self, secret: &str) -> bool {
        self.may_poll_at(secret, Instant::now())
    }

    /// Anyone may send any number of invented secrets, so the limit for all of them comes first: beyond it, nothing is
    /// remembered.
    fn may_poll_at(&self, secret: &str, now: Instant) -> bool {
        if self.polls.count(0, now) >= MOST_POLLS {
            return false;
        }
        let mut recent = self.recent_machines.lock().unwrap_or_else(PoisonError::into_inner);
        recent.put(secret, now) && self.polls.take(0, MOST_POLLS, now)
    }

    /// Whether a person may sign in on the page once more.
    pub(crate) fn may_sign_in(&self, person: u32) -> bool {
        self.sign_ins.take(person, MOST_SIGN_INS, Instant::now())
    }

    /// Whether a person may try a code: not after many wrong ones.
    pub(crate) fn may_try(&self, person: u32) -> bool {
        self.wrong.count(person, Instant::now()) < MOST_WRONG
    }

    /// A person tried an unknown code.
    pub(crate) fn was_wrong(&self, person: u32) {
        self.wrong.take(person, MOST_WRONG, Instant::now());
    }
}

/// Counts events of the last minute.
#[derive(Default)]
struct Limiter(Mutex<HashMap<u32, VecDeque<Instant>>>);

impl Limiter {
    /// Counts an event, unless there are `most` already.
    fn take(&self, whose: u32, most: usize, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = recent(all.entry(whose).or_default(), now);
        let is_free = times.len() < most;
        if is_free {
            times.push_back(now);
        }
        is_free
    }

    fn count(&self, whose: u32, now: Instant) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_mut(&whose).map_or(0, |times| recent(times, now).len())
    }
}

/// Without those that are older than a minute.
fn recent(times: &mut VecDeque<Instant>, now: Instant) -> &mut VecDeque<Instant> {
    while times.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
        times.pop_front();
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_the_last_minute_of_each_person() {
        let (limiter, now) = (Limiter::default(), Instant::now());
        assert!((0..3).all(|_| limiter.take(1, 3, now)) && !limiter.take(1, 3, now));
        assert!(limiter.take(2, 3, now), "another person is not concerned");
        assert!(limiter.take(1, 3, now + MINUTE));
    }

    #[test]
    fn a_machine_that_asks_too_fast_is_told_to_slow_down() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        assert!(limits.may_poll_at("one", now) && limits.may_poll_at("other", now));
        assert!(!limits.may_poll_at("one", now + INTERVAL / 2));
        assert!(limits.may_poll_at("one", now + INTERVAL * 2));
        let many = (0..2 * MOST_POLLS).filter(|number| limits.may_poll_at(&format!("{number}"), now + INTERVAL * 3));
        assert!(many.count() < MOST_POLLS);
    }

    #[test]
    fn invented_secrets_beyond_the_limit_are_not_remembered() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        let passed = (0..100_000).filter(|number| limits.may_poll_at(&format!("{number}"), now));
        assert_eq!(passed.count(), MOST_POLLS);
        let recent = limits.recent_machines.lock().expect("a lock");
        assert_eq!((recent.machines.len(), recent.order.len()), (MOST_POLLS, MOST_POLLS));
        drop(recent);
        // Those of a while ago are forgotten.
        assert!(limits.may_poll_at("later", now + MINUTE));
        assert_eq!(limits.recent_machines.lock().expect("a lock").machines.len(), 1);
    }
}
