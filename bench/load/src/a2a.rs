//! What Switchboard adds before an agent elsewhere: the same calls to that agent directly, through a proxy that keeps
//! nothing, and through the gateway, in turns, one at a time.
//!
//! The agent elsewhere is a gateway of its own with its tasks in memory. It runs on the core of the gateway under test,
//! and the load on the other: so both ways a call goes once from core to core and back, and what is added is what the
//! gateway does.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::json;

use crate::bench::Bench;
use crate::burst::burst;
use crate::http::{self, Connection};
use crate::machine;
use crate::report::{Report, Target, median, number, percentile};
use crate::server::{Kind, Server, Start};

/// How long one run is.
const TIME: Duration = Duration::from_secs(2);

/// Chunks in a task that is streamed.
const CHUNKS: usize = 4_000;

/// What a stateless proxy adds and costs, and what the wait for the disk may add to that.
const ADDED_MS: f64 = 0.22;
const ADDED_DURABLE_MS: f64 = 1.0;
const CPU_US: f64 = 228.0;
const CPU_PER_EVENT_US: f64 = 20.0;

/// The methods, and the names that calls go by.
const CALLS: [(&str, &str); 2] = [("send", "SendMessage"), ("stream", "SendStreamingMessage")];

/// One run of one server.
struct Run {
    p50_us: f64,
    p99_us: f64,
    /// Of the server that was called, per call.
    cpu_us: f64,
}

/// Measures and reports it.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let upstream = bench.start(Kind::Memory).fresh()?;
    let url = format!("http://{}", upstream.address);
    let before = |kind| {
        let start = Start {
            before: Some(&url),
            ..bench.start(kind)
        };
        start.fresh()
    };
    let kinds = [Kind::Proxy, Kind::Memory, Kind::Sqlite];
    let mut servers = vec![upstream];
    for kind in kinds {
        servers.push(before(kind)?);
    }
    let sync = machine::sync_time(&bench.places.scratch)?;
    report.heading("Before an agent elsewhere");
    report.note(&format!(
        "One connection. The disk makes a write safe in {} µs.\n",
        number(sync.as_secs_f64() * 1e6)
    ));
    report.table(&["figure", "", "unit", "target"]);
    for (name, method) in CALLS {
        calls(bench, &servers, (name, method), report).await?;
    }
    for server in &servers {
        if server.kind != Kind::Proxy {
            events(bench, server, server.address == servers[0].address, report).await?;
        }
    }
    Ok(())
}

/// One call at a time to each server in turn.
async fn calls(
    bench: &Bench,
    servers: &[Server],
    (name, method): (&str, &str),
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut runs: Vec<Vec<Run>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..=bench.rounds {
        for (server, runs) in servers.iter().zip(&mut runs) {
            let run = drive(server, method).await?;
            // The first one is for warming up.
            if round > 0 {
                runs.push(run);
            }
        }
    }
    let direct = &runs[0];
    let p50 = |run: &Run| run.p50_us / 1e3;
    let figure = format!("{name}, direct: p50");
    report.figure(&figure, median(direct.iter().map(p50)), "ms", Target::None);
    for (server, ours) in servers.iter().zip(&runs).skip(1) {
        let kind = server.kind.name();
        let added = ours
            .iter()
            .zip(direct)
            .map(|(ours, direct)| p50(ours) - p50(direct));
        let added = median(added);
        let judged = |bound: Option<f64>| match bound {
            Some(bound) if name == "send" => Target::AtMost(bound),
            _ => Target::None,
        };
        let (added_at_most, cpu_at_most) = match server.kind {
            Kind::Memory => (Some(ADDED_MS), Some(CPU_US)),
            Kind::Sqlite => (Some(ADDED_DURABLE_MS), None),
            _ => (None, None),
        };
        report.figure(
            &format!("{name}, {kind}: added to p50"),
            added,
            "ms",
            judged(added_at_most),
        );
        let p99 = median(ours.iter().map(|run| run.p99_us)) / 1e3;
        report.figure(&format!("{name}, {kind}: p99"), p99, "ms", Target::None);
        let cpu = median(ours.iter().map(|run| run.cpu_us));
        report.figure(
            &format!("{name}, {kind}: CPU per call"),
            cpu,
            "µs",
            judged(cpu_at_most),
        );
        report.record(
            &format!("{name}, {kind}, against direct"),
            json!({ "added_ms": added, "p50_us": median(ours.iter().map(|run| run.p50_us)), "cpu_us": cpu }),
        );
    }
    Ok(())
}

/// Calls one after the other for some time; every answer is looked at.
async fn drive(server: &Server, method: &str) -> anyhow::Result<Run> {
    let path = server.path("one");
    let call = http::call(method, &http::message("hello there"));
    let mut connection = Connection::open(server.address, None).await?;
    let mut times = Vec::new();
    let cpu = server.cpu()?;
    let began = Instant::now();
    while began.elapsed() < TIME {
        let asked = Instant::now();
        let answer = match method {
            "SendMessage" => connection.ask(&path, &call).await?,
            _ => {
                let (answer, left) = connection.events(&path, &call).await?;
                connection = left;
                answer
            }
        };
        times.push(asked.elapsed().as_secs_f64() * 1e6);
        let text = String::from_utf8_lossy(&answer);
        let complete = text.contains("TASK_STATE_COMPLETED") && text.contains("hello from the");
        ensure!(complete, "not the answer it should be: {text}");
    }
    let cpu = server.cpu()? - cpu;
    Ok(Run {
        cpu_us: cpu.as_secs_f64() * 1e6 / times.len() as f64,
        p50_us: percentile(times.iter().copied(), 0.5),
        p99_us: percentile(times, 0.99),
    })
}

/// One task that says much, read to the end.
async fn events(
    bench: &Bench,
    server: &Server,
    direct: bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut costs = Vec::new();
    for round in 0..=bench.rounds {
        let burst = burst(server, CHUNKS).await?;
        if round > 0 {
            costs.push(burst.cpu_us());
        }
    }
    let (name, target) = match direct {
        true => ("direct", Target::None),
        false => (server.kind.name(), Target::AtMost(CPU_PER_EVENT_US)),
    };
    let figure = format!("{CHUNKS} chunks, {name}: CPU per event");
    report.figure(&figure, median(costs), "µs", target);
    Ok(())
}
