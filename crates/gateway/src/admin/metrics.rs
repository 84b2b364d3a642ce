//! `GET /metrics`: the numbers, as Prometheus reads them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body_util::Full;
use switchboard_server::clock;
use switchboard_server::log::Log;
use switchboard_server::metrics::Lines;
use switchboard_server::store;

use super::Answer;
use crate::otlp::Exporter;

/// How many webhooks are looked at.
const MOST: usize = 1000;

pub(super) async fn answer(log: &Log, exporter: Option<&Exporter>) -> Answer {
    let mut lines = Lines::default();
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    lines.series("switchboard_build_info", "gauge", "What runs.");
    lines.number("switchboard_build_info", &version, 1);
    log.metrics().write(&mut lines);
    if let Some(exporter) = exporter {
        exporter.write(&mut lines);
    }
    if let Err(error) = outbox(log, &mut lines).await {
        tracing::warn!(%error, "webhooks cannot be counted");
    }
    if let Some(bytes) = memory() {
        let name = "process_resident_memory_bytes";
        lines.series(name, "gauge", "Memory of the process.");
        lines.number(name, &[], bytes);
    }
    let mut answer = Response::new(Full::new(Bytes::from(lines.into_text())));
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, text);
    answer
}

/// How far deliveries are behind.
async fn outbox(log: &Log, lines: &mut Lines) -> Result<(), store::Error> {
    let waiting = log.store().undelivered(None, MOST).await?;
    let since = waiting
        .iter()
        .filter_map(|hook| hook.delivery.failing_since);
    let oldest = since.min().map_or(0, |since| {
        clock::now()
            .as_micros()
            .saturating_sub(since.as_micros())
            .max(0)
    });
    let name = "switchboard_push_waiting";
    lines.series(
        name,
        "gauge",
        "Webhooks with events that are not delivered, 1000 at most.",
    );
    lines.number(name, &[], waiting.len());
    let name = "switchboard_push_lag_seconds";
    lines.series(
        name,
        "gauge",
        "For how long the oldest failing webhook has failed.",
    );
    lines.number(name, &[], oldest / 1_000_000);
    Ok(())
}

/// What the system says of the memory of this process.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
