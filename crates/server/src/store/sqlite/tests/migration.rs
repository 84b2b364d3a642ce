//! A start on what an earlier version has left: a database of format 4, and commits that only its journal holds.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use switchboard_types::model::{Event, Role, StatusUpdate, TaskId, TaskStatus, Timestamp};
use tempfile::TempDir;

use super::super::journal::{self, Journal};
use super::super::record::{self, NoteRecord, Record};
use super::*;
use crate::task::{Append, Entry, Head, Owner, StoredStep, TurnRecord};

/// The database, and the id that it has in its journal.
const DATABASE: &str = include_str!("../../../../tests/stored/v4-turns/database.sql");
const DATABASE_ID: u64 = 4242;

fn note<'a>(task: &'a str, name: &'a str, value: &'a str) -> Record<'a> {
    Record::Note(NoteRecord { task, name, value })
}

/// The answer to a question that a task asked with event 5.
fn answer(task: &TaskId) -> Change {
    let story = Story::new(1);
    let at = Timestamp::from_micros(1_761_818_409_000_000);
    let state = TaskState::Working;
    let context = switchboard_types::model::ContextId::new("c-2").unwrap();
    let event = Event::Status(StatusUpdate {
        task_id: task.clone(),
        context_id: context.clone(),
        status: TaskStatus {
            state,
            message: None,
            timestamp: Some(at),
        },
        metadata: None,
    });
    let message = story.message("m3", Role::User, "sure");
    Change::Append(Append {
        head: Head {
            id: task.clone(),
            agent: "echo".into(),
            owner: Owner::new("caller-a"),
            context,
            state,
            updated: at,
            seq: 6,
        },
        entries: vec![Entry::new(6, at, event, Some(message.into())).into()],
        snapshot: None,
        holder: None,
    })
}

/// A directory as format 4 left it when its process was killed.
fn left_behind() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
    database.execute_batch(DATABASE).unwrap();
    database
        .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
        .unwrap();
    let mut frame = Vec::new();
    journal::clear(&mut frame);
    let waiting = TaskId::new("waiting").unwrap();
    record::write(&answer(&waiting), &mut Vec::new(), &mut frame).unwrap();
    for note in [
        note("waiting", "upstream", r#"{"task":"theirs","state":"told"}"#),
        note("waiting", "switchboard/in-line", "true"),
        note("canceled", "switchboard/untold", "null"),
        note("plain", "run", r#""r1""#),
        note("no such task", "run", "1"),
    ] {
        frame = postcard::to_extend(&note, frame).unwrap();
    }
    let mut journal = Journal::open(dir.path(), DATABASE_ID, true).unwrap();
    journal.write(1, &mut frame).unwrap();
    journal.sync().unwrap();
    let end = journal.after(&frame);
    journal.keep(1, end);
    dir
}

async fn steps(store: &SqliteStore, task: &str) -> Vec<(u32, String, Value)> {
    let task = TaskId::new(task).unwrap();
    let steps = store.steps(&task, 0, 9).await.unwrap().into_iter();
    let told = |StoredStep { step, .. }| (step.turn, step.name, step.value);
    steps.map(told).collect()
}

async fn check_converted(store: &SqliteStore) {
    let waiting = TaskId::new("waiting").unwrap();
    let turns = store.turns(&waiting).await.unwrap();
    let third = TurnRecord {
        number: 3,
        message_at: Some(6),
        begins_at: 6,
        answers: Some(5),
        queued: true,
        ..TurnRecord::first(waiting.clone())
    };
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[2], third);
    let upstream = json!({ "task": "theirs", "state": "told" });
    let expected = [(3, "upstream".to_owned(), upstream)];
    assert_eq!(steps(store, "waiting").await, expected);
    let expected = [(1, "run".to_owned(), json!("r1"))];
    assert_eq!(steps(store, "plain").await, expected);
    assert_eq!(steps(store, "no such task").await, []);
    let releases = store.pending_releases(None, 9).await.unwrap();
    let releases: Vec<&str> = releases.iter().map(|head| head.id.as_str()).collect();
    assert_eq!(releases, ["canceled-asking"]);
}

fn version(dir: &Path) -> i64 {
    let database = Connection::open(dir.join("switchboard.db")).unwrap();
    let version = database.query_row("PRAGMA user_version", [], |row| row.get(0));
    version.unwrap()
}

#[tokio::test]
async fn commits_in_the_journal_of_an_earlier_version_are_converted() {
    let dir = left_behind();
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    check_converted(&store).await;
    store.close().await.unwrap();
    drop(store);
    assert_eq!(version(dir.path()), 5);
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    check_converted(&store).await;
}

#[tokio::test]
async fn a_reader_sees_them_converted_and_changes_nothing() {
    let dir = left_behind();
    let reader = SqliteStore::open_to_read(dir.path()).unwrap();
    check_converted(&reader).await;
    assert_eq!(version(dir.path()), 4);
    drop(reader);
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    check_converted(&store).await;
}

#[tokio::test]
async fn a_reader_sees_an_orderly_closed_database_converted() {
    let dir = tempfile::tempdir().unwrap();
    let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
    database.execute_batch(DATABASE).unwrap();
    drop(database);
    let reader = SqliteStore::open_to_read(dir.path()).unwrap();
    let expected = [(1, "upstream".to_owned(), json!({ "task": "theirs" }))];
    assert_eq!(steps(&reader, "canceled-asking").await, expected);
    assert_eq!(version(dir.path()), 4);
}

#[tokio::test]
async fn a_damaged_task_does_not_keep_the_others_from_being_converted() {
    let dir = tempfile::tempdir().unwrap();
    let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
    database.execute_batch(DATABASE).unwrap();
    database
        .execute_batch("UPDATE event SET data = x'ff' WHERE place >> 24 = 1")
        .unwrap();
    drop(database);
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    let waiting = TaskId::new("waiting").unwrap();
    let turn = store.turn(&waiting).await.unwrap().unwrap();
    assert_eq!((turn.number, turn.answers), (2, Some(3)));
    let damaged = TaskId::new("mid-turn").unwrap();
    assert!(store.task(&damaged).await.is_err());
    assert_eq!(steps(&store, "mid-turn").await.len(), 3);
}
