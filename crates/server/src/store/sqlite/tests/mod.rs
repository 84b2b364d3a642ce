//! What can go wrong under the store, made to happen on its own connection.

mod check;
mod frames;
mod migration;
mod recovery;
mod refusals;

use std::ops::{Deref, DerefMut};

use parking_lot::MutexGuard;

use switchboard_types::model::TaskState;
use tempfile::TempDir;

use super::{SqliteOptions, SqliteStore, Writer};
use crate::store::{Error, Store};
use crate::task::Change;
use crate::testing::store_suite::{Story, at, commit};

fn open() -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    (dir, store)
}

/// The writer of a store that is open.
struct Held<'a>(MutexGuard<'a, Option<Writer>>);

impl Deref for Held<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        self.0.as_mut().unwrap()
    }
}

fn writer(store: &SqliteStore) -> Held<'_> {
    Held(store.writing.as_ref().unwrap().writer.lock())
}

/// Runs SQL on the connection that writes, between two of its transactions.
fn run(store: &SqliteStore, sql: &str) {
    writer(store).settle().unwrap();
    writer(store).run(sql);
}

async fn stored(store: &SqliteStore, n: u32) -> Story {
    let mut story = Story::new(n);
    commit(store, [story.step(TaskState::Completed, at(1))]).await;
    story
}

#[tokio::test]
async fn a_full_disk_refuses_commits_until_there_is_room() {
    let (_dir, store) = open();
    let first = stored(&store, 1).await;
    run(&store, "PRAGMA max_page_count = 1");
    let mut last = first.clone();
    let refused = loop {
        let mut next = Story::new(u32::try_from(last.head.seq).unwrap());
        next.tell(next.artifact(&"x".repeat(100_000), false), None);
        match store.commit(vec![next.append(0)]).await {
            Ok(_) => last.head.seq += 1,
            Err(error) => break error,
        }
    };
    let text = refused.to_string();
    assert!(matches!(refused, Error::Unavailable(_)), "{text}");
    assert!(text.contains("the disk is full"), "{text}");
    first.assert_stored_in(&store).await;

    run(&store, "PRAGMA max_page_count = 1000000");
    stored(&store, 1000).await.assert_stored_in(&store).await;
}

#[tokio::test]
async fn a_full_disk_lets_tasks_go_and_takes_others_in_their_place() {
    let (_dir, store) = open();
    let mut large = Story::new(1);
    large.tell(large.artifact(&"x".repeat(1_000_000), false), None);
    large.head.state = TaskState::Completed;
    commit(&store, [large.append(0)]).await;
    run(&store, "PRAGMA max_page_count = 1");
    let mut other = Story::new(2);
    other.tell(other.artifact(&"y".repeat(900_000), false), None);
    assert!(store.commit(vec![other.append(0)]).await.is_err());
    commit(&store, [Change::Remove(large.head.id.clone())]).await;
    commit(&store, [other.append(0)]).await;
    other.assert_stored_in(&store).await;
}

#[tokio::test]
async fn a_read_only_database_refuses_commits_and_answers_questions() {
    let (_dir, store) = open();
    let first = stored(&store, 1).await;
    run(&store, "PRAGMA query_only = 1");
    let mut second = Story::new(2);
    let step = second.step(TaskState::Working, at(2));
    let refused = store.commit(vec![step.clone()]).await.unwrap_err();
    assert!(matches!(refused, Error::Unavailable(_)), "{refused}");
    assert!(refused.to_string().contains("read-only"), "{refused}");
    first.assert_stored_in(&store).await;
    run(&store, "PRAGMA query_only = 0");
    commit(&store, [step]).await;
    second.assert_stored_in(&store).await;
}

#[tokio::test]
async fn damage_is_told_and_stays_where_it_is() {
    for damage in [
        "UPDATE task SET opening = CAST('no json' || x'0a' AS BLOB) WHERE key = 1",
        "UPDATE task SET opening = x'ff' WHERE key = 1",
        "UPDATE task SET opening = NULL WHERE key = 1",
        "UPDATE task SET opened = 2 WHERE key = 1",
        "UPDATE task SET format = 9 WHERE key = 1",
        "UPDATE event SET data = CAST('no json' || x'0a' AS BLOB) WHERE place = 1 << 24 | 4",
        "UPDATE event SET data = x'ff' WHERE place = 1 << 24 | 4",
        "UPDATE event SET last = 5 WHERE place = 1 << 24 | 4",
        "UPDATE event SET format = 9 WHERE place = 1 << 24 | 4",
        "UPDATE task SET state = 77 WHERE key = 1",
        "UPDATE task SET seq = -1 WHERE key = 1",
        "UPDATE task SET folded = 1 WHERE key = 1",
        "UPDATE task SET scope = 99 WHERE key = 1",
    ] {
        let (_dir, store) = open();
        let (mut broken, whole) = (stored(&store, 1).await, stored(&store, 2).await);
        commit(&store, [broken.say("more")]).await;
        run(&store, damage);
        whole.assert_stored_in(&store).await;
        let error = store.task(broken.id()).await.unwrap_err();
        assert!(matches!(error, Error::Damaged(_)), "{damage}: {error}");
        assert!(error.to_string().contains(broken.id().as_str()), "{error}");
    }
}

/// What a query for numbers finds.
fn numbers<const N: usize>(store: &SqliteStore, sql: &str) -> Vec<[i64; N]> {
    writer(store).numbers(sql)
}

#[tokio::test]
async fn rows_stay_few_and_right_of_each_other() {
    let (_dir, store) = open();
    stored(&store, 1).await;
    let mut begun = Story::new(2).in_context("0190a5c3-0000-7002-8000-00000000abcc");
    let mut long = Story::new(3);
    long.tell(long.artifact(&"x".repeat(3000), false), None);
    let step = begun.step(TaskState::Working, at(1));
    commit(&store, [step, long.append(0), begun.say("more")]).await;
    let tasks = "SELECT key, opened, chunks, context IS NULL FROM task ORDER BY key";
    assert_eq!(
        numbers(&store, tasks),
        [[1, 3, 0, 0], [2, 3, 1, 1], [3, 0, 1, 0]]
    );
    let events = "SELECT place >> 24, place & ((1 << 24) - 1), last FROM event ORDER BY place";
    assert_eq!(numbers(&store, events), [[2, 4, 4], [3, 1, 1]]);
}

#[tokio::test]
async fn too_many_events_are_refused_before_they_overflow() {
    let (_dir, store) = open();
    let mut story = stored(&store, 1).await;
    run(&store, "UPDATE task SET seq = (1 << 24) - 1");
    story.head.seq = (1 << 24) - 1;
    let from = story.entries.len();
    story.tell(story.artifact("one too many", true), None);
    let report = store.commit(vec![story.append(from)]).await.unwrap();
    let refusal = report.refusal(story.id()).unwrap().to_string();
    assert!(refusal.contains("too many events"), "{refusal}");
}
