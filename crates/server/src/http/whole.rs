//! Answers that must be made whole before they are sent: messages of gRPC, which begin with their length, and plain texts.
//! Others are rendered piece by piece as they are read. Large ones share a budget, which they take until they are sent.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Body;
use crate::log::LARGE;

/// What all of them weigh together at most, in bytes; so also the largest one.
const MAX_WHOLE: usize = 64 << 20;

/// How much of an answer goes to the socket at once.
const PIECE: usize = 64 << 10;

/// The budget of such answers.
#[derive(Debug, Clone)]
pub(crate) struct WholeAnswers {
    /// In KiB.
    pub(crate) room: Arc<Semaphore>,
}

/// The room that a large answer takes; `None` is a small one.
pub(crate) type Room = Option<OwnedSemaphorePermit>;

impl WholeAnswers {
    pub(super) fn new() -> Self {
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
        let Some(kib) = needed(weight)? else {
            return Ok(None);
        };
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib);
        room.map(Some).map_err(|_| no_room())
    }
}

/// How much room that weight needs, in KiB; `None` if none.
///
/// # Errors
///
/// `ResourceExhausted` if there is never as much.
pub(crate) fn needed(weight: usize) -> Result<Option<u32>, Error> {
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

/// Others have taken it.
pub(crate) fn no_room() -> Error {
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
