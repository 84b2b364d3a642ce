//! A feed of heads: who follows it learns of every change of every task, once it is committed.

use std::sync::OnceLock;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};

use super::Log;
use crate::task::Head;

/// How many heads a follower may be behind.
const MAX_LAG: usize = 1024;

/// Sends heads to those who follow. Nothing is made for it before someone does.
#[derive(Debug, Default)]
pub(super) struct HeadSender(OnceLock<Sender<Head>>);

/// Heads of tasks, in the order in which they are committed.
///
/// One that falls behind by more than a thousand loses the oldest ones, and learns how many. It has to list the tasks
/// again: nothing else says what it has missed. The writer never waits for a follower.
#[derive(Debug)]
pub struct HeadFeed(Receiver<Head>);

/// A follower was too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{missed} changes were missed: list the tasks again")]
pub struct FeedGap {
    /// How many heads it has missed.
    pub missed: u64,
}

impl HeadFeed {
    /// The next head; `None` when the log is gone.
    ///
    /// # Errors
    ///
    /// If heads were missed. The next call goes on after them.
    pub async fn next(&mut self) -> Result<Option<Head>, FeedGap> {
        match self.0.recv().await {
            Ok(head) => Ok(Some(head)),
            Err(RecvError::Closed) => Ok(None),
            Err(RecvError::Lagged(missed)) => Err(FeedGap { missed }),
        }
    }
}

impl HeadSender {
    /// Sends a head, which is made only if someone follows.
    pub(super) fn send(&self, head: impl FnOnce() -> Option<Head>) {
        if let Some(sender) = self.0.get().filter(|sender| sender.receiver_count() > 0)
            && let Some(head) = head()
        {
            // An error only says that the last follower has just gone.
            sender.send(head).ok();
        }
    }

    fn follow(&self) -> HeadFeed {
        let sender = self.0.get_or_init(|| broadcast::channel(MAX_LAG).0);
        HeadFeed(sender.subscribe())
    }
}

impl Log {
    /// Follows the heads of all tasks that this log commits from now on. To miss nothing, follow first and list then.
    #[must_use]
    pub fn follow_heads(&self) -> HeadFeed {
        self.shared.heads.follow()
    }
}
