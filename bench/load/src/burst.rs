//! One task that says a great deal at once: does its stream tell all of it, in order, and how fast?
//!
//! The agent hands over chunks of one artifact as fast as they are taken. The reader follows the stream and
//! looks at every event: no number is left out, none comes twice, and the last one ends the task.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::bench::Bench;
use crate::http::{self, Connection};
use crate::report::{Report, Target, median};
use crate::server::{Kind, Server};

/// Chunks in the burst that is timed.
const BURST: usize = 4_000;

/// Chunks per task, and how many tasks, for the cost of a chunk.
const SIZES: [(usize, usize); 3] = [(1_000, 20), (10_000, 4), (100_000, 1)];

/// How much dearer a chunk may be in the longest task than in the shortest.
const FLAT: f64 = 1.25;

/// How a burst went.
pub struct Burst {
    time: Duration,
    cpu: Duration,
    events: usize,
}

impl Burst {
    /// The server's, per event.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.events as f64
    }
}

/// Measures both stores.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Bursts: one task, many chunks, one reader");
    report.table(&["figure", "", "unit", "target"]);
    for kind in [Kind::Memory, Kind::Sqlite] {
        let name = kind.name();
        let server = bench.start(kind).fresh()?;
        let mut bursts = Vec::new();
        for _ in 0..7 {
            bursts.push(burst(&server, BURST).await?);
        }
        let seconds = |burst: &Burst| burst.time.as_secs_f64();
        let rate = median(bursts.iter().map(|b| b.events as f64 / seconds(b)));
        let target = match kind {
            Kind::Memory => Target::AtLeast(150_000.0),
            _ => Target::None,
        };
        report.figure(
            &format!("{name}: {BURST} chunks, complete and in order"),
            median(bursts.iter().map(seconds)) * 1e3,
            "ms",
            Target::None,
        );
        report.figure(
            &format!("{name}: rate of that burst"),
            rate,
            "events/s",
            target,
        );
        flatness(&server, report).await?;
    }
    Ok(())
}

/// What a chunk costs in short and in long tasks.
async fn flatness(server: &Server, report: &mut Report) -> anyhow::Result<()> {
    let name = server.kind.name();
    let mut costs = Vec::new();
    for (chunks, tasks) in SIZES {
        let mut cpu = Duration::ZERO;
        for _ in 0..tasks {
            cpu += burst(server, chunks).await?.cpu;
        }
        let cost = cpu.as_secs_f64() * 1e6 / (chunks * tasks) as f64;
        let figure = format!("{name}: CPU per chunk, {chunks} chunks a task");
        report.figure(&figure, cost, "µs", Target::None);
        costs.push(cost);
    }
    let dearer = costs[costs.len() - 1] / costs[0];
    let figure = format!("{name}: a chunk of 100,000 against one of 1,000");
    report.figure(&figure, dearer, "times", Target::AtMost(FLAT));
    Ok(())
}

/// Has one task hand over that many thousand chunks, and reads them.
pub async fn burst(server: &Server, chunks: usize) -> anyhow::Result<Burst> {
    ensure!(chunks.is_multiple_of(1_000), "bursts come in thousands");
    let path = server.path("burst");
    let text = (chunks / 1_000).to_string();
    let call = http::call("SendStreamingMessage", &http::message(&text));
    let connection = Connection::open(server.address, None).await?;
    let cpu = server.cpu()?;
    let began = Instant::now();
    let mut events = connection.follow(&path, &call).await?;
    let (mut seen, mut place, mut task, mut last) = (0, 0, None, Vec::new());
    while let Some(event) = events.next().await? {
        if event.starts_with(b":") {
            continue;
        }
        place += 1;
        check_place(event, place)?;
        if contains(event, b"\"artifactUpdate\"") {
            let words = format!("\"chunk {} \"", seen % 1_000 + 1);
            ensure!(
                contains(event, words.as_bytes()),
                "not {words}: {}",
                String::from_utf8_lossy(event)
            );
            seen += 1;
        } else if place == 1 {
            task = Some(first_task(event)?);
        }
        if seen == chunks {
            last.clear();
            last.extend_from_slice(event);
        }
    }
    let time = began.elapsed();
    let cpu = server.cpu()? - cpu;
    ensure!(seen == chunks, "{seen} chunks of {chunks}");
    ensure!(
        contains(&last, b"TASK_STATE_COMPLETED"),
        "the stream does not end with the task"
    );
    check_stored(server, &task.context("no task")?, chunks).await?;
    Ok(Burst {
        time,
        cpu,
        events: place,
    })
}

/// Events are numbered without gaps.
fn check_place(event: &[u8], place: usize) -> anyhow::Result<()> {
    let id = format!("id: {place}\n");
    ensure!(
        event.starts_with(id.as_bytes()),
        "not event {place}: {}",
        String::from_utf8_lossy(event)
    );
    Ok(())
}

/// The id of the task that the first event of a stream holds.
fn first_task(event: &[u8]) -> anyhow::Result<String> {
    let text = std::str::from_utf8(event)?;
    let data = text.split_once("data: ").context("no data")?.1;
    let event: Value = serde_json::from_str(data)?;
    let id = event.pointer("/result/task/id").and_then(Value::as_str);
    Ok(id.context("the first event is not the task")?.to_owned())
}

/// The task that is kept has all chunks too.
async fn check_stored(server: &Server, task: &str, chunks: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(server.address, None).await?;
    let get = http::call("GetTask", &format!(r#"{{"id":"{task}"}}"#));
    let answer = connection.ask(&server.path("burst"), &get).await?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let parts = answer
        .pointer("/result/artifacts/0/parts")
        .and_then(Value::as_array);
    let text = |part: &Value| {
        part["text"]
            .as_str()
            .map_or(0, |text| text.matches("chunk").count())
    };
    let kept: usize = parts.context("no parts")?.iter().map(text).sum();
    ensure!(kept == chunks, "{kept} of {chunks} chunks are kept");
    Ok(())
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}
