//! Messages that wait for more than credentials: those are brought by a message of its own, and they come after it.

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::Message;

use super::{TaskLog, Waited, lock};
use crate::auth::Principal;

impl TaskLog {
    /// The event with the message that has brought credentials, if the turn began with one; told once.
    pub fn credentials_came(&self) -> Option<u64> {
        lock(&self.inner).turn.as_mut()?.credentials_at.take()
    }

    /// These came before all that wait now.
    pub fn wait_again(&self, before: VecDeque<Arc<Message>>) {
        if let Some(turn) = &mut lock(&self.inner).turn {
            for message in before.into_iter().rev() {
                turn.inbox.push_front(self.of_its_owner(message));
            }
        }
    }

    /// A message from before. Nobody knows any more what its sender was granted.
    pub(super) fn of_its_owner(&self, message: Arc<Message>) -> Waited {
        (message, Principal::from(self.origin.owner.clone()), None)
    }
}
