//! The same calls over each binding, made by our own client: what do client and server cost together?
//!
//! The bare server speaks JSON-RPC only. The same client calls it too, so that a ratio tells of the server and the
//! binding, not of the client.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use switchboard_client::{Client, Preference, Reference, Sent, text};
use switchboard_types::ProtocolVersion;
use switchboard_types::model::{Binding, Task, TaskId, TaskState};
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::report::{Report, number};
use crate::server::{Kind, Server};
use crate::versus::{CPU, P50, P99, PER_SECOND, Versus};
use crate::wrk::Outcome;

/// How many calls are under way at once.
const LANES: [usize; 2] = [1, 64];

/// How many tasks `GetTask` asks for, in turn.
const HOT: usize = 500;

/// How long one run is.
const TIME: Duration = Duration::from_secs(2);

/// Every binding.
pub const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

#[derive(Debug, Clone, Copy)]
enum Call {
    Send,
    Get,
    Stream,
}

/// An agent that is called, and the tasks to ask it for.
struct Subject {
    client: Client,
    tasks: Vec<TaskId>,
    runs: Vec<Outcome>,
}

/// Compares all bindings and reports it.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Bindings, by our own client");
    report.table(&[
        "call",
        "binding",
        "at once",
        "req/s",
        "bare",
        "**ratio**",
        "p50 µs",
        "bare",
        "p99 µs",
        "bare",
        "**p99 ratio**",
        "CPU µs",
        "bare",
        "**CPU ratio**",
    ]);
    for (name, call) in [
        ("send", Call::Send),
        ("GetTask", Call::Get),
        ("stream", Call::Stream),
    ] {
        for lanes in LANES {
            measure(bench, (name, call), lanes, report).await?;
        }
    }
    report.note(
        "Tasks are kept in memory. `bare` is the bare server over JSON-RPC, called by the same client; client and \
         load share a core, so throughput is the client's as much as the server's. CPU is the server's.",
    );
    Ok(())
}

/// All bindings for one call, on fresh servers.
async fn measure(
    bench: &Bench,
    (name, call): (&str, Call),
    lanes: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let bare = bench.start(Kind::Bare).fresh()?;
    let ours = bench.start(Kind::Memory).fresh()?;
    let mut subjects = vec![(&bare, Subject::bare(&bare, call).await?)];
    for binding in BINDINGS {
        subjects.push((&ours, Subject::new(&ours, binding, call).await?));
    }
    let warm_up = std::iter::once(Duration::from_secs(1));
    for time in warm_up.chain(std::iter::repeat_n(TIME, bench.rounds)) {
        for (server, subject) in &mut subjects {
            let outcome = subject.drive(server, call, lanes, time).await?;
            subject.runs.push(outcome);
        }
    }
    for (_, subject) in &mut subjects {
        subject.runs.remove(0);
    }
    for (binding, (_, subject)) in BINDINGS.iter().zip(&subjects[1..]) {
        tell(
            report,
            (name, binding.name(), lanes),
            &subjects[0].1.runs,
            &subject.runs,
        );
    }
    Ok(())
}

fn tell(
    report: &mut Report,
    (name, binding, lanes): (&str, &str, usize),
    bare: &[Outcome],
    ours: &[Outcome],
) {
    let versus = Versus { ours, bare };
    let mut row = vec![name.to_owned(), binding.to_owned(), lanes.to_string()];
    row.extend(versus.middles(PER_SECOND).map(number));
    row.push(versus.ratio(PER_SECOND).to_string());
    row.extend(versus.middles(P50).map(number));
    row.extend(versus.middles(P99).map(number));
    row.push(versus.ratio(P99).to_string());
    row.extend(versus.middles(CPU).map(number));
    row.push(versus.ratio(|run| 1.0 / run.cpu_us).to_string());
    report.row(&row);
    report.record(
        &format!("{name} over {binding}, {lanes} at once"),
        json!({ "ratio": versus.ratio(PER_SECOND).middle, "p99_ratio": versus.ratio(P99).middle,
                "cpu_ratio": versus.ratio(|run| 1.0 / run.cpu_us).middle, "ours": ours, "bare": bare }),
    );
}

