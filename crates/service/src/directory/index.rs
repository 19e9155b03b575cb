//! Conversations by key, most recent last, and the keys of each, so that removing one does not search the others.

use std::collections::HashMap;
use std::hash::Hash;

/// At most `MOST` conversations per key.
pub struct Index<K, const MOST: usize> {
    ids: HashMap<K, Vec<String>>,
    keys: HashMap<String, Vec<K>>,
}

impl<K, const MOST: usize> Default for Index<K, MOST> {
    fn default() -> Self {
        Index { ids: HashMap::new(), keys: HashMap::new() }
    }
}

impl<K: Eq + Hash + Clone, const MOST: usize> Index<K, MOST> {
    /// Makes a conversation the most recent one of a key, and evicts the least recent if there are too many.
    pub fn put(&mut self, key: K, id: &str) {
        let ids = self.ids.entry(key.clone()).or_default();
        if ids.last().is_some_and(|newest| newest == id) {
            return;
        }
        ids.retain(|other| other != id);
        ids.push(id.to_owned());
        let evicted = (ids.len() > MOST).then(|| ids.remove(0));
        let keys = self.keys.entry(id.to_owned()).or_default();
        if !keys.contains(&key) {
            keys.push(key.clone());
        }
        if let Some(evicted) = evicted {
            self.drop_key(&evicted, &key);
        }
    }

    pub fn all(&self, key: &K) -> &[String] {
        self.ids.get(key).map_or(&[], Vec::as_slice)
    }

    pub fn newest(&self, key: &K) -> Option<&String> {
        self.all(key).last()
    }

    pub fn forget(&mut self, id: &str) {
        for key in self.keys.remove(id).unwrap_or_default() {
            if let Some(ids) = self.ids.get_mut(&key) {
                ids.retain(|other| other != id);
                if ids.is_empty() {
                    self.ids.remove(&key);
                }
            }
        }
    }

    fn drop_key(&mut self, id: &str, key: &K) {
        if let Some(keys) = self.keys.get_mut(id) {
            keys.retain(|other| other != key);
            if keys.is_empty() {
                self.keys.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recent_of_a_key_are_found_until_they_are_forgotten() {
        let mut index: Index<u8, 2> = Index::default();
        for (key, id) in [(1, "a"), (1, "b"), (1, "a"), (2, "a"), (1, "a")] {
            index.put(key, id);
        }
        assert_eq!(
            (index.all(&1), index.newest(&2).map(String::as_str)),
            (&["b".to_owned(), "a".to_owned()][..], Some("a"))
        );
        index.put(1, "c");
        assert_eq!(index.all(&1), ["a", "c"]);
        assert!(!index.keys.contains_key("b"), "it has no key any more");
        index.forget("a");
        assert_eq!((index.all(&1), index.all(&2)), (&["c".to_owned()][..], &[][..]));
        index.forget("c");
        assert!(index.ids.is_empty() && index.keys.is_empty());
    }
}
