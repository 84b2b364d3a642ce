//! Instructions per call, counted by callgrind: a figure that hardly depends on the machine or on what else it does.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::bench::Bench;
use crate::http::{self, Connection};
use crate::report::{Report, Target};
use crate::server::{Kind, Server, Start};

/// How many calls are made before and while instructions are counted. Fixed, since indexes cost more the more tasks they
/// hold.
const WARM_UP: usize = 1_000;
const COUNTED: usize = 2_000;

/// A call, its method, the store, and the most instructions that it may take.
type Case = (&'static str, &'static str, Kind, Target);

const CASES: [Case; 4] = [
    (
        "send, memory",
        "SendMessage",
        Kind::Memory,
        Target::AtMost(55_000.0),
    ),
    (
        "send, SQLite",
        "SendMessage",
        Kind::SqliteNoWait,
        Target::None,
    ),
    ("GetTask, memory", "GetTask", Kind::Memory, Target::None),
    (
        "stream, memory",
        "SendStreamingMessage",
        Kind::Memory,
        Target::None,
    ),
];

/// Counts the instructions of each case.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Instructions per call, one connection, by callgrind");
    report.table(&["call", "", "unit", "target"]);
    for (name, method, kind, target) in CASES {
        let counts = bench.places.scratch.join("callgrind.out");
        let start = Start {
            counted_to: Some(&counts),
            ..bench.start(kind)
        };
        let server = start.fresh()?;
        let calls = Calls::new(&server, method).await?;
        let connection = calls.make(&server, WARM_UP).await?;
        control(&server, "--zero")?;
        calls.make_on(connection, COUNTED).await?;
        control(&server, "--dump")?;
        drop(server);
        let instructions = total(&counts)? as f64 / COUNTED as f64;
        report.figure(name, instructions.round(), "instructions", target);
    }
    report.note(
        "User space only, all threads; the server has one worker thread. SQLite without the wait for the disk.",
    );
    Ok(())
}

/// What is sent again and again.
struct Calls {
    path: String,
    body: String,
    streams: bool,
}

impl Calls {
    async fn new(server: &Server, method: &str) -> anyhow::Result<Self> {
        let path = server.path("one");
        let params = match method {
            "GetTask" => {
                let mut connection = Connection::open(server.address, None).await?;
                let send = http::call("SendMessage", &http::message("hello"));
                let sent: Value = serde_json::from_slice(&connection.ask(&path, &send).await?)?;
                let id = sent["result"]["task"]["id"].as_str();
                format!(r#"{{"id":"{}"}}"#, id.context("a task")?)
            }
            _ => http::message("hello"),
        };
        Ok(Self {
            path,
            body: http::call(method, &params),
            streams: method == "SendStreamingMessage",
        })
    }

    async fn make(&self, server: &Server, count: usize) -> anyhow::Result<Connection> {
        let connection = Connection::open(server.address, None).await?;
        self.make_on(connection, count).await
    }

    async fn make_on(
        &self,
        mut connection: Connection,
        count: usize,
    ) -> anyhow::Result<Connection> {
        for _ in 0..count {
            let answer = if self.streams {
                let (answer, free) = connection.events(&self.path, &self.body).await?;
                connection = free;
                answer
            } else {
                connection.ask(&self.path, &self.body).await?
            };
            let text = String::from_utf8_lossy(&answer);
            ensure!(
                text.contains("TASK_STATE_COMPLETED"),
                "not completed: {text}"
            );
        }
        Ok(connection)
    }
}

/// Has callgrind begin to count anew, or write down what it has counted.
fn control(server: &Server, what: &str) -> anyhow::Result<()> {
    let process = server.process().to_string();
    let done = Command::new("callgrind_control")
        .args([what, &process])
        .output();
    let done = done.context("callgrind_control cannot be run")?;
    ensure!(done.status.success(), "callgrind_control {what} failed");
    Ok(())
}

/// What was counted in the first dump.
fn total(counts: &Path) -> anyhow::Result<u64> {
    let mut dump = counts.as_os_str().to_owned();
    dump.push(".1");
    let text = fs::read_to_string(&dump).context("callgrind has written nothing")?;
    let mut totals = text.lines().filter_map(|line| {
        let number = line
            .strip_prefix("totals: ")
            .or_else(|| line.strip_prefix("summary: "))?;
        number.trim().parse().ok()
    });
    match totals.next() {
        Some(total) => Ok(total),
        None => bail!("callgrind has counted nothing"),
    }
}
