//! What can be wrong with the agent: one thing at a time.

use std::fmt;

use serde_json::Value;

use super::serve::{Call, Reply};

/// The one thing that is wrong.
#[derive(Clone, Copy)]
pub(crate) enum Mutation {
    /// The agent is right.
    None,
    /// It behaves wrongly.
    Fault(Fault),
    /// It behaves rightly, and writes an answer wrongly.
    Reply(fn(&Call, &mut Reply)),
    /// It writes an event of a stream wrongly; the number is its place in the stream.
    Event(fn(usize, &mut Value)),
    /// Its card is wrong.
    Card(fn(&mut Value)),
    /// It misreads a call.
    Call(fn(&mut Call)),
}

impl fmt::Debug for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Fault(fault) => return fault.fmt(f),
            Self::Reply(_) => "Reply",
            Self::Event(_) => "Event",
            Self::Card(_) => "Card",
            Self::Call(_) => "Call",
        })
    }
}

/// Wrong behaviour that no change of a single answer could imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A cancel is answered with the task, which runs on.
    CancelIsDead,
    /// A cancel is answered as if it had worked.
    CancelLies,
    /// A canceled task runs on, and completes.
    RunsOnAfterCancel,
    CancelsFinishedTasks,
    RestartsTasks,
    ReusesTaskIds,
    ReplacesContexts,
    IgnoresContextMismatch,
    IgnoresHistoryLength,
    IgnoresBlocking,
    IgnoresReturnImmediately,
    IgnoresListFilters,
    PagesOverlap,
    PagesSkip,
    PagesNeverEnd,
    IgnoresVersion,
    IgnoresCredentials,
    ShowsExtendedCardToAll,
    /// The event stream has a content type of its own, or none.
    StreamIsPlainText,
    StreamIsJson,
    StreamOmitsTask,
    StreamDropsChunk,
    StreamGoesOnAfterEnd,
    StreamIsBuffered,
    NeverCloses,
    /// A reader that leaves ends the task.
    LeavingCancels,
    SubscribeIsEmpty,
    SubscribeOmitsTask,
    SubscribeShowsAnotherTask,
    IgnoresInlineWebhooks,
    NeverDelivers,
    DeliversBareText,
    DeliversArtifactsOnly,
    DropsWebhookToken,
    DropsWebhookCredentials,
    KeepsDeletedWebhooks,
    DeletesOnce,
    ListsOneWebhook,
    ListsNoWebhooks,
}
