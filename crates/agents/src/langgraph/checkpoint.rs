//! What is written down about the run of a turn, so that it can be found again. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_server::agent::Errand;

use super::line::Line;
use crate::fetch::place;
use crate::remote::checkpoint as remote;

/// The name of the checkpoint.
pub(super) const NAME: &str = "langgraph";

/// How the run stands, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// The message and the task, as for any remote agent. The conversation is the thread.
    #[serde(flatten)]
    pub(super) at: remote::Checkpoint,
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

impl Line {
    /// A run there works on it.
    pub(super) fn is_at(&self, errand: Option<&Errand>, checkpoint: &Checkpoint) {
        let id = checkpoint.at.task.as_deref().or(checkpoint.run.as_deref());
        if let (Some(errand), Some(id)) = (errand, id) {
            let url = place(self.settings.base.as_str());
            errand.is_worked_on(&self.settings.assistant, &url, id);
        }
    }
}

impl Checkpoint {
    /// Nothing is known of a run yet.
    pub(super) fn of(at: remote::Checkpoint) -> Self {
        Self {
            at,
            seen: None,
            run: None,
            interrupts: Vec::new(),
            resume: None,
        }
    }

    /// The thread of the conversation.
    pub(super) fn thread(&self) -> &str {
        self.at.context.as_deref().unwrap_or_default()
    }
}
