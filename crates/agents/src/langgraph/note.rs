//! What is written down about the run of a turn, so that it can be found again. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::remote::note as remote;

/// The name of the note.
pub(super) const NAME: &str = "langgraph";

/// How the run stands, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The message and the task, as for any remote agent. The conversation is the thread.
    #[serde(flatten)]
    pub(super) at: remote::Note,
    /// The newest run of the thread before the message was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<String>,
    /// The run that the message has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    /// The questions that are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) interrupts: Vec<String>,
    /// What they are answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resume: Option<Value>,
}

impl Note {
    /// The thread of the conversation.
    pub(super) fn thread(&self) -> &str {
        self.at.context.as_deref().unwrap_or_default()
    }
}
