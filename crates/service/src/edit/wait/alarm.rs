//! Wakes up when the provider's cache of a conversation with deferred edits has expired, and only then.

use crate::clock::now;
use crate::threads::{lock, step_back};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The interval for checking the clock: a suspended machine does not count the time.
const LONGEST: Duration = Duration::from_secs(60);

/// When to wake which conversation, in milliseconds since 1970.
#[derive(Debug, Default)]
pub struct Alarm(Arc<Clock>);

#[derive(Debug, Default)]
struct Clock {
    times: Mutex<Times>,
    rings: Condvar,
}

#[derive(Debug, Default)]
struct Times {
    of: BTreeMap<String, u64>,
    over: bool,
}

impl Alarm {
    /// Starts with these conversations due at once.
    pub fn of(conversations: impl IntoIterator<Item = String>) -> Alarm {
        let alarm = Alarm::default();
        lock(&alarm.0.times).of = conversations.into_iter().map(|id| (id, 0)).collect();
        alarm
    }

    /// Sets the alarm of a conversation, or removes it.
    pub fn set(&self, id: &str, at: Option<u64>) {
        let mut times = lock(&self.0.times);
        let before = match at {
            Some(at) => times.of.insert(id.to_owned(), at),
            None => times.of.remove(id),
        };
        if before != at {
            self.0.rings.notify_all();
        }
    }

    /// Whether it will wake any conversation.
    pub fn is_set(&self) -> bool {
        !lock(&self.0.times).of.is_empty()
    }

    /// Sets an existing alarm to this time.
    pub fn at_most(&self, id: &str, at: u64) {
        if let Some(time) = lock(&self.0.times).of.get_mut(id) {
            *time = at;
        }
        self.0.rings.notify_all();
    }
}

impl Alarm {
    /// Wakes conversations on its own thread, until it is dropped or `wake` returns false.
    pub fn start(&self, wake: impl Fn(&str) -> bool + Send + 'static) -> std::io::Result<()> {
        let clock = self.0.clone();
        std::thread::Builder::new().name("ctx-alarm".into()).spawn(move || {
            step_back();
            while let Some(id) = clock.next() {
                // A panic costs this change its moment, never the others.
                match catch_unwind(AssertUnwindSafe(|| wake(&id))) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(_) => {
                        tracing::error!(conversation = %id, "checking deferred edits failed; the next request checks \
                             them again");
                    }
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        lock(&self.0.times).over = true;
        self.0.rings.notify_all();
    }
}

impl Clock {
    /// The next due conversation; `None` at the end.
    fn next(&self) -> Option<String> {
        let mut times = lock(&self.times);
        loop {
            if times.over {
                return None;
            }
            let first = times.of.iter().min_by_key(|(_, at)| **at).map(|(id, at)| (id.clone(), *at));
            times = match first {
                None => self.rings.wait(times).unwrap_or_else(PoisonError::into_inner),
                Some((id, at)) => {
                    let now = now();
                    if at <= now {
                        // `wake` sets it again.
                        times.of.remove(&id);
                        return Some(id);
                    }
                    let wait = Duration::from_millis(at - now).min(LONGEST);
                    let woken = self.rings.wait_timeout(times, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
