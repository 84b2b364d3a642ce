//! What an upstream agent still says after the end of its task.

use std::time::Duration;

use switchboard_client::{Events, Kind};
use switchboard_server::agent::AgentError;
use tokio::time::timeout;

use super::events::{Ending, Heard};
use super::run::{Run, Stop};

/// How long the end of a stream may be behind its last event.
const HANG_UP: Duration = Duration::from_millis(5);

impl Run<'_> {
    /// Passes on what a stream still brings after the end of the task: the whole task once more, or other pieces of a
    /// message. The client bounds the time and the size. A task that waits may be streamed for as long as it waits, so
    /// nothing is waited for there.
    pub(super) async fn rest(
        &mut self,
        mut events: Events,
        mut heard: Heard,
        mut ending: Ending,
    ) -> Result<Ending, Stop> {
        if matches!(ending, Ending::InputRequired(_) | Ending::AuthRequired(_)) {
            // Read to its end, the connection can be used again.
            drop(timeout(HANG_UP, events.next()).await);
            return Ok(ending);
        }
        loop {
            let item = tokio::select! {
                biased;
                // Nothing is left to cancel upstream: the connection is closed.
                () = self.turn.canceled.cancelled() => return Err(AgentError::over().into()),
                item = events.next() => item,
            };
            match item {
                Some(Ok(item)) => {
                    if let Some(later) = self.pass(&mut heard, &item.event).await? {
                        ending = later;
                    }
                }
                Some(Err(error)) if error.kind() == Kind::TooLarge => return Err(error.into()),
                Some(Err(_)) | None => break,
            }
        }
        if let Ok(sent) = events.finish().await {
            ending.complete(&sent);
        }
        Ok(ending)
    }
}
