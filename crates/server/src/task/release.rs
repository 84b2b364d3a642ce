//! Releases that are pending: tasks that ended before their upstream learned of it.

use serde_json::Value;
use switchboard_types::model::TaskId;

/// The upstream of an ended task must still learn that the task has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRelease {
    /// The task.
    pub task: TaskId,
    /// The status with the question that the agent asked as the task ended, if it did: nobody was shown it, and the
    /// upstream waits for an answer.
    pub question: Option<Value>,
}
