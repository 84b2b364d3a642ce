//! A million stored tasks: does the gateway grow with what it keeps, and does it get slower?

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, ensure};
use tokio::task::{JoinSet, LocalSet};

use crate::bench::Bench;
use crate::http::{self, Connection};
use crate::machine;
use crate::report::{Report, Target, megabytes, number, percentile};
use crate::server::{Kind, Server};

/// How many tasks are stored when reading is measured.
const STAGES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// How many connections fill the store.
const CONNECTIONS: usize = 64;

/// How many reads are timed.
const READS: usize = 2_000;

/// How many tasks count as hot.
const HOT: usize = 100;

/// How much slower reading may become.
const FLAT: f64 = 1.5;

/// How reading went.
struct Reading {
    p50: f64,
    p99: f64,
}

/// Fills a store step by step and reads from it.
pub async fn run(bench: &Bench, most: usize, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Many stored tasks, SQLite");
    report.table(&[
        "tasks",
        "stored/s",
        "memory MB",
        "peak MB",
        "disk B/task",
        "GetTask hot p50 µs",
        "p99",
        "GetTask any p50 µs",
        "p99",
        "ListTasks p50 µs",
        "p99",
    ]);
    let server = bench.start(Kind::Sqlite).fresh()?;
    let mut ids = Vec::new();
    let mut stages = Vec::new();
    for stage in STAGES.into_iter().filter(|stage| *stage <= most) {
        let (before, began) = (ids.len(), Instant::now());
        fill(&server, stage, &mut ids).await?;
        let rate = (stage - before) as f64 / began.elapsed().as_secs_f64();
        stages.push(measure(&server, &ids, rate, report).await?);
    }
    let held = megabytes(server.resident()?);
    let (first, last) = (
        stages.first().context("no stage")?,
        &stages[stages.len() - 1],
    );
    report.note("");
    report.table(&["figure", "", "unit", "target"]);
    let name = format!("memory with {} tasks", number(ids.len() as f64));
    report.figure(&name, held, "MB", Target::AtMost(300.0));
    let hot = last.0.p50 / first.0.p50;
    report.figure(
        "GetTask of hot tasks, last stage against first",
        hot,
        "times",
        Target::AtMost(FLAT),
    );
    // With a thousand tasks all are hot; what is read from disk begins with the next stage.
    if let Some(stored) = stages.get(1) {
        let any = last.1.p50 / stored.1.p50;
        let name = "GetTask of any task, last stage against 10,000 tasks";
        report.figure(name, any, "times", Target::AtMost(FLAT));
    }
    Ok(())
}

/// Sends until `until` tasks are stored. Their ids are kept.
async fn fill(server: &Server, until: usize, ids: &mut Vec<String>) -> anyhow::Result<()> {
    let (path, address) = (server.path("one"), server.address);
    let call = http::call("SendMessage", &http::message("hello there"));
    let left = Rc::new(Cell::new(until - ids.len()));
    let found = Rc::new(RefCell::new(std::mem::take(ids)));
    let local = LocalSet::new();
    let work = async {
        let mut workers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (left, found) = (Rc::clone(&left), Rc::clone(&found));
            let (path, call) = (path.clone(), call.clone());
            workers.spawn_local(async move {
                let mut connection = Connection::open(address, None).await?;
                while let Some(rest) = left.get().checked_sub(1) {
                    left.set(rest);
                    let answer = connection.ask(&path, &call).await?;
                    found.borrow_mut().push(id_in(&answer)?);
                    progress(rest, until);
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = workers.join_next().await {
            done??;
        }
        anyhow::Ok(())
    };
    local.run_until(work).await?;
    *ids = found.take();
    ensure!(ids.len() == until, "{} tasks instead of {until}", ids.len());
    Ok(())
}

#[expect(
    clippy::print_stderr,
    reason = "for whoever waits; results go to standard output"
)]
fn progress(left: usize, until: usize) {
    if left > 0 && left.is_multiple_of(100_000) {
        eprintln!("  {} of {until} tasks", until - left);
    }
}

async fn measure(
    server: &Server,
    ids: &[String],
    rate: f64,
    report: &mut Report,
) -> anyhow::Result<(Reading, Reading)> {
    let get = |id: &String| http::call("GetTask", &format!(r#"{{"id":"{id}"}}"#));
    let hot = &ids[ids.len() - HOT..];
    let hot = read(server, |n| get(&hot[n % HOT])).await?;
    // Steps of a prime through all of them: no order a cache could like.
    let any = read(server, |n| get(&ids[(n + 1) * 7_368_787 % ids.len()])).await?;
    let list = read(server, |_| http::call("ListTasks", r#"{"pageSize":50}"#)).await?;
    let disk = machine::disk(&server.data)? as f64 / ids.len() as f64;
    let (held, peak) = (server.resident()?, machine::peak(server.process())?);
    let mut row = vec![number(ids.len() as f64), number(rate)];
    row.extend([megabytes(held), megabytes(peak), disk].map(number));
    for reading in [&hot, &any, &list] {
        row.extend([number(reading.p50), number(reading.p99)]);
    }
    report.row(&row);
    report.record(
        &format!("{} stored tasks", ids.len()),
        serde_json::json!({ "per_second": rate, "resident": held, "peak": peak, "disk_per_task": disk,
            "hot_p50_us": hot.p50, "hot_p99_us": hot.p99, "any_p50_us": any.p50, "any_p99_us": any.p99,
            "list_p50_us": list.p50, "list_p99_us": list.p99 }),
    );
    Ok((hot, any))
}

/// Calls one after the other on one connection.
async fn read(server: &Server, call: impl Fn(usize) -> String) -> anyhow::Result<Reading> {
    let path = server.path("one");
    let mut connection = Connection::open(server.address, None).await?;
    let mut times = Vec::with_capacity(READS);
    for n in 0..READS {
        let call = call(n);
        let began = Instant::now();
        let answer = connection.ask(&path, &call).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        let result = answer.windows(9).any(|window| window == b"\"result\":");
        ensure!(result, "no result: {}", String::from_utf8_lossy(&answer));
    }
    Ok(Reading {
        p50: percentile(times.iter().copied(), 0.5),
        p99: percentile(times, 0.99),
    })
}

/// The id of the task in the answer to a send, found without reading all of it.
fn id_in(answer: &[u8]) -> anyhow::Result<String> {
    let text = std::str::from_utf8(answer)?;
    let id = text
        .split_once(r#""task":{"id":""#)
        .and_then(|(_, rest)| rest.split('"').next());
    Ok(id.with_context(|| format!("no task: {text}"))?.to_owned())
}
