//! Changes of single tasks that are refused, and what replay makes of them.

use switchboard_types::model::TaskState;
use tempfile::TempDir;

use super::super::journal;
use super::super::record;
use super::recovery::copy_of;
use super::*;
use crate::store::Refusal;

/// A new task, and a change of a task that does not exist.
fn good_and_bad() -> (Story, Story, Vec<Change>) {
    let (mut good, mut bad) = (Story::new(2), Story::new(3));
    bad.say("missing");
    let changes = vec![
        bad.say("out of place"),
        good.step(TaskState::Completed, at(2)),
    ];
    (good, bad, changes)
}

#[tokio::test]
async fn what_was_refused_does_not_come_back_after_a_kill() {
    let (dir, store) = open();
    let first = stored(&store, 1).await;
    let (good, bad, changes) = good_and_bad();
    let report = store.commit(changes).await.unwrap();
    assert_eq!(report.refused.len(), 1);
    let last = stored(&store, 4).await;
    let killed = copy_of(dir.path());
    let again = SqliteStore::open(&SqliteOptions::new(killed.path())).unwrap();
    for story in [&first, &good, &last] {
        story.assert_stored_in(&again).await;
    }
    assert!(again.task(bad.id()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_commit_of_which_all_is_refused_leaves_no_trace() {
    let (dir, store) = open();
    let first = stored(&store, 1).await;
    let (_, bad, mut changes) = good_and_bad();
    changes.truncate(1);
    let report = store.commit(changes).await.unwrap();
    assert!(report.refusal(bad.id()).is_some());
    let last = stored(&store, 4).await;
    let killed = copy_of(dir.path());
    let again = SqliteStore::open(&SqliteOptions::new(killed.path())).unwrap();
    first.assert_stored_in(&again).await;
    last.assert_stored_in(&again).await;
}

#[tokio::test]
async fn a_task_with_damaged_rows_costs_no_other() {
    let (_dir, store) = open();
    let mut damaged = Story::new(1);
    commit(&store, [damaged.step(TaskState::Working, at(1))]).await;
    run(
        &store,
        "INSERT INTO event VALUES ((1 << 24) + 4, 4, 1, x'')",
    );
    let mut other = Story::new(2);
    let changes = vec![damaged.say("more"), other.step(TaskState::Completed, at(1))];
    let report = store.commit(changes).await.unwrap();
    let refusal = report.refusal(damaged.id());
    assert!(matches!(refusal, Some(Refusal::Damaged(_))), "{refusal:?}");
    assert_eq!(report.refused.len(), 1);
    other.assert_stored_in(&store).await;
}

/// A killed process that had written changes to its journal, of which some are to be refused.
async fn killed_while_writing(is_acknowledged: bool) -> (TempDir, Story, Story) {
    let (dir, store) = open();
    stored(&store, 1).await;
    let (good, bad, changes) = good_and_bad();
    let mut frame = Vec::new();
    journal::clear(&mut frame);
    for change in &changes {
        record::write(change, &mut Vec::new(), &mut frame).unwrap();
    }
    let mut held = writer(&store);
    let journal = held.journal();
    journal.write(2, &mut frame).unwrap();
    if is_acknowledged {
        let end = journal.after(&frame);
        journal.keep(2, end);
    }
    drop(held);
    (copy_of(dir.path()), good, bad)
}

#[tokio::test]
async fn replay_leaves_out_what_was_about_to_be_refused() {
    let (killed, good, bad) = killed_while_writing(false).await;
    let again = SqliteStore::open(&SqliteOptions::new(killed.path())).unwrap();
    good.assert_stored_in(&again).await;
    assert!(again.task(bad.id()).await.unwrap().is_none());
    // It is there for good, and the store takes more.
    stored(&again, 5).await;
    drop(again);
    let again = SqliteStore::open(&SqliteOptions::new(killed.path())).unwrap();
    good.assert_stored_in(&again).await;
}

#[tokio::test]
async fn an_acknowledged_commit_that_cannot_be_replayed_is_damage() {
    let (killed, ..) = killed_while_writing(true).await;
    let refused = SqliteStore::open(&SqliteOptions::new(killed.path())).unwrap_err();
    assert!(
        refused.to_string().contains("there is no task"),
        "{refused}"
    );
}
