//! What was acknowledged comes back, wherever the process or the machine has stopped.

use std::fs;
use std::path::Path;
use std::time::Duration;

use switchboard_types::model::TaskState;
use tempfile::TempDir;

use super::{open, run, stored, writer};
use crate::store::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{Store, TaskQuery};
use crate::testing::store_suite::{Story, at, commit};

const DATABASE: [&str; 2] = ["switchboard.db", "switchboard.db-wal"];
pub(super) const JOURNAL: [&str; 2] = ["switchboard.journal-a", "switchboard.journal-b"];

/// The files as they are now, in a directory of their own.
pub(super) fn copy(names: &[&str], from: &Path, to: &Path) {
    for name in names {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

pub(super) fn copy_of(dir: &Path) -> TempDir {
    let copy_dir = in_memory();
    copy(&DATABASE, dir, copy_dir.path());
    copy(&JOURNAL, dir, copy_dir.path());
    copy_dir
}

/// A directory that is lost with the power, where syncs take no time.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn open_in(dir: &Path) -> SqliteStore {
    SqliteStore::open(&SqliteOptions::new(dir)).unwrap()
}

/// A task so large that a few of them fill a file of the journal.
fn large(n: u32) -> Story {
    let mut story = Story::new(n);
    story.tell(story.artifact(&"x".repeat(150_000), false), None);
    story
}

#[tokio::test]
async fn a_kill_after_any_commit_loses_nothing_and_brings_nothing_back_twice() {
    let (dir, store) = open();
    let mut stories = Vec::new();
    for n in 0..12 {
        let mut story = large(n);
        commit(&store, [story.append(0)]).await;
        commit(&store, [story.step(TaskState::Completed, at(1))]).await;
        stories.push(story);
        // Twice: what the first one took over must be in the database for good.
        let killed = copy_of(dir.path());
        drop(open_in(killed.path()));
        let again = open_in(killed.path());
        for story in &stories {
            story.assert_stored_in(&again).await;
        }
        let head = &stories[0].head;
        let query = TaskQuery {
            limit: 0,
            ..TaskQuery::of(head.agent.clone(), head.owner.clone())
        };
        let total = again.list(query).await.unwrap().total;
        assert_eq!(total, u64::from(n) + 1);
    }
}

#[tokio::test]
async fn a_kill_while_the_takeover_is_written_loses_nothing() {
    let (dir, store) = open();
    let first = stored(&store, 1).await;
    let killed = copy_of(dir.path());
    let again = open_in(killed.path());
    let second = stored(&again, 2).await;
    let killed_again = copy_of(killed.path());
    let last = open_in(killed_again.path());
    first.assert_stored_in(&last).await;
    second.assert_stored_in(&last).await;
}

#[tokio::test]
async fn what_the_database_had_not_synced_comes_from_the_journal() {
    let (dir, store) = open();
    let lost_power = tempfile::tempdir().unwrap();
    // The database is as it was, though its transactions ended: nothing of them has reached the disk.
    copy(&DATABASE, dir.path(), lost_power.path());
    let mut stories = Vec::new();
    for n in 0..5 {
        stories.push(stored(&store, n).await);
        writer(&store).settle().unwrap();
    }
    copy(&JOURNAL, dir.path(), lost_power.path());
    let store = open_in(lost_power.path());
    for story in &stories {
        story.assert_stored_in(&store).await;
    }
}

#[tokio::test]
async fn a_file_of_the_journal_is_written_anew_only_when_the_database_can_do_without_it() {
    let (dir, store) = open();
    // Until the journal has come round and the first commits are in the database alone.
    let mut stories = Vec::new();
    for n in 0..30 {
        let story = large(n);
        commit(&store, [story.append(0)]).await;
        stories.push(story);
    }
    let killed = copy_of(dir.path());
    for name in JOURNAL {
        assert!(fs::metadata(killed.path().join(name)).unwrap().len() < 2_000_000);
    }
    let store = open_in(killed.path());
    for story in &stories {
        story.assert_stored_in(&store).await;
    }
}

#[tokio::test]
async fn a_transaction_that_an_error_has_ended_is_made_again() {
    let (_dir, store) = open();
    let mut one = stored(&store, 1).await;
    let two = stored(&store, 2).await;
    writer(&store).run("ROLLBACK");
    one.assert_stored_in(&store).await;
    writer(&store).run("BEGIN");
    commit(&store, [one.say("more")]).await;
    writer(&store).run("ROLLBACK");
    commit(&store, [one.say("and more")]).await;
    one.assert_stored_in(&store).await;
    two.assert_stored_in(&store).await;
}

#[tokio::test]
async fn a_database_older_than_its_journal_is_refused_with_advice() {
    let (dir, store) = open();
    stored(&store, 1).await;
    let mixed = copy_of(dir.path());
    for n in 2..20 {
        commit(&store, [large(n).append(0)]).await;
    }
    // The first file has been written anew since.
    copy(&JOURNAL, dir.path(), mixed.path());
    let error = SqliteStore::open(&SqliteOptions::new(mixed.path())).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("not of the same moment"), "{text}");
    assert!(
        !text.contains("remove") && !text.contains("delete"),
        "{text}"
    );
    // And it stays so, until somebody decides.
    SqliteStore::open(&SqliteOptions::new(mixed.path())).unwrap_err();
    let safe = in_memory();
    for name in JOURNAL {
        fs::rename(mixed.path().join(name), safe.path().join(name)).unwrap();
    }
    open_in(mixed.path());
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_refuses_commits_and_loses_none() {
    let (_dir, store) = open();
    let first = stored(&store, 1).await;
    writer(&store).journal().make_read_only();
    let mut second = Story::new(2);
    let step = second.step(TaskState::Working, at(1));
    let refused = store.commit(vec![step]).await.unwrap_err().to_string();
    assert!(refused.contains("journal"), "{refused}");
    first.assert_stored_in(&store).await;
    assert!(store.task(second.id()).await.unwrap().is_none());
}

#[tokio::test]
async fn who_reads_after_a_kill_sees_everything() {
    let (dir, store) = open();
    let story = stored(&store, 1).await;
    let killed = copy_of(dir.path());
    let reader = SqliteStore::open_to_read(killed.path()).unwrap();
    story.assert_stored_in(&reader).await;
    // And beside a server, what was there a second ago.
    let reader = SqliteStore::open_to_read(dir.path()).unwrap();
    run(&store, "SELECT 1");
    story.assert_stored_in(&reader).await;
}

#[tokio::test]
async fn who_reads_after_a_kill_changes_nothing_and_keeps_no_reader_out() {
    let (dir, store) = open();
    let story = stored(&store, 1).await;
    let killed = copy_of(dir.path());
    let lock = killed.path().join("switchboard.lock");
    fs::write(&lock, "").unwrap();
    let contents = |name: &str| fs::read(killed.path().join(name)).unwrap();
    let before = JOURNAL.map(contents);
    let readers = [(); 2].map(|()| SqliteStore::open_to_read(killed.path()).unwrap());
    story.assert_stored_in(&readers[0]).await;
    story.assert_stored_in(&readers[1]).await;
    assert_eq!(JOURNAL.map(contents), before);
    // A server that starts does not wait for them, though they go on.
    let impatient = SqliteOptions {
        lock_timeout: Duration::ZERO,
        ..SqliteOptions::new(killed.path())
    };
    let server = SqliteStore::open(&impatient).unwrap();
    story.assert_stored_in(&server).await;
    story.assert_stored_in(&readers[0]).await;
    // One that reads at that moment shares the lock. It is waited for.
    drop(server);
    let reading = fs::File::open(&lock).unwrap();
    reading.lock_shared().unwrap();
    let refused = SqliteStore::open(&impatient).unwrap_err().to_string();
    assert!(refused.contains("in use"), "{refused}");
    let patient = SqliteOptions::new(killed.path());
    let server = std::thread::spawn(move || SqliteStore::open(&patient).unwrap());
    drop(reading);
    story.assert_stored_in(&server.join().unwrap()).await;
}

#[tokio::test]
async fn a_database_that_was_lost_while_it_was_new_is_restored_from_its_journal() {
    let (dir, store) = open();
    let stories = [stored(&store, 1).await, stored(&store, 2).await];
    let lost = tempfile::tempdir().unwrap();
    copy(&JOURNAL, dir.path(), lost.path());
    // Twice: the database has the id of its journal for good.
    drop(open_in(lost.path()));
    let store = open_in(lost.path());
    for story in &stories {
        story.assert_stored_in(&store).await;
    }
    let third = stored(&store, 3).await;
    third
        .assert_stored_in(&open_in(copy_of(lost.path()).path()))
        .await;
}

/// Every acknowledged commit is there, or the start is refused: never is one lost without a word.
#[tokio::test]
async fn damage_at_any_byte_of_the_journal_is_found_or_harmless() {
    let (dir, store) = open();
    let mut stories = Vec::new();
    for n in 0..3 {
        let mut story = Story::new(n);
        story.tell(story.artifact("x", false), None);
        commit(&store, [story.append(0)]).await;
        stories.push(story);
    }
    let killed = copy_of(dir.path());
    let mut journal = fs::read(killed.path().join(JOURNAL[0])).unwrap();
    let end = journal.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    // Without most of the room that was never written.
    journal.truncate(end + 100);
    let (mut refused, mut harmless) = (0, 0);
    for at in 0..end {
        let damaged = copy_of(killed.path());
        let mut data = journal.clone();
        data[at] ^= 1 << (at % 8);
        fs::write(damaged.path().join(JOURNAL[0]), &data).unwrap();
        match SqliteStore::open(&SqliteOptions::new(damaged.path())) {
            Ok(store) => {
                for story in &stories {
                    story.assert_stored_in(&store).await;
                }
                harmless += 1;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("acknowledged commits"), "{at}: {text}");
                assert_eq!(fs::read(damaged.path().join(JOURNAL[0])).unwrap(), data);
                refused += 1;
            }
        }
    }
    assert!(refused > 500 && harmless > 0, "{refused}, {harmless}");
}

