//! Values from a disk, for callers that hold a lock: each is read on a thread of its own and awaited only briefly.

use crate::threads::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for a value. A disk that works answers in a fraction of it.
const PATIENCE: Duration = Duration::from_millis(100);
/// Beyond this many values, unused ones are removed.
const MOST: usize = 500;
const UNUSED: Duration = Duration::from_secs(3_600);

/// The last known value for each key. A value that takes too long arrives in the background.
#[derive(Debug)]
pub struct Lookup<K, V> {
    inside: Arc<Inside<K, V>>,
    patience: Duration,
}

#[derive(Debug)]
struct Inside<K, V> {
    known: Mutex<HashMap<K, KnownValue<V>>>,
    arrived: Condvar,
}

#[derive(Debug)]
struct KnownValue<V> {
    value: Option<(V, Instant)>,
    /// Since when a thread has been reading it.
    reading: Option<Instant>,
}

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        let inside = Inside { known: Mutex::default(), arrived: Condvar::new() };
        Lookup { inside: Arc::new(inside), patience: PATIENCE }
    }
}

impl<K: Hash + Eq + Clone + Send + 'static, V: Clone + Send + 'static> Lookup<K, V> {
    #[cfg(test)]
    fn waiting(patience: Duration) -> Self {
        Lookup { patience, ..Lookup::default() }
    }

    /// The value, if it is younger than `fresh`; otherwise a new one. If reading takes too long: the last known value,
    /// or `None`. A key is read by one thread at a time.
    pub fn get(&self, key: &K, fresh: Duration, read: impl FnOnce() -> V + Send + 'static) -> Option<V> {
        let mut known = lock(&self.inside.known);
        let now = Instant::now();
        if known.len() >= MOST {
            known
                .retain(|_, one| one.reading.is_some() || one.value.as_ref().is_some_and(|(_, at)| now - *at < UNUSED));
        }
        let one = known.entry(key.clone()).or_insert(KnownValue { value: None, reading: None });
        if let Some((value, at)) = &one.value
            && now.saturating_duration_since(*at) < fresh
        {
            return Some(value.clone());
        }
        if one.reading.is_none() && self.start(key.clone(), read) {
            one.reading = Some(now);
        }
        let since = one.reading.unwrap_or(now);
        let is_reading =
            |known: &mut HashMap<K, KnownValue<V>>| known.get(key).is_some_and(|one| one.reading.is_some());
        let left = (since + self.patience).saturating_duration_since(now);
        let waited = self.inside.arrived.wait_timeout_while(known, left, is_reading);
        let (known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        known.get(key)?.value.as_ref().map(|(value, _)| value.clone())
    }

    /// Forgets values: the next ones are read.
    pub fn forget(&self, is_outdated: impl Fn(&K) -> bool) {
        lock(&self.inside.known).retain(|key, _| !is_outdated(key));
    }

    /// Whether a thread reads the value now.
    fn start(&self, key: K, read: impl FnOnce() -> V + Send + 'static) -> bool {
        let inside = self.inside.clone();
        let reading = move || {
            // After a panic the last value stays, and the next caller tries again.
            let value = panic::catch_unwind(AssertUnwindSafe(read));
            let mut known = lock(&inside.known);
            let one = known.entry(key).or_insert(KnownValue { value: None, reading: None });
            one.reading = None;
            if let Ok(value) = value {
                one.value = Some((value, Instant::now()));
            }
            drop(known);
            inside.arrived.notify_all();
        };
        let started = thread::Builder::new().name("lookup".into()).spawn(reading);
        started.inspect_err(|error| tracing::warn!(%error, "no thread to read a file")).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const ALWAYS: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_value_is_read_once_while_it_is_fresh() {
        let lookup = Lookup::default();
        assert_eq!(lookup.get(&"k", ALWAYS, || 1), Some(1));
        assert_eq!(lookup.get(&"k", ALWAYS, || 2), Some(1));
        assert_eq!(lookup.get(&"k", Duration::ZERO, || 3), Some(3));
        lookup.forget(|key| *key == "k");
        assert_eq!(lookup.get(&"k", ALWAYS, || 4), Some(4));
    }

    #[test]
    fn a_stuck_disk_delays_its_own_callers_briefly_and_no_others() {
        let lookup = Lookup::waiting(Duration::from_millis(30));
        let (answer, stuck) = mpsc::channel();
        assert_eq!(lookup.get(&"stuck", Duration::ZERO, || 1), Some(1));
        let begun = Instant::now();
        let last = lookup.get(&"stuck", Duration::ZERO, move || stuck.recv().unwrap_or(0));
        assert_eq!(last, Some(1), "the last known value");
        assert!(begun.elapsed() >= Duration::from_millis(30));
        let begun = Instant::now();
        for _ in 0..100 {
            assert_eq!(lookup.get(&"stuck", Duration::ZERO, || 9), Some(1), "no second thread reads it");
        }
        assert!(begun.elapsed() < Duration::from_millis(30), "later callers do not wait again");
        assert_eq!(lookup.get(&"other", Duration::ZERO, || 2), Some(2));
        answer.send(7).expect("the thread still waits");
        let deadline = Instant::now() + Duration::from_secs(5);
        while lookup.get(&"stuck", ALWAYS, || 8) == Some(1) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(lookup.get(&"stuck", ALWAYS, || 8), Some(7));
    }

    #[test]
    fn a_key_without_a_value_has_none_until_it_is_read() {
        let lookup = Lookup::waiting(Duration::from_millis(5));
        let (_answer, stuck) = mpsc::channel::<u32>();
        assert_eq!(lookup.get(&"k", ALWAYS, move || stuck.recv().unwrap_or(0)), None);
    }
}
