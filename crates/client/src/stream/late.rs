//! What comes after the end. A stream should close with its terminal event, or with its message. Some agents then send
//! the whole task once more, with artifacts or a history that no event told, or send a message in pieces; others never
//! close. So a stream is read on until it closes, for a bounded time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_types::model::{Event, Task, TaskState};
use tokio::time::{Instant, timeout, timeout_at};

use super::Events;
use super::resume::ends;
use crate::answer::answer_parts;
use crate::error::{Error, Kind, Reach};

/// How long a stream may stay open after the end of its task. What belongs to the end is written right after it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a stream may pause between two pieces of a message: the agent may be thinking.
const NEXT_PIECE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long all pieces of a message may take together.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a task is read for that ended without a word.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Until when a connection that stays open after the end is read.
#[derive(Debug, Default)]
pub(super) struct Deadline {
    next: Option<Instant>,
    last: Option<Instant>,
}

impl Deadline {
    /// Until when to wait for what comes next, as of now; nothing if no more is read, even what has come already.
    fn get(&mut self, now: Instant, pause: Duration) -> Option<Instant> {
        let last = *self.last.get_or_insert_with(|| now + MESSAGE_TIMEOUT);
        let next = *self.next.get_or_insert_with(|| now + pause);
        (now < last).then_some(next.min(last))
    }

    /// Allows another pause: a piece came.
    fn extend(&mut self) {
        self.next = None;
    }
}

impl Events {
    /// Reads what comes after the end until there is something to tell; false once there is nothing more.
    ///
    /// A connection that is read to its end can be used again; over HTTP/2 a stream that is dropped before is reset,
    /// and too many of those end the connection.
    ///
    /// # Errors
    ///
    /// If the pieces of a message are together larger than one event may be.
    pub(super) async fn read_on(&mut self) -> Result<bool, Error> {
        while let Some(arriving) = &mut self.arriving {
            let grace = match self.seen.task {
                Some(_) => CLOSE_TIMEOUT,
                None => NEXT_PIECE_TIMEOUT,
            };
            let Some(until) = self.late.get(Instant::now(), grace) else {
                self.arriving = None;
                break;
            };
            match timeout_at(until, arriving.next()).await {
                Ok(Some(Ok(Some(arrival)))) => self.take_late(arrival.event)?,
                // A sign of life.
                Ok(Some(Ok(None))) => {}
                Ok(Some(Err(_)) | None) | Err(_) => self.arriving = None,
            }
            if !self.ready.is_empty() {
                return Ok(true);
            }
        }
        Ok(self.ask_the_silent().await)
    }

    fn take_late(&mut self, event: Event) -> Result<(), Error> {
        match (&event, &self.seen.task) {
            (Event::Task(now), Some(known)) if is_its_end(known, now) => {
                let (known, now) = (Arc::clone(known), Arc::clone(now));
                self.complete(&known, now);
            }
            (Event::Artifact(update), Some(known)) if update.task_id == known.id => {
                self.tell(event);
            }
            (Event::Message(piece), None) => {
                let same = self.seen.pieces.message().is_some_and(|m| m.id == piece.id);
                if same {
                    self.late.extend();
                    self.tell(event);
                }
                let limit = self.client.shared().limits.event;
                if self.seen.pieces.size() > limit {
                    let message = format!("the pieces of a message exceed {limit} bytes");
                    return Err(Error::new(Kind::TooLarge, message).reached(Reach::Answered));
                }
            }
            // A task that is over does not change.
            _ => tracing::debug!("an event came after the end of its stream"),
        }
        Ok(())
    }

    /// Tells what the whole task has beyond what its events told.
    fn complete(&mut self, known: &Task, mut now: Arc<Task>) {
        if now.status.message.is_none() && known.status.message.is_some() {
            let status = &mut Arc::make_mut(&mut now).status;
            status.message.clone_from(&known.status.message);
        }
        let silent = answer_parts(known).is_empty();
        self.tell_difference(&now);
        // No event tells of a history.
        if silent && self.ready.is_empty() && !answer_parts(&*now).is_empty() {
            self.tell(Event::Task(now));
        }
    }

    /// Reads a task that completed without any answer, once: there are agents that keep it in the history and stream
    /// none of it. Whether that told anything.
    async fn ask_the_silent(&mut self) -> bool {
        let Some(known) = self.seen.task.clone() else {
            return false;
        };
        let silent = known.status.state == TaskState::Completed && answer_parts(&*known).is_empty();
        if !silent || self.asked_for_answer {
            return false;
        }
        let read = timeout(READ_TIMEOUT, self.read_task(known.id.clone())).await;
        // Not before: this may be dropped while it waits.
        self.asked_for_answer = true;
        match read {
            Ok(Ok(now)) if is_its_end(&known, &now) => self.complete(&known, now),
            Ok(Err(error)) => tracing::debug!(%error, "a task that said nothing cannot be read"),
            Ok(Ok(_)) | Err(_) => {}
        }
        !self.ready.is_empty()
    }
}

/// Whether a task that came late is the one that ended, as it ended.
fn is_its_end(known: &Task, now: &Task) -> bool {
    let (was, is) = (known.status.state, now.status.state);
    known.id == now.id && ends(is) && (was == is || !ends(was))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_never_end_are_not_read_for_ever() {
        let begin = Instant::now();
        let (mut deadline, mut now) = (Deadline::default(), begin);
        let pause = Duration::from_secs(1);
        for _ in 0..10_000 {
            let Some(until) = deadline.get(now, NEXT_PIECE_TIMEOUT) else {
                break;
            };
            now = until.min(now + pause);
            deadline.extend();
        }
        assert_eq!(now - begin, MESSAGE_TIMEOUT);
        // Without a piece, a pause is one pause.
        let mut deadline = Deadline::default();
        let until = deadline.get(begin, NEXT_PIECE_TIMEOUT);
        assert_eq!(until, Some(begin + NEXT_PIECE_TIMEOUT));
        assert_eq!(deadline.get(begin + pause, NEXT_PIECE_TIMEOUT), until);
    }
}
