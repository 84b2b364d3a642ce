//! Tasks by id, in a map that grows in small steps. One large table is copied as a whole whenever it doubles, and
//! everyone waits for it; of many small ones, each is copied quickly.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use switchboard_types::model::TaskId;

use super::KeptTask;

/// How many tables there are; a power of two.
const SHARDS: usize = 256;

/// All tasks.
#[derive(Debug)]
pub(super) struct Shards {
    hasher: RandomState,
    tables: Vec<HashTable<Slot>>,
}

/// A task beside the hash of its id, so that a table grows without reading the ids.
#[derive(Debug)]
struct Slot {
    hash: u64,
    task: Box<KeptTask>,
}

impl Default for Shards {
    fn default() -> Self {
        Self {
            hasher: RandomState::default(),
            tables: std::iter::repeat_with(HashTable::new)
                .take(SHARDS)
                .collect(),
        }
    }
}

impl Shards {
    pub(super) fn get(&self, id: &TaskId) -> Option<&KeptTask> {
        let hash = self.hash(id);
        let slot = self.tables[table_of(hash)].find(hash, |slot| slot.is(hash, id));
        slot.map(|slot| &*slot.task)
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &KeptTask> {
        self.tables.iter().flatten().map(|slot| &*slot.task)
    }

    pub(super) fn get_mut(&mut self, id: &TaskId) -> Option<&mut KeptTask> {
        let hash = self.hash(id);
        let slot = self.tables[table_of(hash)].find_mut(hash, |slot| slot.is(hash, id));
        slot.map(|slot| &mut *slot.task)
    }

    /// Puts in a task that is not there.
    pub(super) fn insert(&mut self, task: Box<KeptTask>) {
        let hash = self.hash(&task.head.id);
        self.tables[table_of(hash)].insert_unique(hash, Slot { hash, task }, |slot| slot.hash);
    }

    pub(super) fn remove(&mut self, id: &TaskId) -> Option<Box<KeptTask>> {
        let hash = self.hash(id);
        let slot = self.tables[table_of(hash)].find_entry(hash, |slot| slot.is(hash, id));
        Some(slot.ok()?.remove().0.task)
    }

    fn hash(&self, id: &TaskId) -> u64 {
        self.hasher.hash_one(id)
    }
}

impl Slot {
    fn is(&self, hash: u64, id: &TaskId) -> bool {
        self.hash == hash && self.task.head.id == *id
    }
}

/// Bits from the middle: a table uses those at both ends itself.
fn table_of(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or_default() % SHARDS
}
