//! Answers under idempotency keys: the first one stays, until it is old or its task is gone.

use std::collections::{BTreeMap, HashMap};

use switchboard_types::model::{TaskId, Timestamp};

use crate::task::{Answer, Answered, IdempotencyKey};

/// The answers that are remembered.
#[derive(Debug, Default)]
pub(super) struct Answers {
    by_key: HashMap<IdempotencyKey, Kept>,
    /// Oldest first; the number tells answers of one moment apart.
    by_age: BTreeMap<(Timestamp, u64), IdempotencyKey>,
    /// The keys under which a task was the answer.
    of_task: HashMap<TaskId, Vec<IdempotencyKey>>,
    count: u64,
}

#[derive(Debug)]
struct Kept {
    answered: Answered,
    number: u64,
}

impl Answers {
    /// What was answered under a key.
    pub(super) fn get(&self, key: &IdempotencyKey) -> Option<&Answered> {
        self.by_key.get(key).map(|kept| &kept.answered)
    }

    /// Remembers an answer, unless there is one under its key.
    pub(super) fn put(&mut self, answered: Answered) {
        let key = answered.key.clone();
        if self.by_key.contains_key(&key) {
            return;
        }
        self.count += 1;
        let number = self.count;
        self.by_age.insert((answered.at, number), key.clone());
        if let Answer::Task(task) = &answered.answer {
            let keys = self.of_task.entry(task.clone()).or_default();
            keys.push(key.clone());
        }
        self.by_key.insert(key, Kept { answered, number });
    }

    /// The keys of what was answered at `before` or earlier, oldest first.
    pub(super) fn old(&self, before: Timestamp) -> impl Iterator<Item = &IdempotencyKey> {
        let up_to = ..=(before, u64::MAX);
        self.by_age.range(up_to).map(|(_, key)| key)
    }

    /// Forgets an answer, if it was given at `before` or earlier.
    pub(super) fn forget(&mut self, key: &IdempotencyKey, before: Timestamp) {
        if self.get(key).is_none_or(|answered| answered.at > before) {
            return;
        }
        let Some(kept) = self.by_key.remove(key) else {
            return;
        };
        self.by_age.remove(&(kept.answered.at, kept.number));
        if let Answer::Task(task) = kept.answered.answer
            && let Some(keys) = self.of_task.get_mut(&task)
        {
            keys.retain(|other| other != key);
            if keys.is_empty() {
                self.of_task.remove(&task);
            }
        }
    }

    /// Forgets the answers that were this task.
    pub(super) fn remove(&mut self, task: &TaskId) {
        for key in self.of_task.remove(task).unwrap_or_default() {
            if let Some(kept) = self.by_key.remove(&key) {
                self.by_age.remove(&(kept.answered.at, kept.number));
            }
        }
    }
}
