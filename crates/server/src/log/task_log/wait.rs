//! Waiting for a task: until something is stored, decided, settled, over, or there is room.

use std::sync::Arc;

use switchboard_types::model::{Message, Task, TaskState};

use super::state::{Ahead, State};
use super::view::committed_task;
use super::{TaskLog, lock};
use crate::store::Error;

/// How many events may wait to be stored before the agent is made to wait.
const MAX_PENDING: usize = 512;

impl Ahead {
    /// Whether there is room for another event; `None` if the agent has to wait.
    fn room(&self) -> Option<Result<(), TaskState>> {
        if self.state.is_terminal() {
            return Some(Err(self.state));
        }
        (self.pending.len() < MAX_PENDING).then_some(Ok(()))
    }
}

impl TaskLog {
    /// Waits until event `seq` is stored, or will never be: the agent answered with a direct message.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn stored_up_to(&self, seq: u64) -> Result<(), Error> {
        self.wait(|state| {
            (state.committed.seq >= seq || state.phase.reply().is_some()).then_some(())
        })
        .await
    }

    /// Waits until the agent answered with a direct message, or a task was stored (`None`).
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn decided(&self) -> Result<Option<Arc<Message>>, Error> {
        self.wait(|state| match state.phase.reply() {
            Some(message) => Some(Some(message.clone())),
            None => (state.committed.seq > 0).then_some(None),
        })
        .await
    }

    /// Waits until event `seq` is stored, however long the store is in trouble, or will never be: the agent
    /// answered with a direct message, or the task was given up.
    pub async fn kept(&self, seq: u64) {
        let kept = |state: &State| {
            let committed = state.committed.seq;
            committed >= seq || state.phase.reply().is_some() || state.is_given_up()
        };
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if kept(&lock(&self.state)) {
                return;
            }
            ring.await;
        }
    }

    /// Waits until the task is over or waits for the client, event `since` and all before it stored. It is counted as
    /// [`TaskLog::view_to_answer`] does.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn settled(&self, since: u64) -> Result<Arc<Task>, Error> {
        let settled = self.wait(|state| {
            let stands = state.committed.state()?;
            let settled = stands.is_terminal() || stands.is_interrupted();
            let settled = settled && state.committed.seq >= since;
            committed_task(&state.committed).filter(|_| settled)
        });
        settled.await.map(|task| self.to_answer(task))
    }

    /// Waits until the task is over. It is counted as [`TaskLog::view_to_answer`] does.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn ended(&self) -> Result<Arc<Task>, Error> {
        let ended = self.wait(|state| {
            let stands = state.committed.state()?;
            committed_task(&state.committed).filter(|_| stands.is_terminal())
        });
        ended.await.map(|task| self.to_answer(task))
    }

    /// Waits until no turn runs.
    pub(crate) async fn turn_ended(&self) {
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if lock(&self.state).phase.turn().is_none() {
                return;
            }
            ring.await;
        }
    }

    /// Waits until not too much waits to be stored.
    ///
    /// # Errors
    ///
    /// The state, if the task is over.
    pub async fn room(&self) -> Result<(), TaskState> {
        // Before anything is registered: nearly always there is room.
        if let Some(found) = lock(&self.state).ahead.room() {
            return found;
        }
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if let Some(found) = lock(&self.state).ahead.room() {
                return found;
            }
            ring.await;
        }
    }

    /// Waits until `found` finds something, or something goes wrong.
    async fn wait<T>(&self, found: impl Fn(&State) -> Option<T>) -> Result<T, Error> {
        if let Some(found) = found(&lock(&self.state)) {
            return Ok(found);
        }
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            {
                let state = lock(&self.state);
                if let Some(found) = found(&state) {
                    return Ok(found);
                }
                if let Some(trouble) = &state.trouble {
                    return Err(trouble.clone());
                }
            }
            ring.await;
        }
    }
}
