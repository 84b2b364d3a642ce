//! Whether the store accepts commits: for readiness, and for a log that a store that refuses does not fill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::lock;
use crate::store::Error;

/// How often a store that goes on refusing is logged.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Whether the store accepts commits. Kept by the writer.
#[derive(Debug, Default)]
pub struct StoreStatus {
    /// The same as whether there is an outage, without the lock: it is looked at with every commit.
    is_refusing: AtomicBool,
    outage: Mutex<Option<Outage>>,
}

/// The time since the store refused a commit, and has accepted none.
#[derive(Debug)]
struct Outage {
    error: String,
    since: Instant,
    reported: Instant,
    refused: u64,
}

impl StoreStatus {
    /// Why the store refuses commits, if it does.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let outage = lock(&self.outage);
        outage.as_ref().map(|outage| outage.error.clone())
    }

    /// Whether the store refuses commits.
    #[must_use]
    pub fn is_refusing(&self) -> bool {
        self.is_refusing.load(Ordering::Relaxed)
    }

    /// The store refused a commit of so many tasks.
    pub(super) fn refused(&self, error: &Error, tasks: usize) {
        let mut outage = lock(&self.outage);
        let now = Instant::now();
        let Some(outage) = &mut *outage else {
            tracing::error!(%error, tasks, "store refuses commits");
            *outage = Some(Outage {
                error: error.to_string(),
                since: now,
                reported: now,
                refused: 1,
            });
            self.is_refusing.store(true, Ordering::Relaxed);
            return;
        };
        outage.refused += 1;
        outage.error = error.to_string();
        if now - outage.reported >= REPORT_INTERVAL {
            let (refused, seconds) = (outage.refused, (now - outage.since).as_secs());
            tracing::error!(%error, refused, seconds, "store still refuses commits");
            outage.reported = now;
        }
    }

    /// The store accepted a commit.
    pub(super) fn accepted(&self) {
        if !self.is_refusing() {
            return;
        }
        if let Some(outage) = lock(&self.outage).take() {
            let (refused, seconds) = (outage.refused, outage.since.elapsed().as_secs());
            tracing::info!(refused, seconds, "store accepts commits again");
        }
        self.is_refusing.store(false, Ordering::Relaxed);
    }
}
