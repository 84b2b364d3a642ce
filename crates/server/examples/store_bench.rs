//! Measures commits: `cargo run --release --example store_bench -- sqlite|normal|memory [tasks] [group]`.
//! Each task is made and completed in one append of four small events, as a quick agent's are.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark for developers"
)]

use std::sync::Arc;

use switchboard_server::store::sqlite::{Durability, SqliteOptions, SqliteStore};
use switchboard_server::store::{MemoryStore, Store, TaskQuery};
use switchboard_server::task::{Append, Change, Entry, Head, Owner};
use switchboard_types::Dialect;
use switchboard_types::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Message, MessageId, Part, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus, Timestamp,
};
use tokio::time::Instant;
use uuid::Uuid;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "sqlite".to_owned());
    let tasks: usize = args.next().map_or(100_000, |n| n.parse().unwrap());
    let group: usize = args.next().map_or(64, |n| n.parse().unwrap());
    let dir = std::env::temp_dir().join(format!("store_bench-{}", std::process::id()));
    let store: Arc<dyn Store> = match &*kind {
        "memory" => Arc::new(MemoryStore::new()),
        "normal" => Arc::new(open(&dir, Durability::ProcessDeath)),
        _ => Arc::new(open(&dir, Durability::PowerLoss)),
    };
    let mut latencies = Vec::new();
    let (mut wall, mut cpu) = (0.0, 0.0);
    while latencies.len() < tasks / group {
        // Made beforehand, so that only commits are measured.
        let groups: Vec<Vec<Change>> = (0..200)
            .map(|_| (0..group).map(|_| finished_task()).collect())
            .collect();
        let (begin, cpu_before) = (Instant::now(), cpu_seconds());
        for changes in groups {
            let start = Instant::now();
            store.commit(changes).await.unwrap();
            latencies.push(start.elapsed().as_secs_f64());
        }
        wall += begin.elapsed().as_secs_f64();
        cpu += cpu_seconds() - cpu_before;
    }
    let tasks = latencies.len() * group;
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let n = (latencies.len() as f64 * share) as usize;
        latencies[n.min(latencies.len() - 1)] * 1e6
    };
    println!(
        "{kind}: {:.2} µs CPU, {:.2} µs wall per task; commit p50 {:.0} p99 {:.0} max {:.0} µs; {:.0} MB resident",
        cpu * 1e6 / tasks as f64,
        wall * 1e6 / tasks as f64,
        at(0.5),
        at(0.99),
        at(1.0),
        resident(),
    );
    let query = || TaskQuery {
        limit: 50,
        ..TaskQuery::of("echo".into(), Owner::new("anonymous"))
    };
    for (what, query) in [
        ("list", query()),
        (
            "list failed",
            TaskQuery {
                state: Some(TaskState::Failed),
                ..query()
            },
        ),
        (
            "list completed",
            TaskQuery {
                state: Some(TaskState::Completed),
                ..query()
            },
        ),
    ] {
        let start = Instant::now();
        for _ in 0..100 {
            store.list(query.clone()).await.unwrap();
        }
        println!("{what}: {:.0} µs", start.elapsed().as_secs_f64() * 1e4);
    }
    drop(store);
    if let Ok(files) = std::fs::read_dir(&dir) {
        for file in files.flatten() {
            let size = file.metadata().map_or(0, |m| m.len());
            println!(
                "{}: {:.1} MB",
                file.file_name().display(),
                size as f64 / 1e6
            );
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

fn open(dir: &std::path::Path, durability: Durability) -> SqliteStore {
    let options = SqliteOptions {
        durability,
        ..SqliteOptions::new(dir)
    };
    SqliteStore::open(&options).unwrap()
}

fn finished_task() -> Change {
    let id = TaskId::new(Uuid::now_v7().to_string()).unwrap();
    let context = ContextId::new(Uuid::now_v7().to_string()).unwrap();
    let now = switchboard_server::clock::now();
    let question = message("hello there", Role::User, &id, &context);
    let events = vec![
        Event::Task(Arc::new(Task {
            id: id.clone(),
            context_id: context.clone(),
            status: status(TaskState::Submitted, now),
            artifacts: Vec::new(),
            history: vec![question.into()],
            metadata: None,
        })),
        update(&id, &context, TaskState::Working, now),
        Event::Artifact(ArtifactUpdate {
            task_id: id.clone(),
            context_id: context.clone(),
            artifact: Artifact::new(
                ArtifactId::new(Uuid::now_v7().to_string()).unwrap(),
                vec![Part::text("you said: hello there")],
            )
            .into(),
            append: false,
            last_chunk: true,
            metadata: None,
        }),
        update(&id, &context, TaskState::Completed, now),
    ];
    let entries: Vec<_> = (1..)
        .zip(events)
        .map(|(seq, event)| Arc::new(Entry::new(seq, now, event, None)))
        .collect();
    for entry in &entries {
        drop(entry.json(Dialect::V1, entry.ends_the_task()));
    }
    Change::Append(Append {
        head: Head {
            id,
            agent: "echo".into(),
            owner: Owner::new("anonymous"),
            context,
            state: TaskState::Completed,
            updated: now,
            seq: 4,
        },
        entries,
        snapshot: None,
        holder: None,
    })
}

fn update(id: &TaskId, context: &ContextId, state: TaskState, now: Timestamp) -> Event {
    Event::Status(StatusUpdate {
        task_id: id.clone(),
        context_id: context.clone(),
        status: status(state, now),
        metadata: None,
    })
}

fn status(state: TaskState, now: Timestamp) -> TaskStatus {
    TaskStatus {
        state,
        message: None,
        timestamp: Some(now),
    }
}

fn message(text: &str, role: Role, task: &TaskId, context: &ContextId) -> Message {
    let id = MessageId::new(Uuid::now_v7().to_string()).unwrap();
    let mut message = Message::new(id, role, vec![Part::text(text)]);
    message.task_id = Some(task.clone());
    message.context_id = Some(context.clone());
    message
}

/// User and system time of this process so far.
fn cpu_seconds() -> f64 {
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        total += text
            .split(' ')
            .next()
            .and_then(|n| n.parse::<f64>().ok())
            .unwrap_or(0.0);
    }
    total / 1e9
}

/// Resident memory in MB.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4096.0 / 1e6
}
