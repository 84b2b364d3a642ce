//! Answers that must be made whole before they are sent: messages of gRPC, which begin with their length, and plain texts.
//! Others are rendered piece by piece as they are read. Large ones share a budget, which they take until they are sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use switchboard_types::operation::{Response, TaskView};
use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::Body;
use crate::log::trimmed;
use crate::task::LARGE;

/// What all of them weigh together at most, in bytes; so also the largest one.
const MAX_WHOLE: usize = 64 << 20;

/// How much of an answer goes to the socket at once.
const PIECE: usize = 64 << 10;

/// How long an answer waits for its room at most, and how often it asks for it.
const MAX_WAIT: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The budget of such answers.
#[derive(Debug, Clone)]
pub(crate) struct WholeAnswers {
    /// In KiB.
    room: Arc<Semaphore>,
}

/// The room that a large answer takes; `None` is a small one.
pub(crate) type Room = Option<OwnedSemaphorePermit>;

impl WholeAnswers {
    pub(crate) fn new() -> Self {
        Self {
            room: Arc::new(Semaphore::new(MAX_WHOLE / 1024)),
        }
    }

    /// Room for an answer of that weight.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if there is none now, or never is.
    pub(crate) fn take(&self, weight: usize) -> Result<Room, Error> {
        match needed(weight)? {
            Some(kib) => self.try_take(kib).map(Some).ok_or_else(no_room),
            None => Ok(None),
        }
    }

    /// The same, but waits a while for the room. Others get theirs meanwhile.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if there is none until then, or never is.
    pub(crate) async fn wait(&self, weight: usize) -> Result<Room, Error> {
        let Some(kib) = needed(weight)? else {
            return Ok(None);
        };
        // Not `acquire_many`: its first waiter collects every released permit, and all others would be refused meanwhile.
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            if let Some(room) = self.try_take(kib) {
                return Ok(Some(room));
            }
            if Instant::now() >= deadline {
                return Err(no_room());
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    fn try_take(&self, kib: u32) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.room);
        room.try_acquire_many_owned(kib).ok()
    }

    /// Room for the answer to a call that has been executed, and the answer. Where there is none for all of a task, it
    /// has no content: the caller would take an error for a reason to try again.
    ///
    /// # Errors
    ///
    /// `Internal` if there is no room for a message, which cannot be read later. Not `ResourceExhausted`: that says that
    /// nothing was done, and the caller would send its message again.
    pub(crate) async fn take_executed(
        &self,
        response: Response,
    ) -> Result<(Response, Room), Error> {
        let weight = response.weight();
        let room = match (self.take(weight), &response) {
            (Err(_), Response::SentTask(view)) => {
                return Ok((Response::SentTask(trim(view)), None));
            }
            (Err(_), Response::Task(view)) => return Ok((Response::Task(trim(view)), None)),
            (Err(_), _) => Box::pin(self.wait(weight)).await.map_err(|_| lost())?,
            (Ok(room), _) => room,
        };
        Ok((response, room))
    }
}

fn trim(view: &TaskView) -> TaskView {
    TaskView::whole(Arc::new(trimmed(&view.task)))
}

/// How much room that weight needs, in KiB; `None` if none.
///
/// # Errors
///
/// `ResourceExhausted` if there is never as much.
fn needed(weight: usize) -> Result<Option<u32>, Error> {
    if weight <= LARGE {
        return Ok(None);
    }
    if weight > MAX_WHOLE {
        let message = "the answer is too large to be sent in one piece: ask for less of it, \
                       or read it as JSON over HTTP";
        let error = Error::new(ErrorKind::ResourceExhausted, message);
        return Err(error.fact("limitBytes", MAX_WHOLE.to_string()));
    }
    Ok(u32::try_from(weight.div_ceil(1024)).ok())
}

/// The answer to a call that has been executed.
fn lost() -> Error {
    let message = "the message was processed, but its reply is too large to be sent now";
    Error::new(ErrorKind::Internal, message)
}

/// Others have taken it.
fn no_room() -> Error {
    let message = "too many large answers at once: try again later";
    Error::new(ErrorKind::ResourceExhausted, message)
}

/// A body whose room is given back when it is sent. A connection copies what it sends at once, so it gets pieces.
pub(crate) fn body(bytes: Vec<u8>, room: Room) -> Body {
    if room.is_none() {
        return Body::from(bytes);
    }
    let pieces = stream::unfold((Bytes::from(bytes), room), |(mut rest, room)| async move {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some((piece, (rest, room)))
    });
    Body::Stream(Box::pin(pieces))
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::{Message, MessageId, Part, Role, TaskState};

    use super::*;
    use crate::testing::store_suite::{Story, at};

    /// All of the room but that many bytes is taken.
    fn all_but(bytes: usize) -> (WholeAnswers, Room) {
        let answers = WholeAnswers::new();
        let taken = answers.take(MAX_WHOLE - bytes).unwrap();
        (answers, taken)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_room_leaves_the_rest_to_others() {
        let (answers, taken) = all_but(1 << 20);
        let waiting = answers.wait(32 << 20);
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("there is no room"),
            () = sleep(RETRY_INTERVAL / 2) => {}
        }
        drop(answers.take(1 << 20).unwrap());
        drop(taken);
        assert!(waiting.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn executed_calls_are_answered_without_room() {
        let (answers, taken) = all_but(0);
        let mut story = Story::new(1);
        story.step(TaskState::Working, at(1));
        story.say(&"x".repeat(2 * LARGE));
        let view = TaskView::whole(Arc::new(story.whole()));
        for sent in [
            Response::SentTask(view.clone()),
            Response::Task(view.clone()),
        ] {
            let (answer, room) = answers.take_executed(sent).await.unwrap();
            let (Response::SentTask(trimmed) | Response::Task(trimmed)) = answer else {
                panic!("no task");
            };
            let (trimmed, whole) = (&trimmed.task, &view.task);
            assert!(room.is_none() && trimmed.artifacts.is_empty() && trimmed.history.is_empty());
            assert_eq!(
                (&trimmed.id, &trimmed.context_id),
                (&whole.id, &whole.context_id)
            );
            assert_eq!(trimmed.status, whole.status);
        }

        let parts = vec![Part::text("x".repeat(2 * LARGE))];
        let message = Message::new(MessageId::new("m").unwrap(), Role::Agent, parts);
        let sent = Response::SentMessage(Arc::new(message));
        let answering = answers.take_executed(sent.clone());
        let free = async {
            sleep(RETRY_INTERVAL).await;
            drop(taken);
        };
        let (answered, ()) = tokio::join!(answering, free);
        let (answer, room) = answered.unwrap();
        assert!(answer == sent && room.is_some());
    }

    /// The caller of an error that says "not now" sends its message again, and the agent would run twice.
    #[tokio::test(start_paused = true)]
    async fn a_reply_that_finds_no_room_is_no_refusal() {
        let (answers, _taken) = all_but(0);
        let parts = vec![Part::text("x".repeat(2 * LARGE))];
        let message = Message::new(MessageId::new("m").unwrap(), Role::Agent, parts);
        let sent = answers.take_executed(Response::SentMessage(Arc::new(message)));
        let lost = sent.await.map(drop).unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::Internal);
    }
}
