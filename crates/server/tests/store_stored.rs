//! Databases that earlier versions wrote are read as they were meant. Each folder of `stored/` has a
//! database as SQL, made once when its format was new and never again, and what is to be read from it.
//! `v4-turns` has tasks in all situations that format 4 described by notes, and format 5 by turns and steps.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "testing", feature = "sqlite"))]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_server::store::{Store, TaskQuery};
use switchboard_server::task::{
    Answer, Answered, Append, Change, DeadLetter, Delivery, IdempotencyKey, Owner, PendingRelease,
    Step, TurnRecord, Webhook,
};
use switchboard_server::testing::store_suite::{Story, at, commit};
use switchboard_types::model::{
    Authentication, PushConfig, PushConfigId, Role, Secret, TaskId, TaskState,
};
use switchboard_types::{Dialect, wire};

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored")
}

#[tokio::test]
async fn databases_of_every_version_are_read() {
    let mut versions = 0;
    for folder in fs::read_dir(stored()).unwrap() {
        let folder = folder.unwrap().path();
        let dir = tempfile::tempdir().unwrap();
        let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
        let sql = fs::read_to_string(folder.join("database.sql")).unwrap();
        database.execute_batch(&sql).unwrap();
        drop(database);
        let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
        let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
        assert_eq!(tell(&store).await, expected, "{}", folder.display());

        // And it can be written.
        let mut story = Story::new(77);
        commit(&store, [story.step(TaskState::Completed, at(1))]).await;
        story.assert_stored_in(&store).await;
        versions += 1;
    }
    let latest = format!("v{}", version());
    assert!(
        stored().join(&latest).exists(),
        "stored/{latest} is missing: see write_the_latest"
    );
    assert!(versions > 0);
}

/// Run by hand when the format has a new version: `cargo test write_the_latest -- --ignored`.
#[tokio::test]
#[ignore = "writes the files of a new version"]
async fn write_the_latest() {
    let folder = stored().join(format!("v{}", version()));
    assert!(
        !folder.exists(),
        "{} is there already; it must not change",
        folder.display()
    );
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    fill(&store).await;
    let told = tell(&store).await;
    drop(store);
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("database.sql"),
        dump(&dir.path().join("switchboard.db")),
    )
    .unwrap();
    fs::write(folder.join("expected.txt"), told).unwrap();
}

/// The version this code writes.
fn version() -> i64 {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap());
    let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
    database
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey {
        owner: Owner::new("caller-a"),
        agent: "echo".into(),
        key: name.to_owned(),
    }
}

/// Something of everything.
async fn fill(store: &SqliteStore) {
    let mut working = Story::new(1);
    let mut completed = Story::new(2).in_context("0190a5c3-0000-7000-8000-000000000001");
    let mut waiting = Story::new(3)
        .named("not a uuid")
        .owned_by("caller-b")
        .at_agent("approver");
    let mut folded = Story::new(4);
    let mut snapped = Story::new(5);
    commit(
        store,
        [
            working.step(TaskState::Working, at(1)),
            waiting.step(TaskState::InputRequired, at(2)),
        ],
    )
    .await;
    commit(
        store,
        [
            working.say("two\nlines"),
            completed.step(TaskState::Completed, at(3)),
        ],
    )
    .await;
    commit(store, [folded.step(TaskState::Failed, at(4))]).await;
    commit(store, [Change::Fold(folded.snapshot())]).await;
    commit(store, [snapped.step(TaskState::Working, at(5))]).await;
    if let Change::Append(append) = snapped.step(TaskState::Canceled, at(6)) {
        let snapshot = Some(snapped.snapshot());
        commit(store, [Change::Append(Append { snapshot, ..append })]).await;
    }
    let id = PushConfigId::new("hook").unwrap();
    fill_turns(store, &working, &folded, &snapped).await;
    let webhook = Webhook {
        task: working.head.id.clone(),
        id: id.clone(),
        owner: working.head.owner.clone(),
        config: PushConfig {
            id: Some(id.clone()),
            task_id: Some(working.head.id.clone()),
            url: "https://example.com/hook".to_owned(),
            token: Some(Secret::new("token")),
            authentication: Some(Authentication {
                scheme: "Bearer".to_owned(),
                credentials: Some(Secret::new("credentials")),
            }),
        },
        dialect: Dialect::V0Json,
        delivery: Delivery {
            delivered: 1,
            attempts: 2,
            failing_since: Some(at(7)),
            retry_at: Some(at(8)),
            last_error: Some("503 service unavailable".to_owned()),
        },
    };
    let letter = DeadLetter {
        task: working.head.id.clone(),
        webhook: id,
        seq: 1,
        url: "https://example.com/hook".to_owned(),
        body: "{}".to_owned(),
        attempts: 9,
        error: "410 gone".to_owned(),
        at: at(9),
    };
    let message = working.message("m", Role::Agent, "hello");
    let answers = [
        ("task", Answer::Task(working.head.id.clone())),
        ("message", Answer::Message(message)),
    ]
    .map(|(name, answer)| {
        Change::Answered(Answered {
            key: key(name),
            fingerprint: u64::MAX,
            answer,
            at: at(10),
        })
    });
    commit(
        store,
        [Change::PutWebhook(webhook), Change::DeadLetter(letter)],
    )
    .await;
    commit(store, answers).await;
}

