//! Tasks and their states.

use std::sync::Arc;

use super::{Artifact, ContextId, Message, Object, TaskId, Timestamp};

/// A unit of work, as it stands at one moment. What it is made of is shared with the events that made it, so that
/// a task of any size is cheap to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Made by the server.
    pub id: TaskId,
    /// The conversation it belongs to.
    pub context_id: ContextId,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it has produced so far.
    pub artifacts: Vec<Arc<Artifact>>,
    /// What was said in it, oldest first.
    pub history: Vec<Arc<Message>>,
    /// Free data.
    pub metadata: Option<Object>,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says to it.
    pub message: Option<Arc<Message>>,
    /// Since when. Always set by Switchboard; foreign agents may leave it out.
    pub timestamp: Option<Timestamp>,
}

/// The states of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Accepted, not yet begun.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for a message.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
    /// Done.
    Completed,
    /// Ended by an error.
    Failed,
    /// Ended by request.
    Canceled,
    /// Refused by the agent.
    Rejected,
    /// A foreign agent could not say; Switchboard never puts a task of its own here.
    Unknown,
}

/// What a state means for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateClass {
    /// Submitted or working: more will come by itself.
    Active,
    /// Waits for the client.
    Interrupted,
    /// Over, for good.
    Terminal,
}

impl TaskState {
    /// Every state, in the order of the protocol's enum.
    pub const ALL: [Self; 9] = [
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
        Self::Unknown,
    ];

    /// What this state means for those who wait.
    #[must_use]
    pub fn class(self) -> StateClass {
        match self {
            Self::Submitted | Self::Working => StateClass::Active,
            Self::InputRequired | Self::AuthRequired => StateClass::Interrupted,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected | Self::Unknown => {
                StateClass::Terminal
            }
        }
    }

    /// Whether the task is over.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.class() == StateClass::Terminal
    }

    /// Whether the task waits for the client.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        self.class() == StateClass::Interrupted
    }

    /// The state in plain words, as the 0.x wire, logs and the CLI spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}
