//! How a task stands.

use std::sync::{Arc, Weak};

use switchboard_types::model::{Task, TaskState};

use super::state::{Committed, Phase};
use super::{TaskLog, lock};
use crate::log::loads::Bound;
use crate::store::Error;
use crate::task::{Head, TurnRecord};
use crate::trace::Trace;

impl TaskLog {
    /// The committed task, and where it stands.
    #[must_use]
    pub fn view(&self) -> Option<(Head, Arc<Task>)> {
        self.view_of(&lock(&self.state).committed)
    }

    /// Where the committed task stands.
    pub(super) fn committed_head(&self) -> Option<Head> {
        let committed = &lock(&self.state).committed;
        let status = &committed.task.as_ref()?.status;
        Some(self.head(status.state, status.timestamp?, committed.seq))
    }

    fn view_of(&self, committed: &Committed) -> Option<(Head, Arc<Task>)> {
        let task = Arc::clone(committed.task.as_ref()?);
        let head = self.head(task.status.state, task.status.timestamp?, committed.seq);
        Some((head, task))
    }

    /// [`TaskLog::view`] for a reader that takes its time. The next event makes a copy of what a reader holds, so large
    /// tasks are counted.
    ///
    /// # Errors
    ///
    /// If readers hold too much of how this task stood before, or of all tasks.
    pub(crate) fn view_to_send(&self) -> Result<Option<(Head, Arc<Task>)>, Error> {
        let (view, may_be_large) = {
            let committed = &lock(&self.state).committed;
            (self.view_of(committed), committed.may_be_large())
        };
        if let (true, Some((_, task))) = (may_be_large, &view) {
            self.count(task, Bound::Budget)?;
        }
        Ok(view)
    }

    /// The same for the answer to a call that has been executed. It is counted, too, but never refused.
    #[must_use]
    pub fn view_to_answer(&self) -> Option<Arc<Task>> {
        let task = committed_task(&lock(&self.state).committed);
        task.map(|task| self.to_answer(task))
    }

    /// A task for such an answer, and whether it may be large.
    pub(super) fn to_answer(&self, (task, may_be_large): (Arc<Task>, bool)) -> Arc<Task> {
        if may_be_large {
            // What is not bound is not refused.
            self.count(&task, Bound::None).ok();
        }
        task
    }

    fn count(&self, task: &Arc<Task>, bound: Bound) -> Result<(), Error> {
        self.shared
            .loads
            .count_growing(task, self.current(task), bound)
    }

    /// Lets the task that was read for this log not count as held by a reader.
    pub(in crate::log) fn keeps_its_task(&self) {
        let task = committed_task(&lock(&self.state).committed);
        if let Some((task, true)) = task {
            self.shared.loads.kept(&task, self.current(&task));
        }
    }

    /// Exists as long as this task is the present one.
    fn current(&self, task: &Arc<Task>) -> Weak<()> {
        let committed = &mut lock(&self.state).committed;
        match &committed.task {
            Some(present) if Arc::ptr_eq(present, task) => {
                Arc::downgrade(committed.current.get_or_insert_default())
            }
            _ => Weak::new(),
        }
    }

    /// The last committed event, and the state after it. Unlike [`TaskLog::view`] it shares nothing: a task that a
    /// reader holds is copied when the next event comes.
    #[must_use]
    pub fn committed(&self) -> Option<(u64, TaskState)> {
        let committed = &lock(&self.state).committed;
        Some((committed.seq, committed.state()?))
    }

    /// Whether the agent may still answer with a direct message.
    #[must_use]
    pub(crate) fn is_draft(&self) -> bool {
        matches!(lock(&self.state).phase, Phase::Draft(_))
    }

    /// The last event, stored or not, and the state after it.
    #[must_use]
    pub fn last(&self) -> (u64, TaskState) {
        let ahead = &lock(&self.state).ahead;
        (ahead.seq, ahead.state)
    }

    /// Whether the task waits for a message, and none has come.
    #[must_use]
    pub(crate) fn is_waiting(&self) -> bool {
        lock(&self.state).is_waiting()
    }

    /// Whether a turn runs or waits for capacity.
    #[must_use]
    pub(crate) fn is_busy(&self) -> bool {
        lock(&self.state).phase.turn().is_some()
    }

    /// The trace that the turn belongs to.
    #[must_use]
    pub fn trace(&self) -> Option<Arc<Trace>> {
        lock(&self.state).trace.clone()
    }

    /// The record of the latest turn.
    #[must_use]
    pub fn turn(&self) -> TurnRecord {
        let state = lock(&self.state);
        let record = state.record.as_deref().cloned();
        record.unwrap_or_else(|| TurnRecord::first(self.id().clone()))
    }

    /// A webhook was registered for this task.
    pub fn has_webhooks(&self) {
        lock(&self.state).has_webhooks = true;
    }
}

/// The committed task, and whether it may be large.
pub(super) fn committed_task(committed: &Committed) -> Option<(Arc<Task>, bool)> {
    let task = Arc::clone(committed.task.as_ref()?);
    Some((task, committed.may_be_large()))
}
