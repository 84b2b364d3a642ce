//! Watching a task.

use switchboard_types::Error;
use switchboard_types::operation::Subscribe;

use super::{Engine, Scope};
use crate::call::Origin;
use crate::log::{Cursor, Until};

impl Engine {
    /// Other agents follow what they hand on, whatever the card offers to callers.
    pub(super) fn require_streaming(&self, scope: &Scope) -> Result<(), Error> {
        match scope.origin {
            Origin::Agent(_) => Ok(()),
            Origin::Network => self.profile().require_streaming(),
        }
    }

    /// Follows a task: from now on, or from the event a reconnecting reader names.
    pub(super) async fn subscribe(
        &self,
        scope: &Scope,
        watch: &Subscribe,
    ) -> Result<Cursor, Error> {
        self.require_streaming(scope)?;
        let log = self.task_of(scope, &watch.id).await?;
        let (last, state) = log.last();
        match scope.params.last_event_id {
            // What was missed is replayed, also of a task that ended meanwhile.
            Some(seen) if seen <= last => Ok(Cursor::after(log, seen, Until::TaskEnds)),
            Some(seen) => Err(Error::invalid_params(
                "Last-Event-ID",
                format!("names event {seen}, but the task has {last}"),
            )),
            None if state.is_terminal() => Err(Error::unsupported(format!(
                "the task is {}: read it with GetTask",
                state.name()
            ))
            .fact("taskId", watch.id.as_str())
            .fact("state", state.name())),
            None => Ok(Cursor::from_now(log, Until::TaskEnds)),
        }
    }
}
