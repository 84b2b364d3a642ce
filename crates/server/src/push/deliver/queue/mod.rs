//! Who is next: pure bookkeeping, no I/O.
//!
//! A webhook is *ready*, *running* or *waiting* for its next attempt, or unknown here: then it costs nothing.
//! Webhooks whose last attempt failed have a [`Lane`] of their own, so that however many of them hang until their
//! timeout, most of the capacity is kept for first attempts. Within a lane owners take turns, then hosts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use switchboard_types::model::{PushConfigId, TaskId};
use tokio::time::Instant;

use super::lane::Lane;
use crate::task::Owner;

/// Retries get one slot in this many.
const RETRY_SHARE: usize = 4;

/// Names a webhook.
pub(super) type Key = (TaskId, PushConfigId);

/// Names a receiver.
pub(super) type HostName = Arc<str>;

/// Where a webhook waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) owner: Owner,
    pub(super) host: HostName,
    /// Its last attempt failed.
    pub(super) failing: bool,
}

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

/// How a webhook's turn ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) next: Next,
    /// Whether the receiver answered, if it was called.
    pub(super) answered: Option<bool>,
    /// Whether the last attempt failed, if that is known.
    pub(super) failing: Option<bool>,
}

/// The order of deliveries.
#[derive(Debug)]
pub(super) struct Queue {
    known: HashMap<Key, State>,
    first_attempts: Lane,
    retries: Lane,
    waiting: BTreeSet<(Instant, Key)>,
}

#[derive(Debug)]
enum State {
    Ready,
    Running {
        route: Route,
        /// Something happened meanwhile: this is where the webhook belongs now.
        again: Option<Route>,
    },
    Waiting {
        route: Route,
        until: Instant,
    },
}

impl Queue {
    /// A queue that runs up to `slots` webhooks at once, and up to `slots_per_host` of one owner at one host; at least
    /// one first attempt and one retry.
    pub(super) fn new(slots: usize, slots_per_host: usize) -> Self {
        let retries = |slots: usize| (slots / RETRY_SHARE).max(1);
        let first_attempts = |slots: usize| slots.saturating_sub(retries(slots)).max(1);
        Self {
            known: HashMap::new(),
            first_attempts: Lane::new(first_attempts(slots), first_attempts(slots_per_host)),
            retries: Lane::new(retries(slots), retries(slots_per_host)),
            waiting: BTreeSet::new(),
        }
    }

    /// There is something to do for this webhook: now, or not before `until`.
    pub(super) fn add(&mut self, key: Key, route: Route, until: Option<Instant>) {
        match self.known.get_mut(&key) {
            Some(State::Ready) => return,
            Some(State::Running { again, .. }) => {
                *again = Some(route);
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
            None => self.ready(key, &route),
            Some(until) => self.wait(key, route, until),
        }
    }

    /// The next webhook to run, if a slot is free.
    pub(super) fn next(&mut self) -> Option<Key> {
        let lanes = [(false, &mut self.first_attempts), (true, &mut self.retries)];
        for (failing, lane) in lanes {
            if let Some((key, owner, host)) = lane.pop() {
                let route = Route {
                    owner,
                    host,
                    failing,
                };
                let running = State::Running { route, again: None };
                self.known.insert(key.clone(), running);
                return Some(key);
            }
        }
        None
    }

    /// A webhook has stopped running.
    pub(super) fn done(&mut self, key: Key, ended: Ended) {
        let Some(State::Running { route, again }) = self.known.remove(&key) else {
            return;
        };
        self.lane(route.failing)
            .release(&route.owner, &route.host, ended.answered);
        let happened = again.is_some();
        let mut route = again.unwrap_or(route);
        // What was stored when something happened may be older than what the worker knows.
        route.failing = ended.failing.unwrap_or(route.failing);
        match ended.next {
            Next::At(until) => self.wait(key, route, until),
            Next::Again => self.ready(key, &route),
            Next::Idle if happened => self.ready(key, &route),
            Next::Idle => {}
        }
    }

    /// Makes ready what has waited until `now`.
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((until, _)) = self.waiting.first()
            && *until <= now
            && let Some((_, key)) = self.waiting.pop_first()
        {
            if let Some(State::Waiting { route, .. }) = self.known.remove(&key) {
                self.ready(key, &route);
            }
        }
    }

    /// When [`Queue::wake`] has something to do.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        self.waiting.first().map(|(until, _)| *until)
    }

    fn ready(&mut self, key: Key, route: &Route) {
        self.known.insert(key.clone(), State::Ready);
        self.lane(route.failing)
            .push(&route.owner, &route.host, key);
    }

    fn wait(&mut self, key: Key, route: Route, until: Instant) {
        self.waiting.insert((until, key.clone()));
        self.known.insert(key, State::Waiting { route, until });
    }

    fn lane(&mut self, failing: bool) -> &mut Lane {
        if failing {
            &mut self.retries
        } else {
            &mut self.first_attempts
        }
    }
}

#[cfg(test)]
mod tests;
