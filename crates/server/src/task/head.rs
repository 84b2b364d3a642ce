//! A task as stores keep it: its head, its events, and snapshots of both folded.

use std::sync::Arc;

use switchboard_types::model::{ContextId, Task, TaskId, TaskState, Timestamp};

use super::{Entry, Holder, Owner};

/// New events of one task.
#[derive(Debug, Clone)]
pub struct Append {
    /// Where the task stands after these events.
    pub head: Head,
    /// The events, in order, without gaps.
    pub entries: Vec<Arc<Entry>>,
    /// A snapshot to keep, if the events since the last one have grown large.
    pub snapshot: Option<Snapshot>,
    /// Who appends; a store may refuse it if another one works on the task. Nobody is never refused.
    pub holder: Option<Arc<Holder>>,
}

/// Where a task stands: what queries need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The task.
    pub id: TaskId,
    /// The agent it belongs to.
    pub agent: Arc<str>,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Its conversation.
    pub context: ContextId,
    /// Its state.
    pub state: TaskState,
    /// Since when.
    pub updated: Timestamp,
    /// Its last event.
    pub seq: u64,
}

/// A task folded up to one event.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The task as it stood.
    pub task: Arc<Task>,
    /// After this event.
    pub seq: u64,
}

/// A task as it is kept.
#[derive(Debug, Clone)]
pub struct StoredTask {
    /// Where it stands.
    pub head: Head,
    /// The last snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// All events after the snapshot.
    pub entries: Vec<Arc<Entry>>,
}
