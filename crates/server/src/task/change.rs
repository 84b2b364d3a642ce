//! What a commit can change.

use switchboard_types::model::{PushConfigId, TaskId, Timestamp};

use super::{
    Answer, Answered, Append, DeadLetter, Delivery, IdempotencyKey, PendingRelease, Snapshot, Step,
    TurnRecord, Webhook,
};

/// One change; see [`Store::commit`](crate::store::Store::commit).
#[derive(Debug, Clone)]
pub enum Change {
    /// Events of one task, and where it stands after them. Creates the task if it is new.
    Append(Append),
    /// A webhook was made or replaced.
    PutWebhook(Webhook),
    /// A webhook was removed.
    DeleteWebhook(TaskId, PushConfigId),
    /// A webhook's delivery went on, or failed for now. Ignored if the webhook is gone.
    Delivery(TaskId, PushConfigId, Delivery),
    /// A delivery was given up.
    DeadLetter(DeadLetter),
    /// An answer to remember under an idempotency key; the first one stays. If the answer is a task and another one was
    /// given before, everything about the task is refused.
    Answered(Answered),
    /// The snapshot now holds everything up to its `seq`: the events before it may go.
    Fold(Snapshot),
    /// Everything about a task is to go, if it is over.
    Remove(TaskId),
    /// An idempotency key is to go, if it was made at that moment or earlier.
    ForgetAnswer(IdempotencyKey, Timestamp),
    /// A turn begins, or its record changes; one of the same number is replaced. Ignored if the task is gone.
    Turn(TurnRecord),
    /// A turn records a step. Ignored if the task is gone.
    Step(Step),
    /// A task ended, and its upstream must be released. Ignored if the task is gone.
    ReleasePending(PendingRelease),
    /// The upstream of a task was released, or never will be.
    Released(TaskId),
}

impl Change {
    /// The task that it is about, and with whose other changes it is made or refused.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Append(append) => Some(&append.head.id),
            Self::PutWebhook(webhook) => Some(&webhook.task),
            Self::DeadLetter(letter) => Some(&letter.task),
            Self::Fold(snapshot) => Some(&snapshot.task.id),
            Self::Turn(turn) => Some(&turn.task),
            Self::Step(step) => Some(&step.task),
            Self::ReleasePending(release) => Some(&release.task),
            Self::DeleteWebhook(task, _)
            | Self::Delivery(task, _, _)
            | Self::Remove(task)
            | Self::Released(task) => Some(task),
            Self::Answered(answered) => match &answered.answer {
                Answer::Task(task) => Some(task),
                Answer::Message(_) => None,
            },
            Self::ForgetAnswer(..) => None,
        }
    }
}
