//! Turns and their steps, and releases that are pending.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

use crate::store::MAX_EVENT_PAGE;
use crate::task::{PendingRelease, Step, StoredStep, TurnRecord};

/// The records of all tasks that have more to say than that their first turn began.
#[derive(Debug, Default)]
pub(super) struct TurnTable {
    turns: HashMap<TaskId, BTreeMap<u32, TurnRecord>, RandomState>,
    /// Numbered from 1, without gaps.
    steps: HashMap<TaskId, Vec<StoredStep>, RandomState>,
    releases: BTreeMap<TaskId, PendingRelease>,
}

impl TurnTable {
    /// Stores a turn in place of the one with its number. An implied one needs no record.
    pub(super) fn put(&mut self, turn: TurnRecord) {
        if !turn.is_implied() {
            let turns = self.turns.entry(turn.task.clone()).or_default();
            turns.insert(turn.number, turn);
        } else if let Some(turns) = self.turns.get_mut(&turn.task) {
            turns.remove(&turn.number);
        }
    }

    /// The turns of a task that exists, in order.
    pub(super) fn of(&self, task: &TaskId) -> Vec<TurnRecord> {
        let stored = self.turns.get(task);
        let is_stored = stored.is_some_and(|turns| turns.contains_key(&1));
        let implied = (!is_stored).then(|| TurnRecord::first(task.clone()));
        let stored = stored.into_iter().flat_map(BTreeMap::values).cloned();
        implied.into_iter().chain(stored).collect()
    }

    /// The latest turn of a task that exists.
    pub(super) fn latest(&self, task: &TaskId) -> TurnRecord {
        let stored = self.turns.get(task).and_then(BTreeMap::last_key_value);
        stored.map_or_else(|| TurnRecord::first(task.clone()), |(_, turn)| turn.clone())
    }

    /// Appends a step.
    pub(super) fn add_step(&mut self, step: Step) {
        let steps = self.steps.entry(step.task.clone()).or_default();
        let number = steps.last().map_or(0, |last| last.number) + 1;
        steps.push(StoredStep { number, step });
    }

    /// The latest step of a task under a name.
    pub(super) fn step(&self, task: &TaskId, name: &str) -> Option<&StoredStep> {
        let steps = self.steps_of(task).iter();
        steps.rev().find(|stored| stored.step.name == name)
    }

    /// A page of the steps after `after`.
    pub(super) fn steps(&self, task: &TaskId, after: u64, limit: usize) -> Vec<StoredStep> {
        let steps = self.steps_of(task);
        let start = steps.partition_point(|stored| stored.number <= after);
        let mut weight = 0;
        let page = steps[start..].iter().take(limit).take_while(|stored| {
            let fits = weight < MAX_EVENT_PAGE;
            weight += stored.step.value.to_string().len();
            fits
        });
        page.cloned().collect()
    }

    fn steps_of(&self, task: &TaskId) -> &[StoredStep] {
        self.steps.get(task).map_or(&[], Vec::as_slice)
    }

    pub(super) fn put_release(&mut self, release: PendingRelease) {
        self.releases.insert(release.task.clone(), release);
    }

    pub(super) fn release(&self, task: &TaskId) -> Option<&PendingRelease> {
        self.releases.get(task)
    }

    /// The tasks with a pending release, in id order.
    pub(super) fn pending_after(&self, after: Option<TaskId>) -> impl Iterator<Item = &TaskId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let releases = self.releases.range((start, Bound::Unbounded));
        releases.map(|(task, _)| task)
    }

    pub(super) fn remove_release(&mut self, task: &TaskId) {
        self.releases.remove(task);
    }

    /// Removes everything about a task.
    pub(super) fn remove(&mut self, task: &TaskId) {
        self.turns.remove(task);
        self.steps.remove(task);
        self.releases.remove(task);
    }
}
