//! Streams that survive: items as they arrive, connected again when the connection is lost.
//!
//! After a cut the agent is asked to go on after the last event it numbered. An agent that numbers none begins again
//! with the task as it stands; then what changed is told, not the whole. An agent that sends neither is taken for a
//! bell: whenever it rings, the task is read. So nothing is lost. A piece that stood in the task already may be told twice
//! where nothing is numbered; then the artifact is replaced before the end.

pub(crate) mod difference;
pub(crate) mod fold;
mod late;
mod pieces;
mod reconnect;
pub(crate) mod resume;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_types::backoff::Backoff;
use switchboard_types::model::{Event, Task, TaskId};
use switchboard_types::operation::{Operation, Subscribe};
use tokio::time::Instant;

use self::difference::difference;
use self::late::Deadline;
use self::resume::{Failure, Seen, meaning};
use crate::client::{Client, Sent};
use crate::error::{Error, Kind, Reach};
use crate::options::CallOptions;
use crate::transport::{Arrival, Arriving};

/// A stream of events. Dropping it closes the connection; the task goes on.
pub struct Events {
    client: Client,
    operation: Operation,
    options: CallOptions,
    arriving: Option<Arriving>,
    how: How,
    seen: Seen,
    ready: VecDeque<Item>,
    /// The agent has taken a request, though there may be nothing new.
    answered: bool,
    /// How long the agent wants us to wait before connecting again.
    patience: Option<Duration>,
    /// The same for the next time only, from an agent that turned us away.
    wait: Option<Duration>,
    /// How often the task was read since there was news.
    polls: Backoff,
    /// When the connection was made.
    since: Instant,
    /// A snapshot and the events after it may overlap: nothing is numbered.
    overlaps: bool,
    /// What ends the stream or the turn, until what was told before it is set right.
    last_word: Option<Box<Arrival>>,
    ended: bool,
    /// Until when a connection that stays open after the end is read.
    late: Deadline,
    /// A task that ended without an answer was read already.
    asked_for_answer: bool,
}

/// One item of a stream.
#[derive(Debug, Clone)]
pub struct Item {
    /// The event.
    pub event: Event,
    /// Its id, if the agent numbers events.
    pub id: Option<Arc<str>>,
    /// Made from two snapshots after a reconnection: it may stand for several events.
    pub resumed: bool,
}

/// How to take what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Each item is an event that was not told yet.
    Live,
    /// Just connected again: the first item decides.
    Again,
    /// Each item only says that something happened.
    Bell,
    /// There is no stream: the task is read from time to time.
    Poll,
}

impl Events {
    pub(crate) fn new(
        client: Client,
        operation: Operation,
        options: CallOptions,
        arriving: Arriving,
    ) -> Self {
        // Whoever names an event knows the task; the agent may still begin with it.
        Self {
            arriving: Some(arriving),
            ..Self::of(client, operation, options, How::Live)
        }
    }

    /// A task that is known so far, and not connected to.
    pub(crate) fn of_known(
        client: Client,
        known: Arc<Task>,
        options: CallOptions,
        watchable: bool,
    ) -> Self {
        let id = known.id.clone();
        let how = if watchable { How::Again } else { How::Poll };
        let operation = Operation::Subscribe(Subscribe { id });
        let mut events = Self::of(client, operation, options, how);
        events.seen.task = Some(known);
        events
    }

    fn of(client: Client, operation: Operation, options: CallOptions, how: How) -> Self {
        Self {
            client,
            operation,
            options,
            arriving: None,
            how,
            seen: Seen::default(),
            ready: VecDeque::new(),
            answered: false,
            patience: None,
            wait: None,
            polls: reconnect::POLLS,
            since: Instant::now(),
            overlaps: false,
            last_word: None,
            ended: false,
            late: Deadline::default(),
            asked_for_answer: false,
        }
    }

