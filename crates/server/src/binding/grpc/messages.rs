//! Events become a stream of messages, each encoded once for all readers.

use std::pin::Pin;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;
use futures_util::{Stream, stream};
use switchboard_types::model::Event;
use switchboard_types::operation::Response;
use switchboard_types::wire::grpc::{self, Spoken};
use switchboard_types::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::deadline::Deadline;
use super::status;
use crate::binding::Service;
use crate::call::EventStream;
use crate::http::WholeAnswers;
use crate::http::whole::Room;
use crate::limit::Admitted;
use crate::log::{Item, trimmed};

/// The messages of an answer.
pub(super) type Messages = Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>;

/// The messages of a stream of events.
pub(super) fn of(
    service: &Service,
    admitted: Admitted,
    stream: EventStream,
    spoken: Spoken,
    deadline: Deadline,
) -> Messages {
    let reader = Reader {
        stream,
        spoken,
        deadline,
        stopping: service.tasks.stopping().clone(),
        waiting: Vec::new().into_iter(),
        over: false,
        admitted,
        whole_answers: service.whole_answers.clone(),
        room: None,
    };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        let message = reader.next().await?;
        Some((message, reader))
    }))
}

/// The only message of an answer, whose room is given back once it is sent.
pub(super) fn one(message: Bytes, room: Room) -> Messages {
    let only = (Some(message), room);
    Box::pin(stream::unfold(only, |(message, room)| async move {
        Some((Ok(message?), (None, room)))
    }))
}

/// An answer as a message. A large one is encoded where it may take a while.
pub(super) async fn encode_response(
    spoken: Spoken,
    response: Response,
    large: bool,
) -> Result<Bytes, Status> {
    let encode = move || Bytes::from(grpc::encode_response(spoken, &response));
    if large {
        aside(encode).await
    } else {
        Ok(encode())
    }
}

/// Encodes on a blocking thread, so that others are answered meanwhile.
async fn aside(encode: impl FnOnce() -> Bytes + Send + 'static) -> Result<Bytes, Status> {
    let encoded = tokio::task::spawn_blocking(encode).await;
    encoded.map_err(|_| Status::unavailable("the server is stopping"))
}

/// One reader of a stream.
struct Reader {
    stream: EventStream,
    spoken: Spoken,
    deadline: Deadline,
    stopping: CancellationToken,
    /// Events that were read and not yet sent.
    waiting: vec::IntoIter<Item>,
    over: bool,
    admitted: Admitted,
    whole_answers: WholeAnswers,
    /// The room of the message that is being sent.
    room: Room,
}

impl Reader {
    /// The next message; an error is the last one.
    async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        // The message before has been handed over.
        self.room = None;
        loop {
            if self.over {
                return None;
            }
            if self.admitted.is_revoked() {
                self.over = true;
                return Some(Err(self.revoked()));
            }
            if let Some(item) = self.waiting.next() {
                return Some(self.encode(item).await);
            }
            match self.more().await {
                Ok(Some(items)) => self.waiting = items.into_iter(),
                Ok(None) => return None,
                Err(status) => {
                    self.over = true;
                    return Some(Err(status));
                }
            }
        }
    }

    /// An event as a message. What is large takes room until the next one is asked for.
    async fn encode(&mut self, item: Item) -> Result<Bytes, Status> {
        if !item.entry.is_large() {
            return Ok(encode(self.spoken, &item));
        }
        let spoken = self.spoken;
        match self.whole_answers.wait(item.entry.weight()).await {
            Ok(room) => self.room = room,
            Err(error) => {
                if let (true, Event::Task(task)) = (self.stream.is_executed(), &item.entry.event) {
                    let task = Event::Task(Arc::new(trimmed(task)));
                    return Ok(Bytes::from(grpc::encode_event(spoken, &task, item.last)));
                }
                self.over = true;
                return Err(status(spoken.version, &error));
            }
        }
        aside(move || encode(spoken, &item)).await
    }

    /// What is said to a reader whose credentials were taken back.
    fn revoked(&self) -> Status {
        let error = Error::new(ErrorKind::Unauthenticated, "the credentials are not valid");
        status(self.spoken.version, &error)
    }

    async fn more(&mut self) -> Result<Option<Vec<Item>>, Status> {
        let version = self.spoken.version;
        let events = self.deadline.wait(self.stream.next());
        let found = tokio::select! {
            biased;
            found = events => found?,
            // The reader comes back to the next process, and is told what it has missed.
            () = self.stopping.cancelled() => {
                let error = Error::new(ErrorKind::Unavailable, "the server is shutting down");
                return Err(status(version, &error));
            }
            () = self.admitted.revoked() => return Err(self.revoked()),
        };
        found.map_err(|error| {
            tracing::error!(%error, task = %self.stream.task_id(), "stream broke off");
            status(
                version,
                &Error::new(ErrorKind::Unavailable, error.to_string()),
            )
        })
    }
}

fn encode(spoken: Spoken, item: &Item) -> Bytes {
    let entry = &item.entry;
    let encode = |last| Bytes::from(grpc::encode_event(spoken, &entry.event, last));
    // Where it is not told, readers that stay and readers that leave get the same.
    let last = match spoken.tells_last() {
        true => item.last,
        false => entry.ends_the_task(),
    };
    entry.message(spoken.dialect(), last, encode)
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::{ContextId, StatusUpdate, TaskId, TaskState, TaskStatus};
    use switchboard_types::{FileBytes, ProtocolVersion};

    use super::*;
    use crate::clock;
    use crate::task::Entry;

    /// The same event for callers with both ways of files, one of whom is left with it.
    fn twice(version: ProtocolVersion) -> [Bytes; 2] {
        let event = Event::Status(StatusUpdate {
            task_id: TaskId::new("t").unwrap(),
            context_id: ContextId::new("c").unwrap(),
            status: TaskStatus {
                state: TaskState::InputRequired,
                message: None,
                timestamp: None,
            },
            metadata: None,
        });
        let entry = Arc::new(Entry::new(1, clock::now(), event, None));
        [(FileBytes::Raw, false), (FileBytes::Base64, true)].map(|(files, last)| {
            let entry = Arc::clone(&entry);
            encode(Spoken::new(version, files), &Item { entry, last })
        })
    }

    #[test]
    fn an_event_of_1_0_is_encoded_once_for_all_callers() {
        let [newest, oldest] = ProtocolVersion::ALL.map(twice);
        assert_eq!(newest[0].as_ptr(), newest[1].as_ptr());
        assert_ne!(oldest[0], oldest[1], "0.3 says which one is the last");
    }
}
