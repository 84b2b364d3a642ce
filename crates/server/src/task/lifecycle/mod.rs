//! The pure heart: which event may follow in which state, and what a task is after it.
//!
//! No clock, no I/O, no async. The log asks [`check`] before it takes an event and calls [`apply`] once the
//! event is stored; loading a task is the same fold.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use switchboard_types::model::{Event, StateClass, Task, TaskId, TaskState, apply_artifact};

use super::{Entry, StoredTask};

/// An event that may not happen now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The task is over, for good.
    #[error("the task is {}", .0.name())]
    Over(TaskState),
    /// That state cannot follow this one.
    #[error("a task cannot go from {} to {}", .from.name(), .to.name())]
    Status {
        /// Where the task stands.
        from: TaskState,
        /// Where it was to go.
        to: TaskState,
    },
    /// Only a working task produces.
    #[error("a task that is {} cannot produce an artifact", .0.name())]
    Artifact(TaskState),
    /// A task begins once, and a bare message is not part of one.
    #[error("this event cannot happen to a task that exists")]
    Beginning,
}

/// Whether `event` may happen to a task in `state`; the state after it.
///
/// # Errors
///
/// Says why it may not.
pub fn check(state: TaskState, event: &Event) -> Result<TaskState, IllegalTransition> {
    if state.is_terminal() {
        return Err(IllegalTransition::Over(state));
    }
    match event {
        Event::Status(update) => {
            let to = update.status.state;
            if may_follow(state, to) {
                Ok(to)
            } else {
                Err(IllegalTransition::Status { from: state, to })
            }
        }
        Event::Artifact(_) if state == TaskState::Working => Ok(state),
        Event::Artifact(_) => Err(IllegalTransition::Artifact(state)),
        Event::Task(_) | Event::Message(_) => Err(IllegalTransition::Beginning),
    }
}

/// The state machine. A paused task goes on only by working again; nothing leaves a terminal state.
fn may_follow(from: TaskState, to: TaskState) -> bool {
    match (from.class(), to) {
        (StateClass::Terminal, _) | (_, TaskState::Unknown | TaskState::Submitted) => false,
        (StateClass::Active, _) => true,
        (StateClass::Interrupted, to) => matches!(
            to,
            TaskState::Working | TaskState::Canceled | TaskState::Failed | TaskState::Rejected
        ),
    }
}

/// Makes a stored event part of the task. The event has passed [`check`].
pub fn apply(task: &mut Task, entry: &Entry) {
    if let Event::Status(update) = &entry.event {
        let asked = task.status.state.is_interrupted();
        let before = std::mem::replace(&mut task.status, update.status.clone());
        // A question that is no longer open becomes part of what was said (A2A 0.3 §9.4).
        task.history.extend(before.message.filter(|_| asked));
    }
    task.history.extend(entry.received.clone());
    if let Event::Artifact(update) = &entry.event {
        apply_artifact(
            &mut task.artifacts,
            Arc::clone(&update.artifact),
            update.append,
        );
    }
}

/// A stored task that has neither a snapshot nor a first event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task {0} has no beginning")]
pub struct MissingBeginning(pub TaskId);

/// The task that its stored parts make.
///
/// # Errors
///
/// If there is neither a snapshot nor a first event.
pub fn fold(stored: StoredTask) -> Result<Task, MissingBeginning> {
    let mut entries = stored.entries.into_iter();
    let mut task = match stored.snapshot {
        Some(snapshot) => Arc::unwrap_or_clone(snapshot.task),
        None => match entries.next().map(|first| first.event.clone()) {
            Some(Event::Task(task)) => Arc::unwrap_or_clone(task),
            _ => return Err(MissingBeginning(stored.head.id)),
        },
    };
    for entry in entries {
        match Arc::try_unwrap(entry) {
            // Nobody else has it, so its parts are moved: a large task is not held twice.
            Ok(Entry {
                event: Event::Artifact(update),
                received: None,
                ..
            }) => apply_artifact(&mut task.artifacts, update.artifact, update.append),
            Ok(entry) => apply(&mut task, &entry),
            Err(entry) => apply(&mut task, &entry),
        }
    }
    Ok(task)
}
