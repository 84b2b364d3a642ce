//! Turns as a collector is told of them.

use switchboard_types::model::{TaskId, TaskState};

use super::Engine;
use crate::agent::Turn;
use crate::trace::{Kind, Recording, names};

impl Engine {
    /// Records a turn, if it is part of a trace that someone wants to know of.
    /// Boxed: turns of which nobody wants to know need no room for it.
    pub(super) fn record(&self, turn: &Turn) -> Option<Box<Recording>> {
        let name = &self.shared.name;
        let name_of_span = || format!("{} {name}", names::INVOKE_AGENT);
        let mut recording = turn
            .trace
            .as_ref()?
            .record_with(name_of_span, Kind::Internal)?;
        recording.set(names::OPERATION, names::INVOKE_AGENT);
        recording.set(names::AGENT, &**name);
        recording.set(names::TASK, turn.task.id.as_str());
        recording.set(names::CONTEXT, turn.task.context_id.as_str());
        Some(Box::new(recording))
    }
}

impl Engine {
    /// The span around all that is done upstream for a task: whoever logs there need not know for which task it is.
    pub(super) fn upstream_span(&self, task: &TaskId) -> Option<tracing::Span> {
        let url = self.shared.agent.upstream()?;
        let agent = &*self.shared.name;
        Some(tracing::error_span!(target: "switchboard::turn", "turn", agent, %task, url))
    }
}

/// The turn left its task in that state.
pub(super) fn ends(recording: &mut Recording, state: TaskState) {
    let name = names::state(state);
    recording.set(names::STATE, name.clone());
    if state == TaskState::Failed {
        recording.fail(name);
    }
}
