//! Is there room? Every call is let in here, once it is known what it asks for and before it is answered.

use std::sync::Arc;

use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

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
    revoked: Option<CancellationToken>,
}

impl Admitted {
    /// Ends when what the caller has shown is taken back: its streams end with it.
    pub(crate) async fn revoked(&self) {
        match &self.revoked {
            Some(revoked) => revoked.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Whether that has happened.
    pub(crate) fn is_revoked(&self) -> bool {
        let revoked = self.revoked.as_ref();
        revoked.is_some_and(CancellationToken::is_cancelled)
    }
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
        Ok(Admitted {
            _stream: stream,
            revoked: call.principal.revoked().cloned(),
        })
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
