//! What was told before: agents post at least once, so sometimes twice.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use switchboard_types::model::Event;

/// How many notifications are remembered.
const MOST: usize = 10_000;

/// The last notifications.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Seen {
    /// Whether this was told before; from now on it was.
    ///
    /// A numbered event is known by its number. Without one, the same words are the same event, but for pieces of an
    /// artifact: an agent may well say the same piece twice.
    pub(super) fn is_repeat(
        &mut self,
        task: &str,
        number: Option<&str>,
        event: &Event,
        body: &[u8],
    ) -> bool {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        match (number, event) {
            (Some(number), _) => (true, number).hash(&mut hasher),
            (None, Event::Artifact(update)) if update.append => return false,
            (None, _) => (false, body).hash(&mut hasher),
        }
        let key = hasher.finish();
        if !self.known.insert(key) {
            return true;
        }
        self.order.push_back(key);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        false
    }
}
