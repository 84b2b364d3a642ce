//! Turns, and releases that are pending.

use std::sync::Arc;

use serde_json::json;
use switchboard_types::model::{TaskId, TaskState};

use super::story::{Story, at, commit};
use crate::store::Store;
use crate::task::{Change, PendingRelease, TurnRecord};

/// A later turn, with something in every field.
fn later(task: &TaskId, number: u32) -> TurnRecord {
    TurnRecord {
        task: task.clone(),
        number,
        message_at: Some(u64::from(number) * 10),
        begins_at: u64::from(number) * 10 + 1,
        answers: Some(u64::from(number) * 10 - 1),
        decision: Some(json!({ "rule": "ü\u{0}" })),
        trace: Some(json!({ "traceparent": "00-0-0-01" })),
        queued: true,
        secret: Some("sealed".to_owned()),
    }
}

/// A task that is working.
async fn working(store: &dyn Store, n: u32) -> (Story, TaskId) {
    let mut story = Story::new(n);
    commit(store, [story.step(TaskState::Working, at(1))]).await;
    let id = story.id().clone();
    (story, id)
}

pub(super) async fn the_first_turn_is_implied(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    let first = TurnRecord::first(id.clone());
    assert_eq!(store.turn(&id).await.unwrap(), Some(first.clone()));
    assert_eq!(
        store.turns(&id).await.unwrap(),
        std::slice::from_ref(&first)
    );
    commit(&*store, [Change::Turn(first.clone())]).await;
    assert_eq!(
        store.turns(&id).await.unwrap(),
        std::slice::from_ref(&first)
    );

    let queued = TurnRecord {
        queued: true,
        ..first.clone()
    };
    commit(&*store, [Change::Turn(queued.clone())]).await;
    assert_eq!(store.turn(&id).await.unwrap(), Some(queued));
    commit(&*store, [Change::Turn(first.clone())]).await;
    assert_eq!(store.turn(&id).await.unwrap(), Some(first.clone()));
    assert_eq!(store.turns(&id).await.unwrap(), [first]);
}

pub(super) async fn turns_are_read_in_order_and_the_latest_alone(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    let (_, other) = working(&*store, 2).await;
    let turns = [later(&id, 2), later(&id, 3), later(&id, 10)];
    let [two, three, ten] = turns.clone().map(Change::Turn);
    commit(&*store, [two]).await;
    commit(&*store, [ten, three]).await;
    let mut expected = vec![TurnRecord::first(id.clone())];
    expected.extend(turns);
    assert_eq!(store.turns(&id).await.unwrap(), expected);
    assert_eq!(store.turn(&id).await.unwrap(), expected.pop());
    let first = TurnRecord::first(other.clone());
    assert_eq!(store.turns(&other).await.unwrap(), [first]);
}

pub(super) async fn a_turn_of_the_same_number_is_replaced(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    let mut first = TurnRecord::first(id.clone());
    first.trace = Some(json!(1));
    let mut second = later(&id, 2);
    let changes = [first.clone(), second.clone()].map(Change::Turn);
    commit(&*store, changes).await;
    second.queued = false;
    second.secret = None;
    second.message_at = None;
    second.answers = None;
    second.decision = None;
    commit(&*store, [Change::Turn(second.clone())]).await;
    assert_eq!(store.turn(&id).await.unwrap(), Some(second.clone()));
    assert_eq!(store.turns(&id).await.unwrap(), [first, second]);
}

pub(super) async fn turns_of_unknown_tasks_are_ignored(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.id().clone();
    commit(&*store, [Change::Turn(later(&id, 2))]).await;
    assert_eq!(store.turn(&id).await.unwrap(), None);
    assert_eq!(store.turns(&id).await.unwrap(), []);
    let turn = later(&id, 1);
    let changes = [
        story.step(TaskState::Working, at(1)),
        Change::Turn(turn.clone()),
    ];
    commit(&*store, changes).await;
    assert_eq!(store.turns(&id).await.unwrap(), [turn]);
}

pub(super) async fn turns_go_with_their_task(store: Arc<dyn Store>) {
    let (mut story, id) = working(&*store, 1).await;
    let turn = later(&id, 2);
    commit(&*store, [Change::Turn(turn.clone())]).await;
    commit(&*store, [Change::Remove(id.clone())]).await;
    assert_eq!(store.turn(&id).await.unwrap(), Some(turn), "it is not over");
    commit(&*store, [story.step(TaskState::Completed, at(2))]).await;
    commit(&*store, [Change::Remove(id.clone())]).await;
    assert_eq!(store.turn(&id).await.unwrap(), None);
    let mut again = Story::new(1);
    commit(&*store, [again.step(TaskState::Working, at(3))]).await;
    let first = TurnRecord::first(id.clone());
    assert_eq!(store.turns(&id).await.unwrap(), [first]);
}

fn pending(task: &TaskId) -> Change {
    Change::ReleasePending(PendingRelease {
        task: task.clone(),
        question: None,
    })
}

pub(super) async fn a_pending_release_stays_until_it_is_done(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.id().clone();
    commit(&*store, [pending(&id)]).await;
    assert_eq!(store.pending_release(&id).await.unwrap(), None);
    commit(
        &*store,
        [story.step(TaskState::Canceled, at(1)), pending(&id)],
    )
    .await;
    let mut release = PendingRelease {
        task: id.clone(),
        question: None,
    };
    let stored = store.pending_release(&id).await.unwrap();
    assert_eq!(stored, Some(release.clone()));
    release.question = Some(json!({ "state": "input-required" }));
    commit(&*store, [Change::ReleasePending(release.clone())]).await;
    let stored = store.pending_release(&id).await.unwrap();
    assert_eq!(stored, Some(release));
    commit(&*store, [Change::Released(id.clone())]).await;
    assert_eq!(store.pending_release(&id).await.unwrap(), None);
    commit(&*store, [Change::Released(id.clone())]).await;
}

pub(super) async fn tasks_with_a_pending_release_are_walked_in_id_order(store: Arc<dyn Store>) {
    let mut ids = Vec::new();
    for number in [2, 4, 1, 3] {
        let mut story = Story::new(number);
        let ended = story.step(TaskState::Canceled, at(1));
        commit(&*store, [ended, pending(story.id())]).await;
        ids.push(story.id().clone());
    }
    working(&*store, 5).await;
    ids.sort();
    let released = ids.remove(1);
    commit(&*store, [Change::Released(released)]).await;
    let walk = async |after: Option<&TaskId>, limit| {
        let heads = store.pending_releases(after.cloned(), limit).await.unwrap();
        let named = heads.into_iter().map(|head| (head.id, head.state));
        named.collect::<Vec<_>>()
    };
    let canceled = |ids: &[TaskId]| -> Vec<(TaskId, TaskState)> {
        let ids = ids.iter().cloned();
        ids.map(|id| (id, TaskState::Canceled)).collect()
    };
    assert_eq!(walk(None, 2).await, canceled(&ids[..2]));
    assert_eq!(walk(Some(&ids[1]), 2).await, canceled(&ids[2..]));
    commit(&*store, [Change::Remove(ids[0].clone())]).await;
    assert_eq!(walk(None, 9).await, canceled(&ids[1..]));
}
