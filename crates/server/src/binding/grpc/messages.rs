//! A cursor becomes a stream of messages, each encoded once for all readers.

use std::pin::Pin;
use std::vec;

use bytes::Bytes;
use futures_util::{Stream, stream};
use switchboard_types::wire::grpc::{self, FileBytes, Spoken};
use switchboard_types::{Error, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::deadline::Deadline;
use super::status;
use crate::http::Service;
use crate::log::{Cursor, Item};

/// The messages of an answer.
pub(super) type Messages = Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>;

/// The messages of a cursor's events.
pub(super) fn of(
    service: &Service,
    room: Option<OwnedSemaphorePermit>,
    cursor: Cursor,
    spoken: Spoken,
    deadline: Deadline,
) -> Messages {
    let reader = Reader {
        cursor,
        spoken,
        deadline,
        stopping: service.tasks.stopping().clone(),
        waiting: Vec::new().into_iter(),
        over: false,
        _room: room,
    };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        let message = reader.next().await?;
        Some((message, reader))
    }))
}

/// One reader of a stream.
struct Reader {
    cursor: Cursor,
    spoken: Spoken,
    deadline: Deadline,
    stopping: CancellationToken,
    /// Events that were read and not yet sent.
    waiting: vec::IntoIter<Item>,
    over: bool,
    _room: Option<OwnedSemaphorePermit>,
}

impl Reader {
    /// The next message; an error is the last one.
    async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            if let Some(item) = self.waiting.next() {
                return Some(Ok(encode(self.spoken, &item)));
            }
            if self.over {
                return None;
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

    async fn more(&mut self) -> Result<Option<Vec<Item>>, Status> {
        let version = self.spoken.version;
        let events = self.deadline.wait(self.cursor.next());
        let found = tokio::select! {
            biased;
            found = events => found?,
            // The reader comes back to the next process, and is told what it has missed.
            () = self.stopping.cancelled() => {
                let error = Error::new(ErrorKind::Unavailable, "the server is shutting down");
                return Err(status(version, &error));
            }
        };
        found.map_err(|error| {
            tracing::error!(%error, task = %self.cursor.task_id(), "a stream broke off");
            status(
                version,
                &Error::new(ErrorKind::Unavailable, error.to_string()),
            )
        })
    }
}

fn encode(spoken: Spoken, item: &Item) -> Bytes {
    let encode = |last| Bytes::from(grpc::encode_event(spoken, &item.entry.event, last));
    match spoken.files {
        FileBytes::Raw => item.entry.message(spoken.version, item.last, encode),
        // For one SDK only, so not kept.
        FileBytes::Text => encode(item.last),
    }
}