    /// The next event; nothing once the stream is over. Can be dropped and called again at any time.
    pub async fn next(&mut self) -> Option<Result<Item, Error>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.ended {
                match self.read_on().await {
                    Ok(true) => continue,
                    Ok(false) => return None,
                    Err(error) => {
                        self.arriving = None;
                        self.ready.clear();
                        return Some(Err(error));
                    }
                }
            }
            let stepped = match &mut self.arriving {
                _ if self.last_word.is_some() => {
                    // It stays where it is meanwhile: this may be dropped. Boxed: it is seldom needed.
                    Box::pin(self.settle()).await;
                    match self.last_word.take() {
                        Some(arrival) => self.take(*arrival).await,
                        None => Ok(()),
                    }
                }
                Some(arriving) => {
                    let arrived = arriving.next().await;
                    if arrived.is_none() {
                        self.arriving = None;
                    }
                    self.arrived(arrived).await
                }
                None => self.resume().await,
            };
            if let Err(error) = stepped {
                self.ended = true;
                self.arriving = None;
                return Some(Err(error));
            }
        }
    }

    /// Whether the agent has answered, though there may have been nothing to tell: so it knows who asks.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.answered
    }

    /// The task as it stands after everything that was told.
    #[must_use]
    pub fn task(&self) -> Option<&Arc<Task>> {
        self.seen.task.as_ref()
    }

    /// Reads to the end and gives what came of it.
    ///
    /// # Errors
    ///
    /// If the stream fails.
    pub async fn finish(mut self) -> Result<Sent, Error> {
        while let Some(item) = self.next().await {
            item?;
        }
        let Seen { task, pieces, .. } = self.seen;
        match (task, pieces.into_message()) {
            (Some(task), _) => Ok(Sent::Task(task)),
            (None, Some(message)) => Ok(Sent::Message(message)),
            (None, None) => Err(Error::new(
                Kind::Interrupted,
                "the stream ended without an event",
            )),
        }
    }

    /// Takes in what a connection brought.
    async fn arrived(
        &mut self,
        arrived: Option<Result<Option<Arrival>, Error>>,
    ) -> Result<(), Error> {
        // Bytes alone are no answer: 0.x refuses in the stream.
        self.answered |= matches!(arrived, Some(Ok(Some(_))));
        match arrived {
            Some(Ok(Some(arrival))) => self.take(arrival).await,
            Some(Ok(None)) => {
                // Not right at the beginning: there are agents that greet and hang up.
                if self.since.elapsed() >= self.client.retry().first {
                    self.seen.fruitless = 0;
                }
                Ok(())
            }
            Some(Err(error)) => match meaning(&error) {
                Failure::Broken if self.can_go_on() => {
                    tracing::debug!(%error, "a stream broke");
                    self.lost();
                    Ok(())
                }
                Failure::Broken if error.kind() != Kind::Protocol => {
                    Err(interrupted().because(error))
                }
                // 0.x refuses in the stream.
                Failure::NoStream if self.how == How::Again && self.task_id().is_some() => {
                    self.lost();
                    self.how = How::Poll;
                    Ok(())
                }
                // The agent has answered, if only in the stream: the caller decides what to do.
                Failure::Broken | Failure::NoStream | Failure::Final => {
                    Err(self.client.explained(&self.operation, error))
                }
            },
            None if self.seen.may_close() => {
                self.ended = true;
                Ok(())
            }
            None if self.can_go_on() => {
                self.lost();
                Ok(())
            }
            None => {
                let message = "the stream ended before its first event";
                Err(Error::new(Kind::Interrupted, message).reached(Reach::Answered))
            }
        }
    }

    async fn take(&mut self, arrival: Arrival) -> Result<(), Error> {
        let Arrival {
            event,
            id,
            last,
            retry,
        } = arrival;
        self.patience = retry.or(self.patience);
        // Some agents go on with the last event instead of after it. Only the first one can be that: ids of others
        // are not always unique.
        let repeated = id.is_some() && id == self.seen.last_id && !matches!(event, Event::Task(_));
        if repeated && self.how == How::Again {
            self.how = How::Live;
            return Ok(());
        }
        if let Event::Task(now) = &event {
            let watched = matches!(self.operation, Operation::Subscribe(_));
            self.overlaps =
                (watched || self.how == How::Again) && id.is_none() && !now.artifacts.is_empty();
        }
        match (&event, self.how) {
            (Event::Task(now), How::Again) => {
                let now = Arc::clone(now);
                self.how = How::Live;
                self.tell_difference(&now);
            }
            (_, How::Again | How::Bell)
                if self.seen.last_id.is_none() && self.seen.task.is_some() =>
            {
                self.how = How::Bell;
                if !self.look().await? {
                    return Ok(());
                }
            }
            _ => {
                self.how = How::Live;
                if self.overlaps && reconnect::is_last_word(&event) {
                    self.overlaps = false;
                    self.last_word = Some(Box::new(Arrival {
                        event,
                        id,
                        last,
                        retry,
                    }));
                    return Ok(());
                }
                self.seen.take(&event);
                self.ready.push_back(Item {
                    event,
                    id: id.clone(),
                    resumed: false,
                });
            }
        }
        if id.is_some() {
            self.seen.last_id = id;
        }
        if self.seen.is_over()
            && self
                .seen
                .task
                .as_ref()
                .is_some_and(|t| self.client.doubts(t))
            && let Err(error) = self.look().await
        {
            // What was told stands.
            tracing::debug!(%error, "a task could not be looked at again");
        }
        if last || self.seen.is_over() {
            self.ended = true;
        }
        Ok(())
    }

    fn tell_difference(&mut self, now: &Arc<Task>) {
        let Some(seen) = &self.seen.task else {
            return self.tell(Event::Task(Arc::clone(now)));
        };
        for event in difference(seen, now) {
            self.tell(event);
        }
        self.seen.agree(now);
    }

    /// Tells what a snapshot showed.
    fn tell(&mut self, event: Event) {
        self.seen.take(&event);
        self.ready.push_back(Item {
            event,
            id: None,
            resumed: true,
        });
    }

    /// The task, as far as we know which one it is.
    fn task_id(&self) -> Option<TaskId> {
        match (&self.seen.task, &self.operation) {
            (Some(task), _) => Some(task.id.clone()),
            (None, Operation::Subscribe(subscribe)) => Some(subscribe.id.clone()),
            (None, _) => None,
        }
    }

    fn can_go_on(&self) -> bool {
        self.task_id().is_some() || self.options.idempotency_key.is_some()
    }

    fn lost(&mut self) {
        self.arriving = None;
        self.seen.fruitless = self.seen.fruitless.max(1);
    }
}

fn interrupted() -> Error {
    let message = "the stream broke and could not be taken up again";
    Error::new(Kind::Interrupted, message)
        .reached(Reach::Sent)
        .hinting("read the task, or send with an idempotency key so that the send can be repeated")
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("how", &self.how)
            .field("seen", &self.seen)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
