//! Deliveries that were given up.

use std::collections::{BTreeMap, HashMap};

use switchboard_types::model::TaskId;

use crate::task::DeadLetter;

/// The deliveries that were given up.
#[derive(Debug, Default)]
pub(super) struct DeadLetters {
    /// Oldest first.
    letters: BTreeMap<u64, DeadLetter>,
    of_task: HashMap<TaskId, Vec<u64>>,
    count: u64,
}

impl DeadLetters {
    /// Keeps a letter.
    pub(super) fn put(&mut self, letter: DeadLetter) {
        self.count += 1;
        let numbers = self.of_task.entry(letter.task.clone()).or_default();
        numbers.push(self.count);
        self.letters.insert(self.count, letter);
    }

    /// The letters, newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = &DeadLetter> {
        self.letters.values().rev()
    }

    /// Lets the letters of a task go.
    pub(super) fn remove(&mut self, task: &TaskId) {
        for number in self.of_task.remove(task).unwrap_or_default() {
            self.letters.remove(&number);
        }
    }
}
