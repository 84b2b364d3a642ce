//! A task and an event make the next task. Lenient: events of foreign agents may come in any order. Pure.

use std::sync::Arc;

use switchboard_types::model::{
    Event, Message, StatusUpdate, Task, TaskState, TaskStatus, apply_artifact,
};

/// What is known of a task after `event`. A bare message tells nothing of it.
pub fn fold(task: &mut Option<Arc<Task>>, event: &Event) {
    match event {
        Event::Task(now) => *task = Some(Arc::clone(now)),
        Event::Message(_) => {}
        Event::Status(update) => fold_status(of(task, || begun(update)), update),
        Event::Artifact(update) => {
            let task = of(task, || Task {
                id: update.task_id.clone(),
                context_id: update.context_id.clone(),
                status: TaskStatus {
                    state: TaskState::Working,
                    message: None,
                    timestamp: None,
                },
                artifacts: Vec::new(),
                history: Vec::new(),
                metadata: None,
            });
            apply_artifact(
                &mut task.artifacts,
                Arc::clone(&update.artifact),
                update.append,
            );
        }
    }
}

/// The task to change; begun if nothing is known of it.
fn of(task: &mut Option<Arc<Task>>, begin: impl FnOnce() -> Task) -> &mut Task {
    Arc::make_mut(task.get_or_insert_with(|| Arc::new(begin())))
}

fn begun(update: &StatusUpdate) -> Task {
    Task {
        id: update.task_id.clone(),
        context_id: update.context_id.clone(),
        status: update.status.clone(),
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    }
}

/// What the agent said goes into the history once it falls silent: there are agents whose answer is nowhere but in
/// their last words. Earlier ones are not kept: others say all they said so far again and again.
fn fold_status(task: &mut Task, update: &StatusUpdate) {
    let said = std::mem::replace(&mut task.status, update.status.clone()).message;
    let gone = said.filter(|_| task.status.message.is_none());
    let told = |said: &Arc<Message>| task.history.iter().any(|known| known.id == said.id);
    if let Some(said) = gone.filter(|said| !told(said)) {
        task.history.push(said);
    }
}