#[tokio::test(start_paused = true)]
async fn the_database_is_a_second_behind_at_most() {
    let (dir, store) = open();
    let story = stored(&store, 1).await;
    let reader = SqliteStore::open_to_read(dir.path()).unwrap();
    assert!(reader.task(story.id()).await.unwrap().is_none());
    tokio::time::sleep(std::time::Duration::from_millis(1001)).await;
    // The timer has fired; its work is on another thread.
    while reader.task(story.id()).await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn many_small_transactions_do_not_let_the_write_ahead_log_grow() {
    let (dir, store) = open();
    let mut story = stored(&store, 1).await;
    for n in 0..1500 {
        commit(&store, [story.say(&n.to_string())]).await;
        writer(&store).settle().unwrap();
    }
    let log = fs::metadata(dir.path().join(DATABASE[1])).unwrap().len();
    assert!(log < 40_000_000, "{log} bytes");
    story.assert_stored_in(&store).await;
}

#[tokio::test]
async fn who_cannot_settle_can_read_all_the_same() {
    let (_dir, store) = open();
    let first = stored(&store, 1).await;
    // From here on the transaction cannot end.
    writer(&store).run("PRAGMA query_only = 1");
    assert!(writer(&store).settle().is_err());
    first.assert_stored_in(&store).await;
    let query = TaskQuery::of(first.head.agent.clone(), first.head.owner.clone());
    assert_eq!(store.list(query).await.unwrap().total, 1);
    writer(&store).run("PRAGMA query_only = 0");
    stored(&store, 2).await.assert_stored_in(&store).await;
}

#[tokio::test]
async fn a_store_that_is_closed_leaves_a_database_alone_and_takes_no_more() {
    let (dir, store) = open();
    let story = stored(&store, 1).await;
    story.assert_stored_in(&store).await;
    store.close().await.unwrap();
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "switchboard.lock")
        .collect();
    assert_eq!(left, ["switchboard.db"]);
    let refused = store.commit(vec![large(2).append(0)]).await.unwrap_err();
    assert!(refused.to_string().contains("closed"), "{refused}");
    story.assert_stored_in(&open_in(dir.path())).await;
}
