//! What an agent keeps about a task.

use serde_json::Value;
use switchboard_types::model::TaskId;

/// The name of the note that a task is over, and what stands behind its agent does not know it yet. Agents have no such
/// names for theirs.
pub const UNTOLD: &str = "switchboard/untold";

/// What an agent keeps about a task. It never leaves by A2A, and goes with the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The task.
    pub task: TaskId,
    /// What it is about.
    pub name: String,
    /// What the agent is to know.
    pub value: Value,
}
