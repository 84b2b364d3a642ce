//! Waiting for a task: until something is stored, decided, settled, over, or there is room.

use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::{Message, Task, TaskState};

use super::inner::Inner;
use super::look::told;
use super::{TaskLog, lock};
use crate::store::Error;
use crate::task::{Change, Note};

/// How many events may wait to be stored before the agent is made to wait.
const MAX_PENDING: usize = 512;

impl Inner {
    /// Whether there is room for another event; `None` if the agent has to wait.
    fn room(&self) -> Option<Result<(), TaskState>> {
        if self.state.is_terminal() {
            return Some(Err(self.state));
        }
        (self.pending.len() < MAX_PENDING).then_some(Ok(()))
    }
}

impl TaskLog {
    /// Waits until event `seq` is stored, or will never be: the agent answered with a bare message.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn stored_up_to(&self, seq: u64) -> Result<(), Error> {
        self.wait(|inner| (inner.durable >= seq || inner.reply.is_some()).then_some(()))
            .await
    }

    /// Keeps a note about the task, in place of the one of that name. When this returns it is durable.
    ///
    /// # Errors
    ///
    /// If the store could not.
    pub async fn note(&self, name: &str, value: Value) -> Result<(), Error> {
        let note = self.noted(name, value);
        // What is noted follows from what was said: it must not last longer than that. Together they are stored sooner.
        let (seq, note) = {
            let mut inner = lock(&self.inner);
            let alone = inner.pending.is_empty().then(|| note.clone());
            if alone.is_none() {
                inner.beside.push(note);
            }
            (inner.seq, alone)
        };
        self.stored_up_to(seq).await?;
        match note {
            Some(note) => self.shared.commit(note).await,
            None => Ok(()),
        }
    }

    /// Keeps a note for a held task, to be stored with it if it is published. Whether it is held.
    pub fn note_if_published(&self, name: &str, value: &Value) -> bool {
        let mut inner = lock(&self.inner);
        if inner.held {
            inner.beside.push(self.noted(name, value.clone()));
        }
        inner.held
    }

    fn noted(&self, name: &str, value: Value) -> Change {
        Change::Note(Note {
            task: self.id().clone(),
            name: name.to_owned(),
            value,
        })
    }

    /// Waits until the agent answered with a bare message, or a task was stored (`None`).
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn decided(&self) -> Result<Option<Arc<Message>>, Error> {
        self.wait(|inner| match &inner.reply {
            Some(message) => Some(Some(message.clone())),
            None => (inner.durable > 0).then_some(None),
        })
        .await
    }

    /// Waits until event `seq` is stored, however long the store is in trouble, or will never be: the agent
    /// answered with a bare message, or the task was given up.
    pub async fn kept(&self, seq: u64) {
        let kept = |inner: &Inner| {
            let given_up = inner.durable == 0 && inner.trouble.is_some();
            inner.durable >= seq || inner.reply.is_some() || given_up
        };
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if kept(&lock(&self.inner)) {
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
        let settled = self.wait(|inner| {
            let state = inner.told.as_ref()?.status.state;
            let settled = state.is_terminal() || state.is_interrupted();
            told(inner).filter(|_| settled && inner.durable >= since)
        });
        settled.await.map(|told| self.to_answer(told))
    }

    /// Waits until the task is over. It is counted as [`TaskLog::view_to_answer`] does.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn ended(&self) -> Result<Arc<Task>, Error> {
        let ended = self.wait(|inner| {
            let state = inner.told.as_ref()?.status.state;
            told(inner).filter(|_| state.is_terminal())
        });
        ended.await.map(|told| self.to_answer(told))
    }

    /// Waits until not too much waits to be stored.
    ///
    /// # Errors
    ///
    /// The state, if the task is over.
    pub async fn room(&self) -> Result<(), TaskState> {
        // Before anything is registered: nearly always there is room.
        if let Some(found) = lock(&self.inner).room() {
            return found;
        }
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if let Some(found) = lock(&self.inner).room() {
                return found;
            }
            ring.await;
        }
    }

    /// Waits until `found` finds something, or something goes wrong.
    async fn wait<T>(&self, found: impl Fn(&Inner) -> Option<T>) -> Result<T, Error> {
        if let Some(found) = found(&lock(&self.inner)) {
            return Ok(found);
        }
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            {
                let inner = lock(&self.inner);
                if let Some(found) = found(&inner) {
                    return Ok(found);
                }
                if let Some(trouble) = &inner.trouble {
                    return Err(trouble.clone());
                }
            }
            ring.await;
        }
    }
}
