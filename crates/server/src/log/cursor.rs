//! Cursors: how every reader follows a task, from any event on, at its own pace.

use std::sync::Arc;

use switchboard_types::model::{Event, StatusUpdate, TaskId, TaskStatus};

use super::task_log::Found;
use super::{TaskLog, trimmed};
use crate::clock;
use crate::store::Error;
use crate::task::{Entry, awaits_credentials_out_of_band};

/// How many events are taken at once; fewer if they are large (`MAX_EVENT_PAGE`).
const PAGE: usize = 256;

/// A place in a task's log, for one reader.
#[derive(Debug)]
pub struct Cursor {
    log: Arc<TaskLog>,
    /// Begin with the whole task as it stands.
    snapshot: bool,
    after: u64,
    until: Until,
    ended: bool,
    /// The reader has sent a message, which is stored.
    executed: bool,
}

/// Where a reader stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// At the end of the turn: when the task is over or waits for a message of its caller. Only a task that gets its
    /// credentials out of band goes on without one, so its streams stay open (A2A 1.0 §7.6.1).
    TurnEnds,
    /// When the task is over.
    TaskEnds,
}

/// One event for a reader.
#[derive(Debug, Clone)]
pub struct Item {
    /// The event.
    pub entry: Arc<Entry>,
    /// The reader's stream ends with it.
    pub last: bool,
}

impl Cursor {
    /// Follows `log` from the event after `after`.
    #[must_use]
    pub fn after(log: Arc<TaskLog>, after: u64, until: Until) -> Self {
        Self {
            log,
            snapshot: false,
            after,
            until,
            ended: false,
            executed: false,
        }
    }

    /// For a reader that has sent a message. It is stored: no lack of room may look as if it were not.
    pub(crate) fn executed(mut self) -> Self {
        self.executed = true;
        self
    }

    /// Begins with the whole task as it stands, then follows it.
    #[must_use]
    pub(crate) fn from_now(log: Arc<TaskLog>, until: Until) -> Self {
        Self {
            snapshot: true,
            ..Self::after(log, 0, until)
        }
    }

    /// The task this cursor follows.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        self.log.id()
    }

    /// Whether the reader has sent a message, which is stored.
    #[must_use]
    pub fn is_executed(&self) -> bool {
        self.executed
    }

    /// Whether there will be no more events.
    #[must_use]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Waits for the next events; `None` when there will be no more.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or could not take the task's first event.
    pub async fn next(&mut self) -> Result<Option<Vec<Item>>, Error> {
        if self.ended {
            return Ok(None);
        }
        if self.snapshot {
            let items = self.task_as_it_stands()?;
            if !items.is_empty() {
                return Ok(Some(items));
            }
        }
        match self.found().await? {
            Found::Entries(entries) => Ok(Some(self.take(entries))),
            Found::InStore => self.read_store().await.map(Some),
            Found::Reply(message) => {
                self.ended = true;
                let entry = Arc::new(Entry::new(0, clock::now(), Event::Message(message), None));
                Ok(Some(vec![Item { entry, last: true }]))
            }
            Found::Nothing => {
                self.ended = true;
                Ok(None)
            }
        }
    }

    /// Waits until there is something; nothing means that the task is over.
    async fn found(&self) -> Result<Found, Error> {
        // Before anything is registered: a reader that lags behind, or comes late, need not wait.
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        loop {
            let ring = self.log.changed().notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if let Some(found) = self.find()? {
                return Ok(found);
            }
            ring.await;
        }
    }

    /// What there is; `None` if it is still to come.
    fn find(&self) -> Result<Option<Found>, Error> {
        match self.log.find(self.after, PAGE)? {
            Found::Nothing if !self.task_is_over() => Ok(None),
            found => Ok(Some(found)),
        }
    }

    /// The whole task in place of the events up to now. Where the stream ends with it, its status follows
    /// once more: 0.x readers are told the end by a status update.
    fn task_as_it_stands(&mut self) -> Result<Vec<Item>, Error> {
        let view = match self.log.view_to_send() {
            Err(Error::Exhausted(_)) if self.executed => {
                let trimmed = |(head, task): (_, Arc<_>)| (head, Arc::new(trimmed(&task)));
                self.log.view().map(trimmed)
            }
            view => view?,
        };
        let Some((head, task)) = view else {
            return Ok(Vec::new());
        };
        self.snapshot = false;
        self.after = head.seq;
        self.ended = self.ends_with(&task.status);
        let closing = self.ended.then(|| {
            Event::Status(StatusUpdate {
                task_id: task.id.clone(),
                context_id: task.context_id.clone(),
                status: task.status.clone(),
                metadata: None,
            })
        });
        let whole = Event::Task(task);
        let item = |event, last| Item {
            entry: Arc::new(Entry::new(head.seq, head.updated, event, None)),
            last,
        };
        let mut items = vec![item(whole, false)];
        items.extend(closing.map(|event| item(event, true)));
        Ok(items)
    }

    fn task_is_over(&self) -> bool {
        self.log
            .committed()
            .is_some_and(|(seq, state)| state.is_terminal() && seq <= self.after)
    }

    /// Events that are no longer in memory. If they were folded away meanwhile, the whole task stands in
    /// for them: nothing is lost, only told as one.
    async fn read_store(&mut self) -> Result<Vec<Item>, Error> {
        let entries = self.log.read_stored(self.after, PAGE).await?;
        let gapless = entries.first().is_some_and(|e| e.seq == self.after + 1);
        if gapless {
            return Ok(self.take(entries));
        }
        self.task_as_it_stands()
    }

    fn take(&mut self, entries: Vec<Arc<Entry>>) -> Vec<Item> {
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            self.after = entry.seq;
            self.ended = self.ends_at(&entry);
            items.push(Item {
                entry,
                last: self.ended,
            });
            if self.ended {
                break;
            }
        }
        items
    }

    fn ends_at(&self, entry: &Entry) -> bool {
        match &entry.event {
            Event::Status(update) => self.ends_with(&update.status),
            Event::Task(_) | Event::Message(_) | Event::Artifact(_) => false,
        }
    }

    fn ends_with(&self, status: &TaskStatus) -> bool {
        let turn_ends = || status.state.is_interrupted() && !awaits_credentials_out_of_band(status);
        status.state.is_terminal() || (self.until == Until::TurnEnds && turn_ends())
    }
}
