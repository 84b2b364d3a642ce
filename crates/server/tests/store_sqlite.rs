//! What only a store on disk can do: come back.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "testing", feature = "sqlite"))]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use switchboard_server::store::Error;
use switchboard_server::store::sqlite::{Durability, SqliteOptions, SqliteStore};
use switchboard_server::task::Change;
use switchboard_server::testing::store_suite::{Story, at, commit};
use switchboard_types::model::TaskState;

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(&SqliteOptions::new(dir)).unwrap()
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (mut one, mut two, mut three) = (Story::new(1), Story::new(2), Story::new(3));
    let store = open(dir.path());
    commit(
        &store,
        [
            one.step(TaskState::Completed, at(1)),
            two.step(TaskState::Working, at(2)),
        ],
    )
    .await;
    one.assert_stored_in(&store).await;
    drop(store);
    let store = open(dir.path());
    one.assert_stored_in(&store).await;
    commit(
        &store,
        [
            two.step(TaskState::Completed, at(3)),
            three.step(TaskState::Working, at(4)),
        ],
    )
    .await;
    drop(store);
    let store = open(dir.path());
    for story in [&one, &two, &three] {
        story.assert_stored_in(&store).await;
    }
    // A task that went before the restart does not leave its place to be mixed up with another.
    commit(
        &store,
        [
            Change::Remove(one.head.id.clone()),
            Change::Remove(two.head.id.clone()),
        ],
    )
    .await;
    drop(store);
    let store = open(dir.path());
    let mut four = Story::new(4);
    commit(&store, [four.step(TaskState::Working, at(5))]).await;
    three.assert_stored_in(&store).await;
    four.assert_stored_in(&store).await;
}

#[tokio::test]
async fn a_clean_end_leaves_one_database_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut story = Story::new(1);
    commit(&store, [story.step(TaskState::Completed, at(1))]).await;
    story.assert_stored_in(&store).await;
    drop(store);
    let mut files: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["switchboard.db", "switchboard.lock"]);
}

#[tokio::test]
async fn a_copy_of_the_open_files_holds_every_commit() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(dir.path());
    let mut stories: Vec<Story> = (0..50).map(Story::new).collect();
    for story in &mut stories {
        commit(&store, [story.step(TaskState::Working, at(1))]).await;
    }
    for file in fs::read_dir(dir.path()).unwrap() {
        let name = file.unwrap().file_name();
        fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let store = open(copy.path());
    for story in &stories {
        story.assert_stored_in(&store).await;
    }
}

/// Not a test by itself: the process that [`every_acknowledged_commit_survives_a_kill`] kills.
#[tokio::test]
async fn write_until_killed() {
    let Some(dir) = std::env::var_os("SWITCHBOARD_TEST_WRITE_TO") else {
        return;
    };
    let store = open(Path::new(&dir));
    for n in 0.. {
        let mut story = Story::new(n);
        commit(&store, [story.step(TaskState::Working, at(1))]).await;
        commit(&store, [story.step(TaskState::Completed, at(2))]).await;
        println!("stored {n}");
    }
}

#[tokio::test]
async fn every_acknowledged_commit_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "write_until_killed", "--nocapture"])
        .env("SWITCHBOARD_TEST_WRITE_TO", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = lines
        .map_while(Result::ok)
        .filter(|line| line.starts_with("stored "));
    let acknowledged = told.take(40).count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(acknowledged, 40);
    let store = open(dir.path());
    for n in 0..40 {
        let mut story = Story::new(n);
        story.step(TaskState::Working, at(1));
        story.step(TaskState::Completed, at(2));
        story.assert_stored_in(&store).await;
    }
}

#[test]
fn a_directory_belongs_to_one_store_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let impatient = SqliteOptions {
        lock_timeout: Duration::ZERO,
        ..SqliteOptions::new(dir.path())
    };
    let error = SqliteStore::open(&impatient).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains(&*dir.path().to_string_lossy()), "{text}");
    assert!(text.contains("in use") && text.contains("stop"), "{text}");
    drop(store);
    open(dir.path());
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let database = Connection::open(dir.path().join("switchboard.db")).unwrap();
    let ours: i64 = database
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    database.pragma_update(None, "user_version", 1000).unwrap();
    let error = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("1000") && text.contains("newer"), "{text}");
    database.pragma_update(None, "user_version", ours).unwrap();
    drop(database);
    open(dir.path());
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("switchboard.db"),
        "not a database".repeat(1000),
    )
    .unwrap();
    let error = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error}");
}

#[test]
fn a_directory_that_cannot_be_made_is_told_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = SqliteStore::open(&SqliteOptions::new(file.join("data"))).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a/b");
    let options = SqliteOptions {
        durability: Durability::ProcessDeath,
        ..SqliteOptions::new(&data)
    };
    let store = SqliteStore::open(&options).unwrap();
    commit(&store, [Story::new(1).step(TaskState::Working, at(1))]).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in fs::read_dir(&data).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
