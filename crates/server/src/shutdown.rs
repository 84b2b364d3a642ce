//! Every spawned task has an owner and an end: spawning goes through [`Tasks`], and shutdown drains it.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Owns spawned tasks; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Spawns `future`, tracked until it ends.
    #[expect(clippy::disallowed_methods, reason = "the one place that spawns")]
    pub fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(tokio::spawn(self.tracker.track_future(future)));
    }

    /// Cancelled when shutdown begins.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Begins shutdown: everyone who listens to [`Tasks::stopping`] winds down.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until all tasks have ended, `deadline` at most. Tells whether they did.
    pub async fn drain(&self, deadline: Duration) -> bool {
        self.tracker.close();
        tokio::time::timeout(deadline, self.tracker.wait())
            .await
            .is_ok()
    }
}

/// Waits for Ctrl-C or SIGTERM, by which service managers stop a process.
///
/// # Errors
///
/// If the process cannot listen for signals.
pub async fn stop_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
