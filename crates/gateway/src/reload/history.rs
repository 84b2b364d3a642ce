//! What became of configurations that were read again, for the admin API and its metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::RwLock;

use switchboard_server::clock;
use switchboard_types::model::Timestamp;

use super::Reload;

/// What became of configurations that were read again. Shared with the admin API.
#[derive(Debug)]
pub struct Reloads {
    latest: RwLock<Option<Arc<Reload>>>,
    accepted: AtomicU64,
    rejected: AtomicU64,
    last_was_rejected: AtomicBool,
    /// When a configuration was accepted last, in microseconds; the start is one.
    accepted_at: AtomicI64,
}

/// How often configurations were read again since the start, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadCounts {
    /// Accepted.
    pub accepted: u64,
    /// Rejected: the previous configuration stayed in effect.
    pub rejected: u64,
    /// Whether the latest was accepted.
    pub last_was_accepted: bool,
    /// When one was accepted last; the start is one.
    pub accepted_at: Timestamp,
}

impl Default for Reloads {
    fn default() -> Self {
        Self {
            latest: RwLock::default(),
            accepted: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            last_was_rejected: AtomicBool::new(false),
            accepted_at: AtomicI64::new(clock::now().as_micros()),
        }
    }
}

impl Reloads {
    /// The latest; nothing if the configuration of the start was not touched.
    #[must_use]
    pub fn latest(&self) -> Option<Arc<Reload>> {
        self.latest.read().clone()
    }

    /// How often it was tried, and with what success.
    #[must_use]
    pub fn counts(&self) -> ReloadCounts {
        ReloadCounts {
            accepted: self.accepted.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
            last_was_accepted: !self.last_was_rejected.load(Ordering::Relaxed),
            accepted_at: Timestamp::from_micros(self.accepted_at.load(Ordering::Relaxed)),
        }
    }

    pub(super) fn set(&self, reload: Reload) {
        let mut latest = self.latest.write();
        *latest = Some(Arc::new(reload));
    }

    pub(super) fn count(&self, accepted: bool) {
        self.last_was_rejected.store(!accepted, Ordering::Relaxed);
        if accepted {
            self.accepted.fetch_add(1, Ordering::Relaxed);
            let now = clock::now().as_micros();
            self.accepted_at.store(now, Ordering::Relaxed);
        } else {
            self.rejected.fetch_add(1, Ordering::Relaxed);
        }
    }
}
