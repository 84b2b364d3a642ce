//! What the caller of a send waits for, and how long.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_types::Error;
use switchboard_types::model::{Message, Task};

use super::Engine;
use crate::log::TaskLog;
use crate::store;

/// How long a stream waits for a direct message reply before it shows a task instead.
const DIRECT_REPLY_TIMEOUT: Duration = Duration::from_secs(1);

impl Engine {
    /// Boxed: a clock is a large thing to keep in the future of every call.
    pub(super) fn wait_until_the_deadline<'a>(
        &'a self,
        log: &'a Arc<TaskLog>,
        since: u64,
        at_once: bool,
    ) -> BoxFuture<'a, Result<Answer, Error>> {
        let deadline = self.shared.settings.blocking_deadline;
        Box::pin(async move {
            match tokio::time::timeout(deadline, wait_for_answer(log, since, at_once)).await {
                Ok(answer) => answer,
                Err(_) => as_it_stands(log).await,
            }
        })
    }
}

/// What a send is answered with.
pub(super) enum Answer {
    Message(Arc<Message>),
    Task(Arc<Task>),
}

/// The answer when the caller has waited long enough. An agent that could still have answered with a
/// message has had its time: there is a task from now on, so that the caller can come back to it.
async fn as_it_stands(log: &Arc<TaskLog>) -> Result<Answer, Error> {
    log.publish();
    if let Some(message) = log.decided().await.map_err(store::Error::for_caller)? {
        return Ok(Answer::Message(message));
    }
    let task = log.view_to_answer().map(Answer::Task);
    task.ok_or_else(Error::internal)
}

/// Waits a moment for a direct message reply. Then a task is published: the caller of a stream must not wait in silence
/// for an agent that takes its time, without an id to cancel or come back to.
pub(super) async fn direct_reply_or_task(log: &Arc<TaskLog>) -> Result<(), Error> {
    if let Ok(decided) = tokio::time::timeout(DIRECT_REPLY_TIMEOUT, log.decided()).await {
        return decided.map(drop).map_err(store::Error::for_caller);
    }
    log.publish();
    log.stored_up_to(1).await.map_err(store::Error::for_caller)
}

/// The answer to the message that event `since` holds: a direct message, or the task as the caller is to see it.
pub(super) async fn wait_for_answer(
    log: &TaskLog,
    since: u64,
    at_once: bool,
) -> Result<Answer, Error> {
    if let Some(message) = log.decided().await.map_err(store::Error::for_caller)? {
        return Ok(Answer::Message(message));
    }
    if !at_once {
        let settled = log.settled(since).await;
        return settled.map(Answer::Task).map_err(store::Error::for_caller);
    }
    log.stored_up_to(since)
        .await
        .map_err(store::Error::for_caller)?;
    let task = log.view_to_answer().map(Answer::Task);
    task.ok_or_else(Error::internal)
}
