//! Taking up a stream again: watching the task, or reading it where it cannot be watched.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::backoff::Backoff;
use switchboard_types::model::{Event, Task, TaskId};
use switchboard_types::operation::{GetTask, Operation, Subscribe};
use tokio::time::{Instant, sleep, timeout};

use super::difference::correction;
use super::resume::{Failure, MOST_FRUITLESS, ends, meaning};
use super::{Events, How, interrupted};
use crate::error::Error;
use crate::options::CallOptions;
use crate::transport::Reply;

/// How soon a task is read that cannot be watched, and how seldom while there is nothing new.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);
pub(super) const POLLS: Backoff = Backoff::new(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);

/// The longest an agent can make us wait before connecting again.
const MOST_PATIENCE: Duration = Duration::from_secs(300);

/// How long the last word may wait for what was said before it.
const SETTLE: Duration = Duration::from_secs(5);

impl Events {
    /// Waits for the first event, which stays the next one to be read. There are agents that take a request, and refuse
    /// it in the stream.
    ///
    /// # Errors
    ///
    /// If none comes: what the agent has answered, or why there is no answer.
    pub async fn until_first(&mut self) -> Result<(), Error> {
        if let Some(first) = self.next().await.transpose()? {
            self.ready.push_front(first);
        }
        Ok(())
    }

    /// Connects again, after a pause that grows while there is nothing new.
    pub(super) async fn resume(&mut self) -> Result<(), Error> {
        if self.seen.fruitless >= MOST_FRUITLESS {
            return Err(interrupted());
        }
        if self.how == How::Poll {
            sleep(self.polls.next_delay()).await;
            return self.polled().await;
        }
        let retry = self.client.retry();
        let patience = self.wait.take().or(self.patience);
        let patience = patience.map(|asked| asked.min(MOST_PATIENCE));
        // A task that was never connected to is connected to at once.
        if self.seen.fruitless > 0 {
            sleep(retry.delay_after(self.seen.fruitless, patience)).await;
        }
        // Not where events have ids: what is read ahead would be told again.
        let blind = self.seen.last_id.is_none() && self.seen.fruitless > 1;
        if blind && self.glance().await? {
            return Ok(());
        }
        let (operation, mut options) = match &self.seen.task {
            Some(task) => {
                let id = task.id.clone();
                (Operation::Subscribe(Subscribe { id }), self.again())
            }
            // Only with an idempotency key, which makes it the same send.
            None => (self.operation.clone(), self.options.clone()),
        };
        if let Some(id) = &self.seen.last_id {
            options.last_event_id = Some(id.to_string());
        }
        match self.client.reach_once(&operation, &options).await {
            Ok(Reply::Events(arriving)) => {
                self.arriving = Some(arriving);
                self.since = Instant::now();
                self.how = How::Again;
                // Counted until something new comes.
                self.seen.fruitless += 1;
                Ok(())
            }
            Ok(Reply::Response(_)) => {
                self.how = How::Poll;
                self.polled().await
            }
            Err(error) => match meaning(&error) {
                Failure::Broken => {
                    self.seen.fruitless += 1;
                    self.wait = error.wait();
                    Ok(())
                }
                Failure::NoStream if self.task_id().is_some() => {
                    self.how = How::Poll;
                    self.polled().await
                }
                Failure::NoStream | Failure::Final => Err(error),
            },
        }
    }

    /// There are agents whose streams of a task that is over are just empty: before it is watched once more, it is
    /// read. Whether it is over; an agent that cannot tell is simply asked again.
    async fn glance(&mut self) -> Result<bool, Error> {
        let fruitless = self.seen.fruitless;
        if self.task_id().is_none() || !self.look().await? {
            return Ok(false);
        }
        if self.ready.is_empty() {
            self.seen.fruitless = fruitless;
        }
        Ok(self.ended || !self.ready.is_empty())
    }

    /// Reads a task that cannot be watched; one that cannot be read either is given up in the end.
    async fn polled(&mut self) -> Result<(), Error> {
        if !self.look().await? {
            self.seen.fruitless += 1;
        }
        Ok(())
    }

    /// There are agents that put a piece into the snapshot and send it once more. Nobody can tell that from a piece
    /// that says the same again, so before the last word is passed on, the pieces are compared with what the agent
    /// keeps. If that cannot be read, or is something else, what was told stands.
    pub(super) async fn settle(&mut self) {
        let Some(id) = self.seen.task.as_ref().map(|seen| seen.id.clone()) else {
            return;
        };
        let now = match timeout(SETTLE, self.read_task(id)).await {
            Ok(Ok(now)) => now,
            Ok(Err(error)) => return tracing::debug!(%error, "a task cannot be read at its end"),
            Err(_) => return tracing::debug!("a task was not read in time at its end"),
        };
        let last = self.last_word.as_ref().map(|arrival| &arrival.event);
        if !matches!(last, Some(Event::Status(update)) if update.status.state == now.status.state) {
            return;
        }
        let seen = self.seen.task.as_deref();
        let pieces = seen.map(|seen| correction(seen, &now));
        for piece in pieces.into_iter().flatten() {
            self.tell(piece);
        }
    }

    /// Reads a task.
    pub(super) async fn read_task(&mut self, id: TaskId) -> Result<Arc<Task>, Error> {
        let get = Operation::Get(GetTask {
            id,
            history_length: None,
        });
        self.client.get_task(get, &self.again()).await
    }

    /// What goes with every later request: all that the first one had, but for what named that one.
    fn again(&self) -> CallOptions {
        CallOptions {
            request_id: None,
            idempotency_key: None,
            last_event_id: None,
            ..self.options.clone()
        }
    }

    /// Reads the task and tells what is new. Whether it could be read: otherwise the connection counts as lost.
    pub(super) async fn look(&mut self) -> Result<bool, Error> {
        let Some(id) = self.task_id() else {
            return Ok(false);
        };
        match self.read_task(id).await {
            Ok(now) => {
                self.answered = true;
                self.seen.fruitless = 0;
                self.asked_for_answer |= ends(now.status.state);
                self.tell_difference(&now);
                if !self.ready.is_empty() {
                    self.polls.reset();
                }
                if self.seen.is_over() || self.how == How::Poll && self.seen.may_close() {
                    self.ended = true;
                    self.arriving = None;
                }
                Ok(true)
            }
            Err(error) if meaning(&error) == Failure::Broken => {
                self.lost();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether nothing follows an event by itself.
pub(super) fn is_last_word(event: &Event) -> bool {
    let Event::Status(update) = event else {
        return false;
    };
    let state = update.status.state;
    ends(state) || state.is_interrupted()
}
