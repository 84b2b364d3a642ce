//! A map that grows in small steps. One large table is copied as a whole whenever it doubles, and everyone waits
//! for it; of many small ones, each is copied quickly.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

/// How many tables there are; a power of two.
const SHARDS: usize = 256;

/// Values by task.
#[derive(Debug)]
pub(super) struct Shards<V> {
    hasher: RandomState,
    tables: Vec<HashMap<TaskId, V, RandomState>>,
}

impl<V> Default for Shards<V> {
    fn default() -> Self {
        let hasher = RandomState::default();
        let table = || HashMap::with_hasher(hasher.clone());
        Self {
            tables: std::iter::repeat_with(table).take(SHARDS).collect(),
            hasher,
        }
    }
}

impl<V> Shards<V> {
    pub(super) fn get(&self, id: &TaskId) -> Option<&V> {
        self.tables[self.table_of(id)].get(id)
    }

    pub(super) fn get_mut(&mut self, id: &TaskId) -> Option<&mut V> {
        let table = self.table_of(id);
        self.tables[table].get_mut(id)
    }

    pub(super) fn insert(&mut self, id: TaskId, value: V) {
        let table = self.table_of(&id);
        self.tables[table].insert(id, value);
    }

    pub(super) fn remove(&mut self, id: &TaskId) -> Option<V> {
        let table = self.table_of(id);
        self.tables[table].remove(id)
    }

    /// Bits from the middle: a table uses those at both ends itself.
    fn table_of(&self, id: &TaskId) -> usize {
        usize::try_from(self.hasher.hash_one(id) >> 32).unwrap_or_default() % SHARDS
    }
}
