//! Ten thousand event streams on which nothing happens: what does it cost to hold them?

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::http::{self, Connection, Events};
use crate::report::{Report, Target, megabytes};
use crate::server::{Kind, Server};
use crate::{compare, machine};

/// How many streams.
const STREAMS: usize = 10_000;

/// How many are opened at the same time.
const AT_ONCE: usize = 64;

/// How many come from one address: far fewer than it has ports.
const PER_ADDRESS: usize = 5_000;

/// Longer than a stream may be silent.
const HOLD: Duration = Duration::from_secs(17);

/// What the streams follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Each a task of its own.
    Own,
    /// All the same task.
    One,
}

/// Measures both stores.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    machine::allow_files(STREAMS as u64 + 1_000)?;
    report.heading(&format!("{STREAMS} open streams on which nothing happens"));
    report.table(&["figure", "", "unit", "target"]);
    for (kind, follow) in [
        (Kind::Memory, Follow::Own),
        (Kind::Sqlite, Follow::Own),
        (Kind::Sqlite, Follow::One),
    ] {
        measure(bench, kind, follow, report).await?;
    }
    Ok(())
}

async fn measure(
    bench: &Bench,
    kind: Kind,
    follow: Follow,
    report: &mut Report,
) -> anyhow::Result<()> {
    let server = bench.start(kind).fresh()?;
    let before = server.resident()?;
    let cpu = server.cpu()?;
    let mut streams = open_all(&server, follow).await?;
    let opening = (server.cpu()? - cpu).as_secs_f64() * 1e6 / STREAMS as f64;
    tokio::time::sleep(HOLD).await;
    let held = server.resident()?;
    let cpu = server.cpu()?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let cpu = (server.cpu()? - cpu).as_secs_f64() / 3.0;
    for stream in &mut streams {
        let frame = stream.next().await?.context("a stream has ended")?;
        ensure!(frame.starts_with(b":"), "something happened");
    }
    let what = match follow {
        Follow::Own => "a task each",
        Follow::One => "one task for all",
    };
    let name = format!("{}, {what}", kind.name());
    report.figure(
        &format!("{name}: memory"),
        megabytes(held),
        "MB",
        Target::AtMost(400.0),
    );
    let each = (held.saturating_sub(before)) as f64 / STREAMS as f64 / 1e3;
    report.figure(
        &format!("{name}: memory per stream"),
        each,
        "kB",
        Target::None,
    );
    report.figure(
        &format!("{name}: CPU meanwhile"),
        cpu * 100.0,
        "% of a core",
        Target::None,
    );
    report.figure(
        &format!("{name}: CPU to open a stream"),
        opening,
        "µs",
        Target::None,
    );
    Ok(())
}

async fn open_all(server: &Server, follow: Follow) -> anyhow::Result<Vec<Events>> {
    let path = server.path("idle");
    let call = match follow {
        Follow::Own => http::call("SendStreamingMessage", &http::message("hello")),
        Follow::One => {
            let id = idle_task(server, &path).await?;
            http::call("SubscribeToTask", &format!(r#"{{"id":"{id}"}}"#))
        }
    };
    // What comes before the silence: the task, "working" and what the agent says; or the task as it stands.
    let first = match follow {
        Follow::Own => 3,
        Follow::One => 1,
    };
    let mut streams = Vec::with_capacity(STREAMS);
    let mut opening = JoinSet::new();
    for number in 0..STREAMS {
        if opening.len() >= AT_ONCE {
            streams.push(opened(&mut opening).await?);
        }
        let (path, call, address) = (path.clone(), call.clone(), server.address);
        let host = u8::try_from(1 + number / PER_ADDRESS)?;
        opening.spawn(async move {
            let source = Some(Ipv4Addr::new(127, 0, 0, host));
            let connection = Connection::open(address, source).await?.frugal();
            let mut events = connection.follow(&path, &call).await?;
            for _ in 0..first {
                events.next().await?.context("a stream ended at once")?;
            }
            anyhow::Ok(events)
        });
    }
    while !opening.is_empty() {
        streams.push(opened(&mut opening).await?);
    }
    Ok(streams)
}

async fn opened(opening: &mut JoinSet<anyhow::Result<Events>>) -> anyhow::Result<Events> {
    opening.join_next().await.context("nothing is opening")??
}

/// A task that works and says nothing.
async fn idle_task(server: &Server, path: &str) -> anyhow::Result<String> {
    let mut connection = Connection::open(server.address, None).await?;
    let mut params: Value = serde_json::from_str(&http::message("hello"))?;
    params["configuration"] = serde_json::json!({ "returnImmediately": true });
    let answer = connection
        .ask(path, &http::call("SendMessage", &params.to_string()))
        .await?;
    let id = compare::task_id(&answer)?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(id)
}
