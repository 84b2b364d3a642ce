//! Messages that wait for their turn: the next one follows on a question. A secret is brought by a message of its own, and
//! they come after it.

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::{Event, Message, TaskState};

use super::inner::RunningTurn;
use super::{TaskLog, lock};
use crate::principal::Principal;
use crate::task::Change;
use crate::trace::Trace;

/// A message that waited for its turn.
#[derive(Debug)]
pub struct Waited {
    /// As the agent hears it.
    pub message: Arc<Message>,
    /// As it is kept.
    pub recorded: Arc<Message>,
    /// Who has sent it.
    pub from: Principal,
    /// What it is part of.
    pub trace: Option<Arc<Trace>>,
    /// The event that it came with.
    pub at: u64,
}

impl TaskLog {
    /// Ends the running turn with `event`, and `beside` is stored with it. Returns the next message if one came meanwhile
    /// and the task waits for it; then `working` is appended and the same turn token goes on. A task that waits for
    /// credentials waits for more than what was said before it did: those messages come after the one that brings them.
    ///
    /// # Errors
    ///
    /// The event, if it asks something and the task was canceled: nobody will answer. The turn has not ended then.
    pub fn end_turn(
        self: &Arc<Self>,
        event: Event,
        beside: Option<Change>,
        working: impl FnOnce() -> Event,
    ) -> Result<Option<Waited>, Event> {
        let next = {
            let mut inner = lock(&self.inner);
            let canceled = |turn: &RunningTurn| turn.canceled.is_cancelled();
            if asks(&event) && inner.turn.as_ref().is_some_and(canceled) {
                return Err(event);
            }
            // An event that is no longer allowed means that the task was ended by someone else: fine.
            let ends = inner.append(event, None).is_ok();
            inner.beside.extend(beside.filter(|_| ends));
            let goes_on = ends && inner.state == TaskState::InputRequired && inner.turn.is_some();
            let next = match goes_on {
                true => inner.inbox.pop_front(),
                false => None,
            };
            match &next {
                Some(next) => {
                    inner.follow(next.trace.clone(), &self.origin.id);
                    inner.append(working(), None).ok();
                }
                None => inner.turn = None,
            }
            if inner.state.is_terminal() {
                inner.inbox.clear();
            }
            next
        };
        self.enqueue();
        if next.is_none() {
            self.shared.registry.retire(self);
        }
        Ok(next)
    }

    /// Whether messages may wait that only the store knows of.
    pub fn more_waits(&self) -> bool {
        lock(&self.inner).more_waits
    }

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
            recorded: Arc::clone(&message),
            message,
            from: Principal::from(self.origin.owner.clone()),
            trace: None,
            at: 0,
        }
    }
}

fn asks(event: &Event) -> bool {
    matches!(event, Event::Status(update) if update.status.state.is_interrupted())
}
