//! Is there room? Every call is let in here, once it is known what it asks for and before it is answered.

use std::sync::Arc;

use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::call::Call;

/// Lets calls in as long as there is room.
#[derive(Debug)]
pub(crate) struct Admission {
    streams: Arc<Semaphore>,
    most_streams: usize,
}

/// The room of one call, given back when its answer, or its stream, is over.
#[derive(Debug)]
pub(crate) struct Admitted {
    _stream: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// Room for that many event streams.
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            streams: Arc::new(Semaphore::new(streams)),
            most_streams: streams,
        }
    }

    /// Finds room for a call. Before it is answered: a message whose stream is refused must not start a task.
    ///
    /// # Errors
    ///
    /// If too many streams are open.
    pub(crate) fn admit(&self, call: &Call) -> Result<Admitted, Error> {
        let stream = if call.operation.method().streams() {
            Some(self.stream()?)
        } else {
            None
        };
        Ok(Admitted { _stream: stream })
    }

    fn stream(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Error::new(
                ErrorKind::ResourceExhausted,
                format!(
                    "{} event streams are open: try again later",
                    self.most_streams
                ),
            )
        })
    }
}
