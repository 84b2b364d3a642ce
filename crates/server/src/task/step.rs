//! Steps: the private, append-only record of what a turn did.
//!
//! Checkpoints of agents, calls to upstreams, delegated tasks, budgets and operator notes are steps. They are numbered apart
//! from events, so event numbers stay gapless, and they never leave by A2A.

use serde_json::Value;
use switchboard_types::model::{TaskId, Timestamp};

/// Something that a turn records. The store numbers it within its task when it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The task.
    pub task: TaskId,
    /// The turn that recorded it.
    pub turn: u32,
    /// When.
    pub at: Timestamp,
    /// What it is about. A later step of the same name takes the place of this one for those who ask for the latest.
    pub name: String,
    /// What is recorded; `null` withdraws what was recorded under this name.
    pub value: Value,
}

/// A step as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStep {
    /// 1, 2, 3 … within the task, in the order of commits.
    pub number: u64,
    /// What was recorded.
    pub step: Step,
}
