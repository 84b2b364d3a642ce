//! Files that change are read again: new connections get what is new, open ones stay as they are.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::{Settings, Tls};
use crate::clock;
use crate::net::Age;
use crate::shutdown::Tasks;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What tells one version of a file from the next, symbolic links followed.
pub(super) type Stamp = Option<(SystemTime, u64, u64)>;

impl Tls {
    /// Reads the files again when they change, and when the process is sent `SIGHUP`. What cannot be used changes
    /// nothing.
    pub fn watch(self: &Arc<Self>, tasks: &Tasks) {
        if self.settings.files().next().is_none() {
            return;
        }
        let (tls, stopping) = (Arc::clone(self), tasks.stopping().clone());
        // From now on it does not end the process.
        let mut hangups = signal(SignalKind::hangup())
            .inspect_err(|error| tracing::warn!(%error, "could not listen to SIGHUP"))
            .ok();
        let mut seen = tls.first.clone();
        tasks.spawn(async move {
            let mut looks = tokio::time::interval(LOOK_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut failed = None;
            loop {
                let asked = tokio::select! {
                    () = stopping.cancelled() => return,
                    () = hangup(&mut hangups) => true,
                    _ = looks.tick() => false,
                };
                // Looked at before they are read: what is written meanwhile is seen the next time.
                let now = stamps(&tls.settings);
                if !asked && now == seen && failed.is_none() {
                    continue;
                }
                failed = tls.reload(failed.take()).await;
                seen = now;
            }
        });
    }

    /// Reads all again; what failed, if it did. Half of a pair may be there already: the same failure is told once.
    async fn reload(self: &Arc<Self>, before: Option<String>) -> Option<String> {
        let tls = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || tls.settings.read()).await;
        match read {
            Ok(Ok(new)) => {
                let certificate = Arc::clone(&new.certificate);
                self.replace(new);
                let fingerprint = certificate.fingerprint();
                tracing::info!(fingerprint, "TLS certificate reloaded");
                if certificate.age_at(clock::now()) != Age::Good {
                    tracing::warn!(fingerprint, "TLS certificate is not valid now");
                }
                None
            }
            Ok(Err(error)) => {
                let error = error.to_string();
                if before.as_ref() != Some(&error) {
                    tracing::warn!(%error, "TLS certificate reload rejected, keeping previous");
                }
                Some(error)
            }
            Err(error) => {
                tracing::warn!(%error, "TLS certificate reload rejected, keeping previous");
                before
            }
        }
    }
}

pub(super) fn stamps(settings: &Settings) -> Vec<Stamp> {
    let stamp = |path| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len(), data.ino()))
    };
    settings.files().map(stamp).collect()
}

/// The next `SIGHUP`; never, if there is no listening to it.
async fn hangup(signals: &mut Option<Signal>) {
    if let Some(signals) = signals
        && signals.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}
