//! What an upstream agent still says after the end of its task.

use std::time::Duration;

use switchboard_client::Events;
use tokio::time::timeout;

use super::events::{Ending, Heard};
use super::run::{Run, Stop};

/// How long the end of a stream may be behind its last event.
const HANG_UP: Duration = Duration::from_millis(5);

impl Run<'_> {
    /// Passes on what a stream still brings after the end of the task: the whole task once more, or other pieces of a
    /// message. The client bounds the time. A task that waits may be streamed for as long as it waits, so nothing is
    /// waited for there.
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
        while let Some(Ok(item)) = events.next().await {
            if let Some(later) = self.pass(&mut heard, &item.event).await? {
                ending = later;
            }
        }
        if let Ok(sent) = events.finish().await {
            ending.complete(&sent);
        }
        Ok(ending)
    }
}
