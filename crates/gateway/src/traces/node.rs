//! One task in a trace, as it is told.

use serde::Serialize;
use serde_json::Value;
use switchboard_types::model::TaskState;

use super::read::Child;

/// One task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_task_id: Option<String>,
    /// What was asked for; of a task that was made for another, `delegation:FROM->TO`.
    pub(crate) name: String,
    pub(crate) r#type: &'static str,
    pub(crate) agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) context_id: String,
    /// `PENDING`, `SUCCESS` or `ERROR`.
    pub(crate) status: &'static str,
    /// The state of the task, as 0.x spells it.
    pub(crate) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    pub(crate) events: u64,
    pub(crate) bytes_in: usize,
    pub(crate) bytes_out: usize,
    /// The trace of the latest turn that was part of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<String>,
    /// Under which key another agent has asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
    /// Where it is kept, if that is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The task that was asked for.
    pub(crate) asked: bool,
    /// The message that began it, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Value>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) internal: Vec<Internal>,
    pub(crate) children: Vec<Self>,
}

/// One turn of an agent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    pub(crate) started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// How it ended; `working` if it has not.
    pub(crate) state: &'static str,
    pub(crate) events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<String>,
}

/// What an agent told of its work to nobody but us.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Internal {
    /// `internal:` and what it is.
    pub(crate) name: String,
    pub(crate) at: String,
    pub(crate) value: Value,
}

impl Node {
    /// Whether nothing more will happen to it, and to what was made for it.
    pub(crate) fn is_over(&self) -> bool {
        let here = self.started_at.is_some();
        (self.status != "PENDING" || !here) && self.children.iter().all(Self::is_over)
    }

    /// A task that is not kept here: it is another server's, or it is gone.
    pub(super) fn elsewhere(child: &Child) -> Self {
        Self {
            task_id: child.task.to_string(),
            parent_task_id: None,
            name: String::new(),
            r#type: "A2A_TASK",
            agent: child.agent.clone(),
            context_id: String::new(),
            status: "PENDING",
            state: TaskState::Unknown.name(),
            error: None,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            events: 0,
            bytes_in: 0,
            bytes_out: 0,
            trace_id: None,
            span_id: None,
            idempotency_key: None,
            url: child.url.clone(),
            asked: false,
            input: None,
            turns: Vec::new(),
            internal: Vec::new(),
            children: Vec::new(),
        }
    }
}

/// How a state is called where traces are told from each other by three words.
pub(super) fn status(state: TaskState) -> &'static str {
    match state {
        TaskState::Completed => "SUCCESS",
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => "ERROR",
        TaskState::Submitted
        | TaskState::Working
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Unknown => "PENDING",
    }
}
