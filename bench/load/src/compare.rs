//! The same call to the bare server and to the gateway, in turns: A B C, A B C.
//!
//! The machine may be busy with other things, so runs are short, neighbours in time are compared with each
//! other, and the median of those ratios counts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::http::{self, Connection};
use crate::machine;
use crate::report::{Report, Target, number};
use crate::server::{Kind, Server};
use crate::versus::{CPU, P50, P99, PER_SECOND, Versus};
use crate::wrk::{Load, Outcome};

/// How many tasks `GetTask` asks for, in turn: few enough to be all in the gateway's memory.
const HOT: usize = 500;

/// The number of connections the targets are meant for.
const TARGET_CONNECTIONS: u32 = 64;

/// The most that the slowest hundredth may take, in units of the bare server's.
const P99_TARGET: f64 = 3.0;

/// One call that is compared: its name, its method, the store, and the least share of the bare server's
/// throughput.
type Case = (&'static str, &'static str, Kind, Target);

const CASES: [Case; 7] = [
    (
        "send, memory",
        "SendMessage",
        Kind::Memory,
        Target::AtLeast(0.75),
    ),
    (
        "send, SQLite",
        "SendMessage",
        Kind::Sqlite,
        Target::AtLeast(0.50),
    ),
    (
        "send, SQLite, no wait",
        "SendMessage",
        Kind::SqliteNoWait,
        Target::None,
    ),
    (
        "GetTask, memory",
        "GetTask",
        Kind::Memory,
        Target::AtLeast(1.05),
    ),
    (
        "GetTask, SQLite",
        "GetTask",
        Kind::Sqlite,
        Target::AtLeast(1.05),
    ),
    (
        "stream, memory",
        "SendStreamingMessage",
        Kind::Memory,
        Target::AtLeast(0.60),
    ),
    (
        "stream, SQLite",
        "SendStreamingMessage",
        Kind::Sqlite,
        Target::None,
    ),
];

/// How long one run is.
const TIME: Duration = Duration::from_secs(2);

/// A server that is ready for one method.
pub struct Subject {
    pub server: Server,
    /// What it wants to see.
    token: Option<String>,
    /// The tasks to ask for.
    ids: Option<PathBuf>,
    /// The size of one answer, without its head.
    size: usize,
    /// One a round.
    pub runs: Vec<Outcome>,
}

/// Compares everything and reports it.
pub async fn run(bench: &Bench, connections: &[u32], report: &mut Report) -> anyhow::Result<()> {
    report.heading("Calls, against a bare axum server");
    report.table(&[
        "call",
        "conns",
        "req/s",
        "bare",
        "**ratio**",
        "target",
        "p50 µs",
        "bare",
        "p99 µs",
        "bare",
        "p99 ratio",
        "CPU µs",
        "bare",
        "**CPU ratio**",
    ]);
    for method in ["SendMessage", "GetTask", "SendStreamingMessage"] {
        for &connections in connections {
            measure(bench, connections, method, report).await?;
        }
    }
    report.note(
        "`ratio` is throughput, gateway over bare; `CPU ratio` is server CPU time per request, bare over gateway, \
         the steadiest figure: higher is better in both. `p99 ratio` is gateway over bare: lower is better. In \
         brackets, the least and the most of all rounds.",
    );
    tell_disk(bench, report)
}

/// What the disk allows: nobody is answered before it has taken what they are told.
fn tell_disk(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let sync = machine::sync_time(&bench.places.scratch)?;
    let most = f64::from(TARGET_CONNECTIONS) / sync.as_secs_f64();
    report.note(&format!(
        "The disk takes {} ms to make 32 kB safe, so {TARGET_CONNECTIONS} connections that wait for it get at most \
         {} answers a second, if all wait for the same sync. Where that is near the figure for SQLite, the disk is \
         what was measured: compare with *no wait*, or look at the CPU ratio.",
        number(sync.as_secs_f64() * 1e3),
        number(most),
    ));
    report.record(
        "disk sync",
        json!({ "value": sync.as_secs_f64() * 1e3, "unit": "ms" }),
    );
    Ok(())
}

/// All cases of one method at one number of connections, on fresh servers.
async fn measure(
    bench: &Bench,
    connections: u32,
    method: &'static str,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cases: Vec<Case> = CASES.into_iter().filter(|case| case.1 == method).collect();
    let kinds = cases.iter().map(|case| case.2);
    let mut subjects = Vec::new();
    for kind in std::iter::once(Kind::Bare).chain(kinds) {
        let server = bench.start(kind).fresh()?;
        subjects.push(Subject::new(server, None, method).await?);
    }
    in_turns(bench, connections, method, &mut subjects)?;
    for (case, subject) in cases.iter().zip(&subjects[1..]) {
        tell(report, case, connections, &subjects[0].runs, &subject.runs);
    }
    Ok(())
}

/// The same load on all servers, round by round.
pub fn in_turns(
    bench: &Bench,
    connections: u32,
    method: &str,
    subjects: &mut [Subject],
) -> anyhow::Result<()> {
    let script = bench.places.bench.join("wrk/call.lua");
    let warm_up = std::iter::once(Duration::from_secs(1));
    for time in warm_up.chain(std::iter::repeat_n(TIME, bench.rounds)) {
        for subject in &mut *subjects {
            let load = Load {
                script: &script,
                method,
                ids: subject.ids.as_deref(),
                token: subject.token.as_deref(),
                connections,
                time,
            };
            let outcome = load.run(&subject.server, "one")?;
            subject.check(&outcome)?;
            subject.runs.push(outcome);
        }
    }
    for subject in subjects {
        subject.runs.remove(0);
    }
    Ok(())
}

