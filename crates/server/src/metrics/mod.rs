//! Metrics: counted where things happen, written as text for Prometheus ([`Metrics::write`]).
//!
//! Counting is a relaxed addition and takes no lock: each agent's [`Meter`] is looked up once. There are no series by
//! task, caller or context: their number would have no bound.

mod asking;
mod histogram;
mod meter;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

pub(crate) use asking::Asking;
use histogram::{COMMIT_SECONDS, Histogram};
pub use meter::Meter;
pub(crate) use meter::{Line, Status};
pub use text::Lines;

/// All metrics of a server.
#[derive(Debug, Default)]
pub struct Metrics {
    agents: RwLock<BTreeMap<Arc<str>, Arc<Meter>>>,
    /// Requests that were refused before they were calls.
    unknown: Counter,
    delivered: Counter,
    failed: Counter,
    given_up: Counter,
    commits: CommitDurations,
    authentication_failures: Counter,
    open_connections: AtomicI64,
}

/// How long commits took.
#[derive(Debug)]
struct CommitDurations(Histogram);

impl Default for CommitDurations {
    fn default() -> Self {
        Self(Histogram::new(&COMMIT_SECONDS))
    }
}

/// A connection that is open as long as this lives.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Metrics>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What became of an attempt to deliver an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// It was taken.
    Taken,
    /// It is tried again.
    NotYet,
    /// It is not tried again.
    GivenUp,
}

impl Metrics {
    /// The numbers of an agent; made if there are none yet.
    pub fn agent(&self, name: &Arc<str>) -> Arc<Meter> {
        let agents = self.agents.read();
        if let Some(meter) = agents.get(name) {
            return Arc::clone(meter);
        }
        drop(agents);
        let mut agents = self.agents.write();
        Arc::clone(agents.entry(Arc::clone(name)).or_default())
    }

    /// An agent is not there any more.
    pub fn gone(&self, name: &str) {
        let agents = self.agents.read();
        if let Some(meter) = agents.get(name) {
            meter.present.store(false, Ordering::Relaxed);
        }
    }

    /// An agent is not there any more, and nobody asks about it. Its numbers go once its tasks are over.
    pub fn forget(&self, name: &str) {
        let mut agents = self.agents.write();
        agents.retain(|known, meter| **known != *name || meter.is_told());
    }

    /// The store has committed a batch.
    pub(crate) fn committed(&self, took: Duration) {
        self.commits.0.took(took);
    }

    /// A request came with credentials that nobody accepts.
    pub(crate) fn authentication_failed(&self) {
        self.authentication_failures.add(1);
    }

    /// A connection is open until the guard is dropped.
    pub(crate) fn connection_opened(self: &Arc<Self>) -> OpenConnection {
        self.open_connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// A request that was refused before it was a call: it cannot be read, or nobody knows who sends it.
    pub(crate) fn unknown(&self) {
        self.unknown.add(1);
    }

    /// An attempt to deliver an event to a webhook.
    pub(crate) fn delivered(&self, outcome: Delivered) {
        let counter = match outcome {
            Delivered::Taken => &self.delivered,
            Delivered::NotYet => &self.failed,
            Delivered::GivenUp => &self.given_up,
        };
        counter.add(1);
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
