//! How a task stands.

use std::sync::Arc;

use switchboard_types::model::{Task, TaskState};

use super::{TaskLog, lock};
use crate::store::{Error, Head};

impl TaskLog {
    /// The task as it may be told, and where it stands.
    #[must_use]
    pub fn view(&self) -> Option<(Head, Arc<Task>)> {
        let inner = lock(&self.inner);
        let task = Arc::clone(inner.told.as_ref()?);
        let head = self.head(task.status.state, task.status.timestamp?, inner.durable);
        Some((head, task))
    }

    /// [`TaskLog::view`] for a reader that takes its time. While the agent works, the next event makes a copy of what a
    /// reader holds, so copies are counted.
    ///
    /// # Errors
    ///
    /// If readers hold too much of how this task stood before.
    pub fn view_to_send(&self) -> Result<Option<(Head, Arc<Task>)>, Error> {
        let view = self.view();
        if let Some((_, task)) = &view
            && !self.is_idle()
        {
            self.shared.loads.count_growing(task)?;
        }
        Ok(view)
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
