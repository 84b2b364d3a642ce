//! Who is next: pure bookkeeping, no I/O.
//!
//! A webhook is *ready*, *running* or *waiting* for its next try, or unknown here: then it costs nothing.
//! Hosts take turns, and none may take all places: a slow one makes only its own webhooks wait, and one that
//! does not answer at all is tried with one webhook at a time.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use switchboard_types::model::{PushConfigId, TaskId};
use tokio::time::Instant;

/// Names a webhook.
pub(super) type Key = (TaskId, PushConfigId);

/// Names a receiver.
pub(super) type HostName = Arc<str>;

/// What is to become of a webhook that was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing left to do.
    Idle,
    /// There is more, but others are to have their turn.
    Again,
    /// Not before this moment.
    At(Instant),
}

/// The order of deliveries.
#[derive(Debug)]
pub(super) struct Queue {
    places: usize,
    places_per_host: usize,
    running: usize,
    known: HashMap<Key, State>,
    hosts: HashMap<HostName, Host>,
    /// Hosts with ready webhooks and a free place, each once.
    turns: VecDeque<HostName>,
    waiting: BTreeSet<(Instant, Key)>,
}

#[derive(Debug)]
enum State {
    Ready,
    Running {
        host: HostName,
        /// Something happened meanwhile.
        again: bool,
    },
    Waiting {
        host: HostName,
        until: Instant,
    },
}

#[derive(Debug, Default)]
struct Host {
    ready: VecDeque<Key>,
    running: usize,
    /// The last one that ran got no answer.
    silent: bool,
    /// In `turns`.
    listed: bool,
}

impl Queue {
    pub(super) fn new(places: usize, places_per_host: usize) -> Self {
        Self {
            places: places.max(1),
            places_per_host: places_per_host.max(1),
            running: 0,
            known: HashMap::new(),
            hosts: HashMap::new(),
            turns: VecDeque::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// There is something to do for this webhook: now, or not before `until`.
    pub(super) fn add(&mut self, key: Key, host: HostName, until: Option<Instant>) {
        match self.known.get_mut(&key) {
            Some(State::Ready) => return,
            Some(State::Running { again, .. }) => {
                *again = true;
                return;
            }
            Some(State::Waiting { until: planned, .. }) => {
                let planned = *planned;
                if until.is_some_and(|until| until >= planned) {
                    return;
                }
                self.waiting.remove(&(planned, key.clone()));
            }
            None => {}
        }
        match until {
            None => self.ready(key, &host),
            Some(until) => self.wait(key, host, until),
        }
    }

    /// The next webhook to run, if a place is free.
    pub(super) fn next(&mut self) -> Option<Key> {
        while self.running < self.places {
            let name = self.turns.pop_front()?;
            let Some(host) = self.hosts.get_mut(&name) else {
                continue;
            };
            host.listed = false;
            // It may have fallen silent since it was listed.
            if host.running >= host.places(self.places_per_host) {
                continue;
            }
            let Some(key) = host.ready.pop_front() else {
                continue;
            };
            host.running += 1;
            self.running += 1;
            let running = State::Running {
                host: Arc::clone(&name),
                again: false,
            };
            self.known.insert(key.clone(), running);
            self.list(&name);
            return Some(key);
        }
        None
    }

    /// A webhook has stopped running. `answered` tells whether its host did, if it was called.
    pub(super) fn done(&mut self, key: Key, next: Next, answered: Option<bool>) {
        let Some(State::Running { host: name, again }) = self.known.remove(&key) else {
            return;
        };
        self.running = self.running.saturating_sub(1);
        if let Some(host) = self.hosts.get_mut(&name) {
            host.running = host.running.saturating_sub(1);
            host.silent = answered.map_or(host.silent, |answered| !answered);
        }
        match next {
            Next::At(until) => self.wait(key, Arc::clone(&name), until),
            Next::Again => self.ready(key, &name),
            Next::Idle if again => self.ready(key, &name),
            Next::Idle => {}
        }
        self.list(&name);
    }

    /// Makes ready what has waited until `now`.
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((until, _)) = self.waiting.first()
            && *until <= now
            && let Some((_, key)) = self.waiting.pop_first()
        {
            if let Some(State::Waiting { host, .. }) = self.known.remove(&key) {
                self.ready(key, &host);
            }
        }
    }

    /// When [`Queue::wake`] has something to do.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        self.waiting.first().map(|(until, _)| *until)
    }

    fn ready(&mut self, key: Key, host: &HostName) {
        self.known.insert(key.clone(), State::Ready);
        let entry = self.hosts.entry(Arc::clone(host)).or_default();
        entry.ready.push_back(key);
        self.list(host);
    }

    fn wait(&mut self, key: Key, host: HostName, until: Instant) {
        self.waiting.insert((until, key.clone()));
        self.known.insert(key, State::Waiting { host, until });
    }