/// A client of one of the gateway's agents, over one binding.
pub async fn client(server: &Server, agent: &str, binding: Binding) -> anyhow::Result<Client> {
    let reference: Reference = format!("http://{}/a2a/{agent}", server.address).parse()?;
    let client = Client::builder()
        .preference(Preference {
            bindings: vec![binding.clone()],
            versions: vec![ProtocolVersion::ALL[0]],
        })
        .connect(reference)
        .await?;
    let chosen = &client.interface().interface.binding;
    ensure!(*chosen == binding, "{chosen:?} instead of {binding:?}");
    Ok(client)
}

impl Subject {
    async fn new(server: &Server, binding: Binding, call: Call) -> anyhow::Result<Self> {
        Self::ready(client(server, "one", binding).await?, call).await
    }

    async fn bare(server: &Server, call: Call) -> anyhow::Result<Self> {
        let card = json!({
            "name": "bare", "description": "", "version": "1",
            "supportedInterfaces": [{
                "url": format!("http://{}/", server.address), "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }],
            "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        });
        let reference: Reference = card.to_string().parse()?;
        Self::ready(Client::connect(reference).await?, call).await
    }

    /// Makes the tasks that will be asked for.
    async fn ready(client: Client, call: Call) -> anyhow::Result<Self> {
        let mut tasks = Vec::new();
        let wanted = if matches!(call, Call::Get) { HOT } else { 0 };
        for _ in 0..wanted {
            tasks.push(sent(&client.send(text("hello there")).await?)?.id.clone());
        }
        Ok(Self {
            client,
            tasks,
            runs: Vec::new(),
        })
    }

    /// Calls for some time, so many at once.
    async fn drive(
        &self,
        server: &Server,
        call: Call,
        lanes: usize,
        time: Duration,
    ) -> anyhow::Result<Outcome> {
        let cpu = server.cpu()?;
        let began = Instant::now();
        let mut running = JoinSet::new();
        for lane in 0..lanes {
            let (client, tasks) = (self.client.clone(), self.tasks.clone());
            running.spawn(async move {
                let mut times = Vec::new();
                let mut turn = lane;
                while began.elapsed() < time {
                    let asked = Instant::now();
                    ask(&client, call, &tasks, turn).await?;
                    times.push(asked.elapsed().as_secs_f64() * 1e6);
                    turn += lanes;
                }
                anyhow::Ok(times)
            });
        }
        let mut times = Vec::new();
        while let Some(lane) = running.join_next().await {
            times.extend(lane??);
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Outcome::of(&times, seconds, server.cpu()? - cpu))
    }
}

/// One call, and a look at what came.
async fn ask(client: &Client, call: Call, tasks: &[TaskId], turn: usize) -> anyhow::Result<()> {
    match call {
        Call::Send => check(sent(&client.send(text("hello there")).await?)?),
        Call::Get => check(&*client.get(&tasks[turn % tasks.len()], None).await?),
        Call::Stream => {
            let events = client.stream(text("hello there")).await?;
            check(sent(&events.finish().await?)?)
        }
    }
}

fn sent(sent: &Sent) -> anyhow::Result<&Task> {
    match sent {
        Sent::Task(task) => Ok(task),
        Sent::Message(_) => anyhow::bail!("a message instead of a task"),
    }
}

/// Whether it is the task that all servers should give.
fn check(task: &Task) -> anyhow::Result<()> {
    let artifact = task.artifacts.first().context("no artifact")?;
    ensure!(
        task.status.state == TaskState::Completed && artifact.parts.len() == 1,
        "not the task it should be: {task:?}"
    );
    Ok(())
}
