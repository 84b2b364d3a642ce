//! What was told before: agents post at least once, so sometimes twice.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use switchboard_types::model::Event;

/// How many notifications are remembered.
const MOST: usize = 10_000;

/// The last notifications.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<Mark>,
    order: VecDeque<Mark>,
}

/// What tells a notification from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mark(u64);

impl Mark {
    /// A numbered event is known by its number. Without one, the same words are the same event, but for pieces of an
    /// artifact, which have no mark: an agent may well say the same piece twice.
    pub(super) fn of(task: &str, number: Option<&str>, event: &Event, body: &[u8]) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        match (number, event) {
            (Some(number), _) => (true, number).hash(&mut hasher),
            (None, Event::Artifact(update)) if update.append => return None,
            (None, _) => (false, body).hash(&mut hasher),
        }
        Some(Self(hasher.finish()))
    }
}

impl Seen {
    /// Whether this was told before.
    pub(super) fn knows(&self, mark: Mark) -> bool {
        self.known.contains(&mark)
    }

    /// From now on it was. Whether that is new.
    pub(super) fn remember(&mut self, mark: Mark) -> bool {
        if !self.known.insert(mark) {
            return false;
        }
        self.order.push_back(mark);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}
