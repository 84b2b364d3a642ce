//! Traces from a store, without a server: what is gone, what is elsewhere, what goes round in a circle.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::{Append, Change, Entry, Head, Owner, Snapshot, Step};
use switchboard_types::model::{
    ContextId, Event, Message, MessageId, Part, Role, StatusUpdate, Task, TaskId, TaskState,
    TaskStatus, Timestamp,
};

use super::{as_text, of};

fn id(name: &str) -> TaskId {
    TaskId::new(name).unwrap()
}

fn status(state: TaskState, second: i64) -> TaskStatus {
    TaskStatus {
        state,
        message: None,
        timestamp: Some(Timestamp::from_micros(second * 1_000_000)),
    }
}

/// A task of that name that was asked for at second 1, worked on from 2 and done at 5.
fn task(name: &str, reference: Option<&str>) -> (Change, Arc<Task>) {
    let context = ContextId::new("c").unwrap();
    let message = Message {
        reference_task_ids: reference.map(id).into_iter().collect(),
        ..Message::new(
            MessageId::new("m").unwrap(),
            Role::User,
            vec![Part::text("four")],
        )
    };
    let task = Arc::new(Task {
        id: id(name),
        context_id: context.clone(),
        status: status(TaskState::Submitted, 1),
        artifacts: Vec::new(),
        history: vec![Arc::new(message)],
        metadata: None,
    });
    let goes_to = |state, second| {
        Event::Status(StatusUpdate {
            task_id: id(name),
            context_id: context.clone(),
            status: status(state, second),
            metadata: None,
        })
    };
    let events = [
        Event::Task(Arc::clone(&task)),
        goes_to(TaskState::Working, 2),
        goes_to(TaskState::Completed, 5),
    ];
    let entries = (1..).zip(events);
    let entries = entries.map(|(seq, event)| {
        let at = Entry::stated_time(&event).unwrap();
        Arc::new(Entry::new(seq, at, event, None))
    });
    let append = Append {
        head: Head {
            id: id(name),
            agent: Arc::from(format!("agent-{name}")),
            owner: Owner::new("tester"),
            context,
            state: TaskState::Completed,
            updated: Timestamp::from_micros(5_000_000),
            seq: 3,
        },
        entries: entries.collect(),
        snapshot: None,
        holder: None,
    };
    let done = Task {
        status: status(TaskState::Completed, 5),
        ..Task::clone(&task)
    };
    (Change::Append(append), Arc::new(done))
}

/// An agent recorded that it delegated a task.
fn delegated(from: &str, value: Value) -> Change {
    recorded(from, "delegation", value)
}

/// An agent recorded something for operators.
fn recorded(from: &str, name: &str, value: Value) -> Change {
    Change::Step(Step {
        task: id(from),
        turn: 1,
        at: Timestamp::from_micros(3_000_000),
        name: format!("internal:{name}"),
        value,
    })
}

#[tokio::test]
async fn a_task_whose_events_are_gone_is_told_by_its_last_form() {
    let store = MemoryStore::default();
    let (change, done) = task("t", None);
    let before = {
        store.commit(vec![change]).await.unwrap();
        of(&store, &id("t"), false).await.unwrap().unwrap()
    };
    assert_eq!((before.turns.len(), before.duration_ms), (1, Some(4000)));
    assert_eq!(before.turns[0].duration_ms, Some(3000));
    let folded = Change::Fold(Snapshot { task: done, seq: 3 });
    store.commit(vec![folded]).await.unwrap();
    let after = of(&store, &id("t"), false).await.unwrap().unwrap();
    assert_eq!(
        (after.status, after.events, after.bytes_in),
        ("SUCCESS", 3, 4)
    );
    assert!(after.turns.is_empty());
    assert!(of(&store, &id("u"), false).await.unwrap().is_none());
}

#[tokio::test]
async fn tasks_that_name_each_other_and_tasks_of_elsewhere_are_shown_once() {
    let store = MemoryStore::default();
    let changes = vec![
        task("a", Some("b")).0,
        task("b", Some("a")).0,
        delegated(
            "a",
            json!({ "agent": "agent-b", "taskId": "b", "key": "k" }),
        ),
        delegated(
            "a",
            json!({ "agent": "agent-b", "taskId": "b", "key": "k" }),
        ),
        delegated(
            "a",
            json!({ "agent": "f\u{1b}ar", "taskId": "z", "url": "http://h/", "elsewhere": true }),
        ),
        delegated("b", json!({ "agent": "agent-a", "taskId": "a" })),
        recorded(
            "b",
            "llm-call",
            json!({
                "model": "m-1", "durationMs": 1203, "attempt": 2, "error": "no\npaper",
                "usage": { "inputTokens": 9, "outputTokens": 2 },
            }),
        ),
        recorded("b", "note", json!([1])),
        delegated("a", json!({ "agent": 7 })),
    ];
    store.commit(changes).await.unwrap();
    let tree = of(&store, &id("b"), true).await.unwrap().unwrap();
    let text = as_text(&tree).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "agent-a  completed  4.000 s  3 events, 4 B in, 0 B out  a",
            "├─ agent-b  completed  4.000 s  3 events, 4 B in, 0 B out  b  <- this task",
            r#"│  ├─ internal:llm-call  m-1  1.203 s  9 tokens in, 2 tokens out  {"attempt":2}  error: no paper"#,
            "│  └─ internal:note  [1]",
            "└─ f\\u001bar  unknown  z  at http://h/",
        ]
    );
    assert_eq!(tree.input.unwrap()["parts"][0]["text"], "four");
    assert_eq!(tree.children[0].idempotency_key.as_deref(), Some("k"));
}
