//! Messages that wait for more than a secret: that is brought by a message of its own, and they come after it.

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::Message;

use super::{TaskLog, Waited, lock};
use crate::auth::Principal;

impl TaskLog {
    /// The event that began the turn, if messages from before it may wait in the store; told once.
    pub fn recalls(&self) -> Option<u64> {
        lock(&self.inner).turn.as_mut()?.recalls.take()
    }

    /// These came before all that wait now.
    pub fn wait_again(&self, before: VecDeque<Arc<Message>>) {
        let mut inner = lock(&self.inner);
        for message in before.into_iter().rev() {
            inner.inbox.push_front(self.of_its_owner(message));
        }
    }

    /// A message from before. Nobody knows any more what its sender was granted.
    pub(super) fn of_its_owner(&self, message: Arc<Message>) -> Waited {
        Waited {
            message,
            from: Principal::from(self.origin.owner.clone()),
            trace: None,
            at: 0,
        }
    }
}
