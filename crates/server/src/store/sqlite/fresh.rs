//! What was committed and readers do not see yet, because the transaction that writes it is still open. A reader
//! that asks for it has the transaction end first.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use parking_lot::{Mutex, MutexGuard};
use switchboard_types::model::TaskId;

use crate::task::{Change, IdempotencyKey};

/// Names of tasks and keys, as hashes: two that are taken for one cost a reader a moment.
#[derive(Debug, Default)]
pub(super) struct Fresh(Mutex<Names>);

#[derive(Debug, Default)]
struct Names {
    names: HashSet<u64>,
    /// It may be anything.
    any: bool,
}

/// What a reader asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    /// Something of one task, or one key.
    One(u64),
    /// Anything.
    All,
}

impl Asked {
    pub(super) fn task(id: &TaskId) -> Self {
        Self::One(hash(id.as_str()))
    }

    pub(super) fn key(key: &IdempotencyKey) -> Self {
        Self::One(hash(&key.key))
    }
}

impl Fresh {
    /// Whether a reader would miss something.
    pub(super) fn has(&self, asked: Asked) -> bool {
        let fresh = self.names();
        match asked {
            Asked::One(name) => fresh.any || fresh.names.contains(&name),
            Asked::All => fresh.any || !fresh.names.is_empty(),
        }
    }

    /// Adds what `changes` are about.
    pub(super) fn add(&self, changes: &[Change]) {
        self.names().names.extend(changes.iter().map(name));
    }

    /// Nobody knows what the open transaction holds.
    pub(super) fn add_any(&self) {
        self.names().any = true;
    }

    /// Readers see everything.
    pub(super) fn clear(&self) {
        let mut fresh = self.names();
        fresh.names.clear();
        fresh.any = false;
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock()
    }
}

fn name(change: &Change) -> u64 {
    hash(match change {
        Change::Answered(answered) => &answered.key.key,
        Change::ForgetAnswer(key, _) => &key.key,
        change => change.task().map_or("", TaskId::as_str),
    })
}

fn hash(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}