    /// Gives a host its turn if it can use one; forgets it if nothing is left of it.
    fn list(&mut self, name: &HostName) {
        let Some(host) = self.hosts.get_mut(name) else {
            return;
        };
        let places = host.places(self.places_per_host);
        if host.ready.is_empty() {
            if host.running == 0 && !host.listed {
                self.hosts.remove(name);
            }
        } else if !host.listed && host.running < places {
            host.listed = true;
            self.turns.push_back(Arc::clone(name));
        }
    }
}

impl Host {
    fn places(&self, at_most: usize) -> usize {
        if self.silent { 1 } else { at_most }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(name: &str) -> Key {
        (TaskId::new("t").unwrap(), PushConfigId::new(name).unwrap())
    }

    fn add(queue: &mut Queue, host: &str, names: &[&str]) {
        for name in names {
            queue.add(key(name), Arc::from(host), None);
        }
    }

    fn running(queue: &mut Queue) -> Vec<String> {
        std::iter::from_fn(|| queue.next())
            .map(|(_, id)| id.as_str().to_owned())
            .collect()
    }

    fn nothing_is_kept(queue: &Queue) -> bool {
        queue.known.is_empty()
            && queue.hosts.is_empty()
            && queue.turns.is_empty()
            && queue.waiting.is_empty()
            && queue.running == 0
    }

    #[test]
    fn hosts_take_turns_within_their_places() {
        let mut queue = Queue::new(5, 2);
        add(&mut queue, "a", &["a1", "a2", "a3"]);
        add(&mut queue, "b", &["b1", "b2", "b3"]);
        add(&mut queue, "c", &["c1"]);
        assert_eq!(running(&mut queue), ["a1", "b1", "c1", "a2", "b2"]);
        queue.done(key("c1"), Next::Idle, Some(true));
        assert_eq!(running(&mut queue), [""; 0], "a and b have no place left");
        queue.done(key("b1"), Next::Idle, Some(true));
        assert_eq!(running(&mut queue), ["b3"]);
    }

    #[test]
    fn a_silent_host_gets_one_place_until_it_answers() {
        let mut queue = Queue::new(9, 3);
        add(&mut queue, "a", &["a1", "a2", "a3", "a4", "a5"]);
        assert_eq!(running(&mut queue), ["a1", "a2", "a3"]);
        for name in ["a1", "a2"] {
            queue.done(key(name), Next::Idle, Some(false));
            assert_eq!(running(&mut queue), [""; 0]);
        }
        queue.done(key("a3"), Next::Idle, Some(false));
        assert_eq!(running(&mut queue), ["a4"]);
        add(&mut queue, "a", &["a6"]);
        queue.done(key("a4"), Next::Idle, Some(true));
        assert_eq!(running(&mut queue), ["a5", "a6"]);
    }

    #[test]
    fn one_webhook_runs_once_at_a_time_and_again_if_something_happened() {
        let mut queue = Queue::new(9, 9);
        add(&mut queue, "a", &["a1", "a1"]);
        assert_eq!(running(&mut queue), ["a1"]);
        add(&mut queue, "a", &["a1", "a1"]);
        assert_eq!(running(&mut queue), [""; 0]);
        queue.done(key("a1"), Next::Idle, Some(true));
        assert_eq!(running(&mut queue), ["a1"]);
        queue.done(key("a1"), Next::Again, Some(true));
        assert_eq!(running(&mut queue), ["a1"]);
        queue.done(key("a1"), Next::Idle, None);
        assert!(nothing_is_kept(&queue), "{queue:?}");
    }

    #[test]
    fn waiting_webhooks_wake_in_time_and_not_for_news() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut queue = Queue::new(9, 9);
        add(&mut queue, "a", &["a1"]);
        assert_eq!(running(&mut queue), ["a1"]);
        queue.done(key("a1"), Next::At(later), Some(false));
        queue.add(
            key("a1"),
            Arc::from("a"),
            Some(later + Duration::from_secs(1)),
        );
        queue.wake(now);
        assert_eq!(running(&mut queue), [""; 0]);
        assert_eq!(queue.next_wake(), Some(later));
        queue.wake(later);
        assert_eq!(running(&mut queue), ["a1"]);
        queue.done(key("a1"), Next::Idle, Some(true));
        assert!(nothing_is_kept(&queue), "{queue:?}");
    }

    #[test]
    fn a_replaced_webhook_need_not_wait() {
        let later = Instant::now() + Duration::from_secs(9);
        let mut queue = Queue::new(9, 9);
        queue.add(key("a1"), Arc::from("a"), Some(later));
        queue.add(key("a1"), Arc::from("b"), None);
        assert_eq!(running(&mut queue), ["a1"]);
        assert_eq!(queue.next_wake(), None);
        queue.done(key("a1"), Next::Idle, Some(true));
        assert!(nothing_is_kept(&queue), "{queue:?}");
    }
}