/// Tells how one case went.
fn tell(report: &mut Report, case: &Case, connections: u32, bare: &[Outcome], ours: &[Outcome]) {
    let (name, _, _, target) = case;
    let versus = Versus { ours, bare };
    let (share, tail) = (versus.ratio(PER_SECOND), versus.ratio(P99));
    let full_name = format!("{name}, {connections} connections");
    let (mut judged, mut tail_judged) = (String::new(), number(tail.middle));
    if connections == TARGET_CONNECTIONS && !matches!(target, Target::None) {
        judged = report.judge(&full_name, share.middle, *target);
        let p99_name = format!("{full_name}: p99");
        let verdict = report.judge(&p99_name, tail.middle, Target::AtMost(P99_TARGET));
        tail_judged = format!("{tail_judged} {verdict}");
    }
    let mut row = vec![(*name).to_owned(), connections.to_string()];
    row.extend(versus.middles(PER_SECOND).map(number));
    row.extend([share.to_string(), judged]);
    row.extend(versus.middles(P50).map(number));
    row.extend(versus.middles(P99).map(number));
    row.push(tail_judged);
    row.extend(versus.middles(CPU).map(number));
    row.push(versus.ratio(|run| 1.0 / run.cpu_us).to_string());
    report.row(&row);
    let cpu = versus.ratio(|run| 1.0 / run.cpu_us).middle;
    report.record(
        &full_name,
        json!({ "ratio": share.middle, "p99_ratio": tail.middle, "cpu_ratio": cpu,
                "ours": ours, "bare": bare }),
    );
}

impl Subject {
    /// Makes the tasks that will be asked for, and looks at one answer closely.
    pub async fn new(server: Server, token: Option<String>, method: &str) -> anyhow::Result<Self> {
        let path = server.path("one");
        let connection = Connection::open(server.address, None).await?;
        let mut connection = connection.with_token(token.as_deref());
        let hello = http::message("hello there");
        if method == "SendStreamingMessage" {
            let call = http::call(method, &hello);
            let size = look_at_stream(connection, &path, &call).await?;
            return Ok(Self {
                server,
                token,
                ids: None,
                size,
                runs: Vec::new(),
            });
        }
        let send = http::call("SendMessage", &hello);
        let mut answer = connection.ask(&path, &send).await?;
        let mut ids = None;
        if method == "GetTask" {
            let mut list = String::new();
            let mut last = String::new();
            for _ in 0..HOT {
                last = task_id(&connection.ask(&path, &send).await?)?;
                list.push_str(&last);
                list.push('\n');
            }
            let file = server.data.with_extension("ids");
            std::fs::write(&file, list)?;
            ids = Some(file);
            let get = http::call("GetTask", &format!(r#"{{"id":"{last}"}}"#));
            answer = connection.ask(&path, &get).await?;
        }
        look_at(&answer)?;
        let size = answer.len();
        Ok(Self {
            server,
            token,
            ids,
            size,
            runs: Vec::new(),
        })
    }

    /// wrk does not look at answers; their mean size tells whether they were what they should be.
    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let mean = outcome.bytes as f64 / outcome.requests as f64;
        let least = self.size as f64;
        // The head of an answer comes on top.
        ensure!(
            (least..least + 500.0).contains(&mean),
            "{}: answers of {mean:.0} bytes, not about {least}",
            self.server.kind.name()
        );
        Ok(())
    }
}

/// The id of the task in the answer to a send.
pub fn task_id(answer: &[u8]) -> anyhow::Result<String> {
    let answer: Value = serde_json::from_slice(answer)?;
    let id = answer.pointer("/result/task/id").and_then(Value::as_str);
    Ok(id.with_context(|| format!("no task: {answer}"))?.to_owned())
}

/// Whether an answer holds the task that all servers should give: completed, with one artifact and the message.
fn look_at(answer: &[u8]) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_slice(answer)?;
    let result = &answer["result"];
    let task = result.get("task").unwrap_or(result);
    let done = task.pointer("/status/state") == Some(&json!("TASK_STATE_COMPLETED"));
    let one = |list: &str| task[list].as_array().is_some_and(|list| list.len() == 1);
    ensure!(
        done && one("artifacts") && one("history"),
        "not the task it should be: {answer}"
    );
    Ok(())
}

/// Whether a stream holds four events, and its size.
async fn look_at_stream(connection: Connection, path: &str, call: &str) -> anyhow::Result<usize> {
    let mut events = connection.follow(path, call).await?;
    let (mut count, mut size, mut last) = (0, 0, Vec::new());
    while let Some(event) = events.next().await? {
        count += 1;
        size += event.len() + 2;
        last = event.to_vec();
    }
    let last = String::from_utf8_lossy(&last);
    ensure!(
        count == 4 && last.contains("TASK_STATE_COMPLETED"),
        "{count} events, then {last}"
    );
    Ok(size)
}