/// Turns and steps of one task, and pending releases of two that are over.
async fn fill_turns(store: &SqliteStore, working: &Story, folded: &Story, snapped: &Story) {
    let turn = TurnRecord {
        number: 2,
        message_at: None,
        begins_at: 3,
        answers: Some(2),
        decision: Some(json!({ "rule": "billing" })),
        trace: Some(json!({ "traceparent": "00-01-02-01" })),
        queued: true,
        secret: Some("sealed".to_owned()),
        ..TurnRecord::first(working.head.id.clone())
    };
    let step = |name: &str, value| Step {
        task: working.head.id.clone(),
        turn: 2,
        at: at(11),
        name: name.to_owned(),
        value,
    };
    let steps = [
        step("upstream", json!({ "task": "theirs", "turn": 2 })),
        step("internal:delegation", json!("to another")),
        step("upstream", Value::Null),
    ];
    let release = |story: &Story, question| {
        Change::ReleasePending(PendingRelease {
            task: story.head.id.clone(),
            question,
        })
    };
    commit(store, [Change::Turn(turn)]).await;
    commit(store, steps.map(Change::Step)).await;
    commit(
        store,
        [
            release(folded, None),
            release(snapped, Some(json!({ "statusUpdate": {} }))),
        ],
    )
    .await;
}

/// Everything the store knows, in words that do not depend on how it is stored.
async fn tell(store: &SqliteStore) -> String {
    let mut told = String::new();
    for (agent, owner) in [("echo", "caller-a"), ("approver", "caller-b")] {
        let list = store
            .list(TaskQuery::of(agent.into(), Owner::new(owner)))
            .await
            .unwrap();
        writeln!(told, "{} tasks of {owner} at {agent}", list.total).unwrap();
        for task in list.tasks {
            let head = task.head;
            writeln!(told, "\ntask {} in {}", head.id, head.context).unwrap();
            writeln!(
                told,
                "{} since {}, event {}",
                head.state.name(),
                head.updated,
                head.seq
            )
            .unwrap();
            let stored = store.task(&head.id).await.unwrap().unwrap();
            if let Some(snapshot) = stored.snapshot {
                let json = rendered(|out| wire::encode_task(Dialect::V1, &snapshot.task, out));
                writeln!(told, "snapshot {} {json}", snapshot.seq).unwrap();
            }
            for entry in store.events(&head.id, 0, usize::MAX).await.unwrap() {
                if let Some(received) = &entry.received {
                    let json = rendered(|out| wire::encode_message(Dialect::V1, received, out));
                    writeln!(told, "received {json}").unwrap();
                }
                let json =
                    rendered(|out| wire::encode_event(Dialect::V1, &entry.event, false, out));
                let alone = store.events(&head.id, entry.seq - 1, 1).await.unwrap();
                assert_eq!(alone, [Arc::clone(&entry)]);
                let micros = entry.at.as_micros();
                writeln!(told, "event {} at {micros} {json}", entry.seq).unwrap();
            }
            for webhook in store.webhooks(&head.id).await.unwrap() {
                let json =
                    rendered(|out| wire::encode_push_config(Dialect::V1, &webhook.config, out));
                let (dialect, delivery) = (webhook.dialect.tag(), &webhook.delivery);
                writeln!(
                    told,
                    "webhook {} {dialect} {json}\n{delivery:?}",
                    webhook.id
                )
                .unwrap();
            }
            tell_turns(store, &head.id, &mut told).await;
        }
    }
    writeln!(told, "\n{:?}", store.dead_letters(9).await.unwrap()).unwrap();
    for name in ["task", "message"] {
        let Some(answered) = store.answered(&key(name)).await.unwrap() else {
            continue;
        };
        let (fingerprint, moment) = (answered.fingerprint, answered.at);
        let answer = match answered.answer {
            Answer::Task(id) => id.to_string(),
            Answer::Message(message) => {
                rendered(|out| wire::encode_message(Dialect::V1, &message, out))
            }
        };
        writeln!(told, "answered {name} {fingerprint} at {moment}: {answer}").unwrap();
    }
    let live = store.live(None, 9).await.unwrap();
    let undelivered = store.undelivered(None, 9).await.unwrap();
    let releases = store.pending_releases(None, 9).await.unwrap();
    writeln!(
        told,
        "{} live, {} undelivered, {} to release",
        live.len(),
        undelivered.len(),
        releases.len()
    )
    .unwrap();
    told
}

