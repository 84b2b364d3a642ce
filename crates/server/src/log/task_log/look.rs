//! How a task stands.

use std::sync::{Arc, Weak};

use switchboard_types::model::{Task, TaskState};

use super::inner::Inner;
use super::{TaskLog, lock};
use crate::log::loads::Bound;
use crate::store::Error;
use crate::task::Head;

impl TaskLog {
    /// The task as it may be told, and where it stands.
    #[must_use]
    pub fn view(&self) -> Option<(Head, Arc<Task>)> {
        self.view_of(&lock(&self.inner))
    }

    fn view_of(&self, inner: &Inner) -> Option<(Head, Arc<Task>)> {
        let task = Arc::clone(inner.told.as_ref()?);
        let head = self.head(task.status.state, task.status.timestamp?, inner.durable);
        Some((head, task))
    }

    /// [`TaskLog::view`] for a reader that takes its time. The next event makes a copy of what a reader holds, so large
    /// tasks are counted.
    ///
    /// # Errors
    ///
    /// If readers hold too much of how this task stood before, or of all tasks.
    pub fn view_to_send(&self) -> Result<Option<(Head, Arc<Task>)>, Error> {
        let (view, may_be_large) = {
            let inner = lock(&self.inner);
            (self.view_of(&inner), inner.may_be_large())
        };
        if let (true, Some((_, task))) = (may_be_large, &view) {
            self.count(task, Bound::Budget)?;
        }
        Ok(view)
    }

    /// The same for the answer to a call that has been executed. It is counted, too, but never refused.
    #[must_use]
    pub fn view_to_answer(&self) -> Option<Arc<Task>> {
        let told = told(&lock(&self.inner));
        told.map(|told| self.to_answer(told))
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
        let told = told(&lock(&self.inner));
        if let Some((task, true)) = told {
            self.shared.loads.kept(&task, self.current(&task));
        }
    }

    /// Exists as long as this task is the present one.
    fn current(&self, task: &Arc<Task>) -> Weak<()> {
        let mut inner = lock(&self.inner);
        match &inner.told {
            Some(told) if Arc::ptr_eq(told, task) => {
                Arc::downgrade(inner.current.get_or_insert_default())
            }
            _ => Weak::new(),
        }
    }

    /// The last committed event, and the state after it. Unlike [`TaskLog::view`] it shares nothing: a task that a
    /// reader holds is copied when the next event comes.
    #[must_use]
    pub fn committed(&self) -> Option<(u64, TaskState)> {
        let inner = lock(&self.inner);
        Some((inner.durable, inner.told.as_ref()?.status.state))
    }

    /// Whether the agent may still answer with a bare message.
    #[must_use]
    pub fn is_held(&self) -> bool {
        lock(&self.inner).held
    }

    /// The last event, stored or not, and the state after it.
    #[must_use]
    pub fn last(&self) -> (u64, TaskState) {
        let inner = lock(&self.inner);
        (inner.seq, inner.state)
    }

    /// Whether the task waits for a message, and none has come.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        lock(&self.inner).is_waiting()
    }

    /// Whether the next message begins a turn.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let inner = lock(&self.inner);
        inner.turn.is_none() && !inner.state.is_terminal()
    }

    /// Says that a webhook was registered for this task.
    pub fn has_webhooks(&self) {
        lock(&self.inner).has_webhooks = true;
    }
}

/// The committed task, and whether it may be large.
pub(super) fn told(inner: &Inner) -> Option<(Arc<Task>, bool)> {
    let task = Arc::clone(inner.told.as_ref()?);
    Some((task, inner.may_be_large()))
}
