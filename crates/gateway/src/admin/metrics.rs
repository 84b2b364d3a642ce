//! `GET /metrics`: the metrics, as Prometheus reads them.

use std::path::Path;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body_util::Full;
use switchboard_server::clock;
use switchboard_server::log::Log;
use switchboard_server::metrics::Lines;
use switchboard_server::store;

use super::{Admin, Answer};
use crate::reload::ReloadCounts;

/// How many webhooks are counted at most.
const MAX_PENDING: usize = 1000;

/// What the files in a data directory are part of, by the beginning of their names.
const DATABASES: [(&str, &str); 3] = [
    ("tasks", "switchboard.db"),
    ("journal", "switchboard.journal"),
    ("access", "access.db"),
];

pub(super) async fn answer(admin: &Admin) -> Answer {
    let shows = &admin.shows;
    let mut lines = Lines::default();
    let name = "switchboard_build_info";
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    lines.series(name, "gauge", "Version and build of the running binary.");
    lines.number(name, &version, 1);
    shows.log.metrics().write(&mut lines);
    admin.upstreams.write(&mut lines).await;
    reloads(&shows.reloads.counts(), &mut lines);
    if let Some(exporter) = &shows.exporter {
        exporter.write(&mut lines);
    }
    if let Err(error) = outbox(&shows.log, &mut lines).await {
        tracing::warn!(%error, "could not count pending webhooks");
    }
    store(admin, &mut lines).await;
    if let Some(bytes) = memory() {
        let name = "process_resident_memory_bytes";
        lines.series(name, "gauge", "Resident memory of the process in bytes.");
        lines.number(name, &[], bytes);
    }
    let mut answer = Response::new(Full::new(Bytes::from(lines.into_text())));
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, text);
    answer
}

fn reloads(counts: &ReloadCounts, lines: &mut Lines) {
    let name = "switchboard_config_reloads_total";
    let help = "Hot reloads of the configuration since startup, by result.";
    lines.series(name, "counter", help);
    lines.number(name, &[("result", "accepted")], counts.accepted);
    lines.number(name, &[("result", "rejected")], counts.rejected);
    let name = "switchboard_config_last_reload_successful";
    let help = "Whether the last hot reload was accepted; 1 until the first one.";
    lines.series(name, "gauge", help);
    lines.number(name, &[], u8::from(counts.last_was_accepted));
    let name = "switchboard_config_last_reload_success_timestamp_seconds";
    let help = "Unix time at which a configuration was last accepted; startup is the first.";
    lines.series(name, "gauge", help);
    let seconds = counts.accepted_at.as_micros() / 1_000_000;
    lines.number(name, &[], seconds);
}

/// How far deliveries are behind.
async fn outbox(log: &Log, lines: &mut Lines) -> Result<(), store::Error> {
    let waiting = log.store().undelivered(None, MAX_PENDING).await?;
    let since = waiting
        .iter()
        .filter_map(|hook| hook.delivery.failing_since);
    let oldest = since.min().map_or(0, |since| {
        clock::now()
            .as_micros()
            .saturating_sub(since.as_micros())
            .max(0)
    });
    let name = "switchboard_webhooks_pending";
    let help = "Webhooks with undelivered events, at most 1000.";
    lines.series(name, "gauge", help);
    lines.number(name, &[], waiting.len());
    let name = "switchboard_webhook_lag_seconds";
    let help = "How long the oldest failing webhook has been failing.";
    lines.series(name, "gauge", help);
    lines.number(name, &[], oldest / 1_000_000);
    Ok(())
}

/// Whether the store works, and how much room it takes and has.
async fn store(admin: &Admin, lines: &mut Lines) {
    let name = "switchboard_store_writable";
    let help = "Whether the store accepts commits: 0 while it refuses them, as on a full disk.";
    lines.series(name, "gauge", help);
    let writable = !admin.shows.log.store_status().is_refusing();
    lines.number(name, &[], u8::from(writable));
    let Some(dir) = admin.data.clone() else {
        return;
    };
    // Slow disks must not hold up a runtime thread.
    let Ok(disk) = tokio::task::spawn_blocking(move || Disk::of(&dir)).await else {
        return;
    };
    let name = "switchboard_database_size_bytes";
    let help = "Size of the files in the data directory, by database.";
    lines.series(name, "gauge", help);
    for ((database, _), size) in DATABASES.iter().zip(disk.sizes) {
        lines.number(name, &[("database", database)], size);
    }
    if let Some((free, capacity)) = disk.space {
        let name = "switchboard_data_dir_free_bytes";
        let help = "Free bytes on the file system of the data directory.";
        lines.series(name, "gauge", help);
        lines.number(name, &[], free);
        let name = "switchboard_data_dir_capacity_bytes";
        let help = "Capacity of the file system of the data directory in bytes.";
        lines.series(name, "gauge", help);
        lines.number(name, &[], capacity);
    }
}

/// What is known of a data directory.
struct Disk {
    /// As [`DATABASES`].
    sizes: [u64; DATABASES.len()],
    /// Free and in all, in bytes.
    space: Option<(u64, u64)>,
}

impl Disk {
    fn of(dir: &Path) -> Self {
        let mut sizes = [0; DATABASES.len()];
        let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
        for file in files {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let at = DATABASES
                .iter()
                .position(|(_, begin)| name.starts_with(begin));
            if let (Some(at), Ok(data)) = (at, file.metadata()) {
                sizes[at] += data.len();
            }
        }
        Self {
            sizes,
            space: space(dir),
        }
    }
}

fn space(dir: &Path) -> Option<(u64, u64)> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Some((bytes(disk.f_bavail), bytes(disk.f_blocks)))
}

/// The resident memory of this process.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
