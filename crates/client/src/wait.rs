//! Waiting by asking: for agents without streams, and for tasks that were sent off.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::{Task, TaskId};
use switchboard_types::operation::{GetTask, Method, Operation};
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::error::{Error, Kind, Reach};
use crate::options::CallOptions;
use crate::stream::resume::ends;

/// How to wait for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How often to ask.
    pub interval: Duration,
    /// How long in all; as long as it takes, if absent.
    pub timeout: Option<Duration>,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(2),
            timeout: None,
        }
    }
}

impl Client {
    /// Reads a task until it is over or waits for us.
    ///
    /// # Errors
    ///
    /// `Timeout` if that takes longer than it may; the task goes on.
    pub async fn wait(&self, task: &TaskId, wait: &Wait) -> Result<Arc<Task>, Error> {
        let start = Instant::now();
        loop {
            let mut options = CallOptions::new();
            // No longer than is left, nor than any call.
            let left = wait.timeout.map(|all| all.saturating_sub(start.elapsed()));
            options.timeout = left.map(|left| left.min(self.shared().timeout));
            let get = Operation::Get(GetTask {
                id: task.clone(),
                history_length: None,
            });
            self.require(Method::Get, &options)?;
            let now = self.get_task(get, &options).await?;
            let state = now.status.state;
            if ends(state) || state.is_interrupted() {
                return Ok(now);
            }
            let late = |timeout: Duration| start.elapsed().saturating_add(wait.interval) > timeout;
            if wait.timeout.is_some_and(late) {
                let message = format!("the task is still {}", state.name());
                return Err(Error::new(Kind::Timeout, message).reached(Reach::Answered));
            }
            sleep(wait.interval).await;
        }
    }
}
