//! Which task logs are in memory. Busy ones stay; idle ones stay while there is room.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use switchboard_types::model::TaskId;

use super::{TaskLog, lock};

/// How many idle task logs are kept for quick reads.
const IDLE: usize = 1024;
/// How much they may weigh together, roughly, in bytes.
const IDLE_WEIGHT: usize = 32 << 20;

/// The task logs in memory.
#[derive(Debug, Default)]
pub(super) struct Registry {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    logs: HashMap<TaskId, Arc<TaskLog>, RandomState>,
    idle: VecDeque<(TaskId, usize)>,
    idle_weight: usize,
    /// Counts evictions: a log loaded before one may be stale.
    epoch: u64,
}

impl Registry {
    /// The log of a task, if it is in memory; and the epoch to pass to [`Registry::admit`].
    pub(super) fn find(&self, id: &TaskId) -> (Option<Arc<TaskLog>>, u64) {
        let known = lock(&self.known);
        (known.logs.get(id).cloned(), known.epoch)
    }

    /// Lets in a log that was loaded in `epoch`. Another one that came first wins; `None` means that
    /// something was evicted since, so the load must be repeated.
    pub(super) fn admit(&self, log: Arc<TaskLog>, epoch: u64) -> Option<Arc<TaskLog>> {
        // Before the lock: a task log is never locked under it.
        let weight = log.weight();
        let mut known = lock(&self.known);
        if let Some(first) = known.logs.get(log.id()) {
            return Some(Arc::clone(first));
        }
        if known.epoch != epoch {
            return None;
        }
        known.logs.insert(log.id().clone(), Arc::clone(&log));
        known.retire(log.id(), weight);
        Some(log)
    }

    /// Lets in the log of a new task.
    pub(super) fn insert(&self, log: &Arc<TaskLog>) {
        lock(&self.known)
            .logs
            .insert(log.id().clone(), Arc::clone(log));
    }

    /// Says that nothing runs on this log now.
    pub(super) fn retire(&self, log: &TaskLog) {
        let weight = log.weight();
        lock(&self.known).retire(log.id(), weight);
    }

    /// Drops a log whose task never came to be, or is to be read from the store again.
    pub(super) fn forget(&self, id: &TaskId) {
        let mut known = lock(&self.known);
        known.logs.remove(id);
        known.epoch += 1;
    }
}

impl Known {
    fn retire(&mut self, id: &TaskId, weight: usize) {
        self.idle.push_back((id.clone(), weight));
        self.idle_weight += weight;
        // Each pass takes one out or finds it busy; a bound keeps this short when all are busy.
        for _ in 0..8 {
            if self.idle.len() <= IDLE && self.idle_weight <= IDLE_WEIGHT {
                break;
            }
            let Some((id, weight)) = self.idle.pop_front() else {
                break;
            };
            self.idle_weight = self.idle_weight.saturating_sub(weight);
            // One reference is ours; more means a run, a reader or the writer still holds it, and
            // whoever runs it will retire it again.
            match self.logs.entry(id) {
                Entry::Occupied(log) if Arc::strong_count(log.get()) == 1 => {
                    log.remove();
                    self.epoch += 1;
                }
                Entry::Occupied(log) => {
                    self.idle.push_back((log.key().clone(), weight));
                    self.idle_weight += weight;
                }
                Entry::Vacant(_) => {}
            }
        }
    }
}
