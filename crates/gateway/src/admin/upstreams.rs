//! Whether the upstreams of agents answer: checked when someone asks, remembered for those who ask soon after.
//!
//! Metrics are scraped every few seconds, often by more than one collector. A check is a request to each upstream, so they
//! share its result, and nobody waits for an upstream that does not answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use switchboard_server::backend::{Health, HealthState};
use switchboard_server::directory::Directory as _;
use switchboard_server::metrics::Lines;
use switchboard_server::shutdown::Tasks;
use switchboard_server::table::Table;
use tokio::time::{Instant, timeout};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

/// How long a check is good for.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// How long a scrape waits for a check; what it finds later is in the next one.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);

/// The state of all upstreams.
#[derive(Debug)]
pub(super) struct Upstreams {
    table: Arc<Table>,
    tasks: Tasks,
    found: Arc<Mutex<BTreeMap<Arc<str>, HealthState>>>,
    /// When the last check began. Locked as long as it runs.
    checked: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

impl Upstreams {
    pub(super) fn new(table: Arc<Table>, tasks: Tasks) -> Self {
        Self {
            table,
            tasks,
            found: Arc::default(),
            checked: Arc::default(),
        }
    }

    /// Checks all upstreams if that was not done lately, in the background.
    async fn refresh(&self) {
        let Ok(mut checked) = Arc::clone(&self.checked).try_lock_owned() else {
            return;
        };
        if checked.is_some_and(|at| at.elapsed() < CHECK_INTERVAL) {
            return;
        }
        *checked = Some(Instant::now());
        let (table, found) = (Arc::clone(&self.table), Arc::clone(&self.found));
        let check = async move {
            let states = all(&table).await.into_iter();
            let states = states.map(|(name, health)| (name, health.state)).collect();
            *found.lock() = states;
            drop(checked);
        };
        let stopping = self.tasks.stopping().clone();
        self.tasks.spawn(async move {
            tokio::select! { () = check => {}, () = stopping.cancelled() => {} }
        });
        // The lock is free once the check is done; one that takes longer goes on.
        drop(timeout(SCRAPE_TIMEOUT, self.checked.lock()).await);
    }

    /// Writes the state of each upstream that has one.
    pub(super) async fn write(&self, lines: &mut Lines) {
        self.refresh().await;
        let name = "switchboard_upstream_up";
        let help = "Whether the upstream of an agent answers: 1 if it is up, 0 if it is down.";
        lines.series(name, "gauge", help);
        let found = self.found.lock();
        for (agent, state) in &*found {
            let up = match state {
                HealthState::Up => 1,
                HealthState::Down => 0,
                HealthState::Unknown => continue,
            };
            lines.number(name, &[("agent", agent)], up);
        }
    }
}

/// Checks the backends of all agents now, by name. A check that fails is the answer, not an incident: it logs nothing.
pub(super) async fn all(table: &Table) -> Vec<(Arc<str>, Health)> {
    let mut names: Vec<_> = table.list().iter().map(|a| Arc::clone(&a.name)).collect();
    names.sort();
    // All at once: one that does not answer takes its time.
    let checks = names.into_iter().map(|name| async {
        let health = table.health(&name).with_subscriber(Dispatch::none());
        let health = health.await?;
        Some((name, health))
    });
    join_all(checks).await.into_iter().flatten().collect()
}
