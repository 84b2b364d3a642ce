//! One task that says much, and many who listen: does each of them hear all of it, in order, and what does it cost?

use std::time::Instant;

use anyhow::{Context, ensure};
use switchboard_client::{Client, Events, Sent, reply, text};
use switchboard_types::model::{Binding, Event, Part, Task};
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::bindings::{BINDINGS, client};
use crate::report::{Report, Target, median, megabytes};
use crate::server::{Kind, Server};

/// Chunks of one task.
const CHUNKS: usize = 1_000;

/// Who listens.
const SUBSCRIBERS: usize = 100;

/// How a task went.
struct Told {
    per_second: f64,
    cpu_us: f64,
    grown: u64,
}

/// Measures all bindings.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Fan-out: tasks of 1,000 events, 100 subscribers");
    report.table(&["figure", "", "unit", "target"]);
    for kind in [Kind::Memory, Kind::Sqlite] {
        for binding in BINDINGS {
            let server = bench.start(kind).fresh()?;
            let mut told = Vec::new();
            // The first one warms up.
            for _ in 0..=bench.rounds {
                told.push(task(&server, binding.clone()).await?);
            }
            told.remove(0);
            let name = format!("{}, {}", kind.name(), binding.name());
            let rate = median(told.iter().map(|told| told.per_second));
            report.figure(
                &format!("{name}: events heard"),
                rate,
                "events/s",
                Target::None,
            );
            let cpu = median(told.iter().map(|told| told.cpu_us));
            report.figure(
                &format!("{name}: server CPU an event"),
                cpu,
                "µs",
                Target::None,
            );
            let grown = median(told.iter().map(|told| megabytes(told.grown)));
            report.figure(
                &format!("{name}: memory of all subscribers"),
                grown,
                "MB",
                Target::None,
            );
        }
    }
    report.note(
        "Subscribers are our own client, all on one core: what is heard a second is the client's as much as the \
         server's. Memory is what the server grew by from the first subscriber to the end of the task, its events \
         included.",
    );
    Ok(())
}

/// One task: it waits for an answer, everyone subscribes, it is answered, and everyone hears it to its end.
async fn task(server: &Server, binding: Binding) -> anyhow::Result<Told> {
    let client = client(server, "fan", binding).await?;
    let Sent::Task(waiting) = client.send(text("ready")).await? else {
        anyhow::bail!("a message instead of a task");
    };
    let memory = server.resident()?;
    let mut listeners = Vec::new();
    for _ in 0..SUBSCRIBERS {
        listeners.push(subscribed(&client, &waiting).await?);
    }
    let cpu = server.cpu()?;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for listener in listeners {
        running.spawn(listen(listener));
    }
    let mut answer = reply(&waiting, vec![Part::text("go")]);
    answer.configuration.return_immediately = true;
    client.send(answer).await?;
    let mut heard = 0;
    while let Some(listener) = running.join_next().await {
        heard += listener??;
    }
    let time = began.elapsed().as_secs_f64();
    let cpu = server.cpu()? - cpu;
    Ok(Told {
        per_second: heard as f64 / time,
        cpu_us: cpu.as_secs_f64() * 1e6 / heard as f64,
        grown: server.resident()?.saturating_sub(memory),
    })
}

/// A stream that has begun.
async fn subscribed(client: &Client, task: &Task) -> anyhow::Result<Events> {
    let mut events = client.subscribe(&task.id).await?;
    let first = events.next().await.context("no first event")??;
    ensure!(
        matches!(first.event, Event::Task(_)),
        "the first event is not the task"
    );
    Ok(events)
}

/// Hears a task to its end, and counts; nothing may be missing, come twice or out of order.
async fn listen(mut events: Events) -> anyhow::Result<usize> {
    let (mut heard, mut chunks, mut over) = (0, 0, false);
    while let Some(item) = events.next().await {
        heard += 1;
        match item?.event {
            Event::Artifact(update) => {
                chunks += 1;
                let text = update.artifact.parts.first().and_then(Part::as_text);
                ensure!(
                    text == Some(&format!("chunk {chunks} ")),
                    "not chunk {chunks}: {text:?}"
                );
            }
            Event::Status(update) => over = update.status.state.is_terminal(),
            Event::Task(_) | Event::Message(_) => anyhow::bail!("a stream that begins twice"),
        }
    }
    ensure!(
        chunks == CHUNKS && over,
        "{chunks} chunks of {CHUNKS}, over: {over}"
    );
    Ok(heard)
}
