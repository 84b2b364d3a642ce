//! How many of something each one has at once.

use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::Mutex;

/// How many each one has. Who has none is not remembered.
#[derive(Debug)]
pub(crate) struct Counts<K: Hash + Eq> {
    most: usize,
    held: Arc<Held<K>>,
}

type Held<K> = Mutex<HashMap<K, usize, RandomState>>;

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted<K: Hash + Eq> {
    key: K,
    held: Arc<Held<K>>,
}

impl<K: Hash + Eq + Clone> Counts<K> {
    /// At most so many for each.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            held: Arc::default(),
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// One more, unless there are too many.
    pub(crate) fn take(&self, key: K) -> Option<Counted<K>> {
        let mut held = self.held.lock();
        match held.get_mut(&key) {
            Some(count) if *count >= self.most => return None,
            Some(count) => *count += 1,
            None if self.most == 0 => return None,
            None => {
                held.insert(key.clone(), 1);
            }
        }
        drop(held);
        Some(Counted {
            key,
            held: Arc::clone(&self.held),
        })
    }
}

impl<K: Hash + Eq> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_and_nobody_is_remembered_for_nothing() {
        let counts = Counts::new(2);
        let first = counts.take("a").unwrap();
        let second = counts.take("a").unwrap();
        assert!(counts.take("a").is_none());
        let other = counts.take("b").unwrap();
        drop(first);
        let third = counts.take("a").unwrap();
        assert!(counts.take("a").is_none());
        drop((second, third, other));
        assert!(counts.held.lock().is_empty());
        let none = Counts::new(0);
        assert!(none.take("a").is_none());
        assert!(none.held.lock().is_empty());
    }
}
