//! `check` finds what is damaged, and nothing else.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::recovery::{JOURNAL, copy, copy_of};
use super::{open, stored};
use crate::store::access::SqliteAccess;
use crate::store::sqlite::{StoreReport, check};

/// The names of damaged files, and all that is said of them.
fn damaged(report: &StoreReport) -> (Vec<&str>, String) {
    let files = report.files.iter().filter(|it| !it.problems.is_empty());
    let (names, texts): (Vec<_>, Vec<_>) =
        files.map(|it| (it.name, it.problems.join("\n"))).unzip();
    (names, texts.join("\n"))
}

fn flip(file: &Path, at: usize) {
    let mut data = fs::read(file).unwrap();
    data[at] ^= 1;
    fs::write(file, data).unwrap();
}

#[tokio::test]
async fn a_sound_directory_is_found_so_in_use_and_after_a_kill() {
    let (dir, store) = open();
    drop(SqliteAccess::open(dir.path()).unwrap());
    stored(&store, 1).await;
    stored(&store, 2).await;
    let report = check(dir.path()).unwrap();
    assert!(report.is_in_use && report.is_sound(), "{report:?}");
    let names: Vec<&str> = report.files.iter().map(|file| file.name).collect();
    assert_eq!(
        names,
        ["switchboard.db", JOURNAL[0], JOURNAL[1], "access.db"]
    );
    let details: Vec<&str> = report.files.iter().map(|file| &*file.detail).collect();
    assert_eq!(
        details,
        [
            "format 5, commits up to 0",
            "commits 1 to 2",
            "no commits",
            "format 2"
        ]
    );
    let killed = copy_of(dir.path());
    let report = check(killed.path()).unwrap();
    assert!(!report.is_in_use && report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_commit_that_cannot_be_read_is_named_with_those_it_affects() {
    let (dir, store) = open();
    for n in 1..=3 {
        stored(&store, n).await;
    }
    let killed = copy_of(dir.path());
    flip(&killed.path().join(JOURNAL[0]), 100);
    let report = check(killed.path()).unwrap();
    let (names, text) = damaged(&report);
    assert_eq!(names, [JOURNAL[0]]);
    assert!(text.contains("commit 1 is missing"), "{text}");
    assert!(text.contains("3 acknowledged commits"), "{text}");
}

#[tokio::test]
async fn damage_that_the_database_makes_up_for_is_none() {
    let (dir, store) = open();
    stored(&store, 1).await;
    super::writer(&store).settle().unwrap();
    stored(&store, 2).await;
    let killed = copy_of(dir.path());
    flip(&killed.path().join(JOURNAL[0]), 100);
    let report = check(killed.path()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_journal_of_another_database_is_found() {
    let ((dir, store), (other, others)) = (open(), open());
    stored(&store, 1).await;
    super::writer(&store).settle().unwrap();
    stored(&others, 1).await;
    stored(&others, 2).await;
    let mixed = copy_of(dir.path());
    copy(&JOURNAL, other.path(), mixed.path());
    let report = check(mixed.path()).unwrap();
    let (names, text) = damaged(&report);
    assert_eq!(names, [JOURNAL[0]]);
    assert!(text.contains("another database"), "{text}");
}

#[tokio::test]
async fn damaged_databases_are_found() {
    let (dir, store) = open();
    drop(SqliteAccess::open(dir.path()).unwrap());
    stored(&store, 1).await;
    drop(store);
    let database = dir.path().join("switchboard.db");
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch("DROP INDEX task_list").unwrap();
    drop(connection);
    let report = check(dir.path()).unwrap();
    let (names, text) = damaged(&report);
    assert_eq!(names, ["switchboard.db"]);
    assert_eq!(text, "index task_list is missing");

    // The pages after the first.
    let mut data = fs::read(&database).unwrap();
    data[16 * 1024..].fill(0x55);
    fs::write(&database, data).unwrap();
    fs::write(dir.path().join("access.db"), "no database".repeat(100)).unwrap();
    let report = check(dir.path()).unwrap();
    let (names, text) = damaged(&report);
    assert_eq!(names, ["switchboard.db", "access.db"], "{text}");
}
