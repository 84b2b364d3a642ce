//! A reply of many events: a cursor, and what happens when its reader leaves.

use std::fmt;

use switchboard_types::model::TaskId;

use super::CallRecorder;
use crate::log::{Cursor, Item};
use crate::store::Error;

/// The events of a task, for one reader. Dropping it ends the call.
pub struct EventStream {
    cursor: Cursor,
    /// Called if the stream is dropped before its last event was read.
    on_abandoned: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// Counts the call and its events; ends the call when it is dropped.
    recorder: Option<Box<CallRecorder>>,
}

impl EventStream {
    /// Calls this if the reader leaves before the last event.
    pub(crate) fn on_abandoned(
        mut self,
        abandoned: Option<Box<dyn FnOnce() + Send + Sync>>,
    ) -> Self {
        self.on_abandoned = abandoned;
        self
    }

    /// Reports what is read to `recorder`, and by its drop when the stream is over.
    pub(crate) fn record(&mut self, recorder: Box<CallRecorder>) {
        self.recorder = Some(recorder);
    }

    /// The task this stream follows.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        self.cursor.task_id()
    }

    /// Whether the reader has sent a message, which is committed.
    #[must_use]
    pub fn is_executed(&self) -> bool {
        self.cursor.is_executed()
    }

    /// Whether there will be no more events.
    #[must_use]
    pub(crate) fn has_ended(&self) -> bool {
        self.cursor.has_ended()
    }

    /// Waits for the next events; `None` when there will be no more.
    ///
    /// # Errors
    ///
    /// As [`Cursor::next`].
    pub async fn next(&mut self) -> Result<Option<Vec<Item>>, Error> {
        let items = self.cursor.next().await?;
        if let (Some(recorder), Some(items)) = (&mut self.recorder, &items) {
            recorder.sent(items.len());
        }
        if self.cursor.has_ended() {
            self.on_abandoned = None;
        }
        Ok(items)
    }
}

impl From<Cursor> for EventStream {
    fn from(cursor: Cursor) -> Self {
        Self {
            cursor,
            on_abandoned: None,
            recorder: None,
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let Some(abandoned) = self.on_abandoned.take() {
            abandoned();
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
