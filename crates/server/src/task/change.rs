//! What a commit can change.

use switchboard_types::model::{PushConfigId, TaskId, Timestamp};

use super::{
    Answered, Append, DeadLetter, Delivery, IdempotencyKey, PendingRelease, Snapshot, Step,
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
    /// An answer to remember under an idempotency key; the first one stays.
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
