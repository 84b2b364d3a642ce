//! Answers that must be made whole before they are sent: messages of gRPC, which begin with their length, and plain texts.
//! Others are rendered piece by piece as they are read. Large ones share a budget, which they take until they are sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Body;
use crate::log::LARGE;

/// What all of them weigh together at most, in bytes; so also the largest one.
const MAX_WHOLE: usize = 64 << 20;

/// How long an event of a stream waits for its room.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How much of an answer goes to the socket at once.
const PIECE: usize = 64 << 10;

/// The budget of such answers.
#[derive(Debug, Clone)]
pub(crate) struct WholeAnswers {
    kib: Arc<Semaphore>,
}

/// The room that a large answer takes; `None` is a small one.
pub(crate) type Room = Option<OwnedSemaphorePermit>;

impl WholeAnswers {
    pub(super) fn new() -> Self {
        Self {
            kib: Arc::new(Semaphore::new(MAX_WHOLE / 1024)),
        }
    }

    /// Room for an answer of that weight.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if there is none now, or never is.
    pub(crate) fn take(&self, weight: usize) -> Result<Room, Error> {
        let Some(kib) = kib(weight)? else {
            return Ok(None);
        };
        let room = Arc::clone(&self.kib).try_acquire_many_owned(kib);
        room.map(Some).map_err(|_| no_room())
    }

    /// The same for one of many answers on a stream, which can wait a while.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if there is none then, or never is.
    #[cfg(feature = "grpc")]
    pub(crate) async fn wait(&self, weight: usize) -> Result<Room, Error> {
        let Some(kib) = kib(weight)? else {
            return Ok(None);
        };
        let room = Arc::clone(&self.kib).acquire_many_owned(kib);
        match tokio::time::timeout(MAX_WAIT, room).await {
            Ok(Ok(room)) => Ok(Some(room)),
            _ => Err(no_room()),
        }
    }
}

/// How much room that weight needs; `None` if none.
fn kib(weight: usize) -> Result<Option<u32>, Error> {
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
    Body::Stream(Box::pin(pieces), None)
}
