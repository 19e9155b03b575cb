//! One lock per key, created on demand: holders of the same key exclude each other, others do not.

use crate::threads::lock;
use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
pub struct KeyedLock {
    locked: Mutex<HashSet<String>>,
    released: Condvar,
}

impl KeyedLock {
    pub fn lock(&self, key: &str) -> KeyGuard<'_> {
        let locked = lock(&self.locked);
        let mut locked =
            self.released.wait_while(locked, |locked| locked.contains(key)).unwrap_or_else(PoisonError::into_inner);
        locked.insert(key.to_owned());
        KeyGuard { of: self, key: key.to_owned() }
    }

    pub fn is_locked(&self, key: &str) -> bool {
        lock(&self.locked).contains(key)
    }
}

#[derive(Debug)]
pub struct KeyGuard<'l> {
    of: &'l KeyedLock,
    key: String,
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        lock(&self.of.locked).remove(&self.key);
        self.of.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn holders_of_one_key_follow_each_other_and_other_keys_are_free() {
        let locks = KeyedLock::default();
        let first = locks.lock("a");
        drop(locks.lock("b"));
        assert!(locks.is_locked("a") && !locks.is_locked("b"));
        let entered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = locks.lock("a");
                entered.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!entered.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(entered.load(Ordering::SeqCst) && !locks.is_locked("a"));
    }
}