/// The turns of a task, if they are not all implied, its steps, and its release.
async fn tell_turns(store: &SqliteStore, id: &TaskId, told: &mut String) {
    let mut turns = store.turns(id).await.unwrap();
    assert_eq!(store.turn(id).await.unwrap().as_ref(), turns.last());
    turns.retain(|turn| !turn.is_implied());
    for turn in turns {
        let (message, begins, answers) = (turn.message_at, turn.begins_at, turn.answers);
        writeln!(
            told,
            "turn {}: message {message:?}, begins at {begins}, answers {answers:?}",
            turn.number
        )
        .unwrap();
        for (name, value) in [("decision", turn.decision), ("trace", turn.trace)] {
            if let Some(value) = value {
                writeln!(told, "  {name} {value}").unwrap();
            }
        }
        if turn.queued || turn.secret.is_some() {
            writeln!(told, "  queued {}, secret {:?}", turn.queued, turn.secret).unwrap();
        }
    }
    for stored in store.steps(id, 0, usize::MAX).await.unwrap() {
        let (number, step) = (stored.number, stored.step);
        let (turn, moment) = (step.turn, step.at);
        writeln!(
            told,
            "step {number} of turn {turn} at {moment}: {} {}",
            step.name, step.value
        )
        .unwrap();
    }
    if let Some(release) = store.pending_release(id).await.unwrap() {
        writeln!(told, "release pending, question {:?}", release.question).unwrap();
    }
}

fn rendered(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    encode(&mut out);
    String::from_utf8(out).unwrap()
}

/// A database as SQL that people can read.
fn dump(path: &Path) -> String {
    let database = Connection::open(path).unwrap();
    let version: i64 = database
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    let mut sql = format!("PRAGMA user_version = {version};\n");
    let mut objects = database
        .prepare("SELECT name, sql, type FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        .unwrap();
    let mut found = objects.query([]).unwrap();
    while let Some(object) = found.next().unwrap() {
        let (name, made, kind): (String, String, String) = (
            object.get(0).unwrap(),
            object.get(1).unwrap(),
            object.get(2).unwrap(),
        );
        writeln!(sql, "\n{made};").unwrap();
        if kind == "table" {
            dump_rows(&database, &name, &mut sql);
        }
    }
    sql
}

fn dump_rows(database: &Connection, table: &str, sql: &mut String) {
    let mut rows = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns = rows.column_count();
    let mut found = rows.query([]).unwrap();
    while let Some(row) = found.next().unwrap() {
        let values: Vec<_> = (0..columns)
            .map(|column| literal(row.get_ref(column).unwrap()))
            .collect();
        writeln!(sql, "INSERT INTO {table} VALUES ({});", values.join(", ")).unwrap();
    }
}

fn literal(value: ValueRef<'_>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => quoted(str::from_utf8(text).unwrap()),
        ValueRef::Blob(bytes) => match str::from_utf8(bytes) {
            Ok(text) if bytes.len() != 16 => format!("CAST({} AS BLOB)", quoted(text)),
            _ => format!(
                "x'{}'",
                bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
            ),
        },
    }
}
