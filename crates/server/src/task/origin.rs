//! Where a task comes from.

use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId};

use super::Owner;

/// Where a task comes from; never changes.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The task.
    pub id: TaskId,
    /// The agent it belongs to.
    pub agent: Arc<str>,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Its conversation.
    pub context: ContextId,
}
