//! Steps of turns.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_types::model::{TaskId, TaskState};

use super::story::{Story, at, commit};
use crate::store::Store;
use crate::task::{Change, Step, StoredStep};

fn step(task: &TaskId, name: &str, value: Value) -> Step {
    Step {
        task: task.clone(),
        turn: 1,
        at: at(7),
        name: name.to_owned(),
        value,
    }
}

fn stored(number: u64, step: Step) -> StoredStep {
    StoredStep { number, step }
}

/// A task that is working.
async fn working(store: &dyn Store, n: u32) -> (Story, TaskId) {
    let mut story = Story::new(n);
    commit(store, [story.step(TaskState::Working, at(1))]).await;
    let id = story.id().clone();
    (story, id)
}

pub(super) async fn steps_are_numbered_in_the_order_of_commits(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    let (_, other) = working(&*store, 2).await;
    let mut late = step(&id, "run", json!("r\u{0}\n\"1\""));
    (late.turn, late.at) = (3, at(1));
    let own = [
        step(&id, "upstream", json!({ "task": "a" })),
        step(&id, "upstream", json!({ "task": "b" })),
        late,
    ];
    let theirs = step(&other, "upstream", json!(9_007_199_254_740_993_u64));
    let [first, second, third] = own.clone().map(Change::Step);
    commit(&*store, [first, Change::Step(theirs.clone()), second]).await;
    commit(&*store, [third]).await;
    let expected: Vec<_> = (1..).zip(own).map(|(n, step)| stored(n, step)).collect();
    assert_eq!(store.steps(&id, 0, 9).await.unwrap(), expected);
    let expected = [stored(1, theirs)];
    assert_eq!(store.steps(&other, 0, 9).await.unwrap(), expected);
}

pub(super) async fn the_latest_step_of_a_name_is_read_alone(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    assert_eq!(store.step(&id, "upstream").await.unwrap(), None);
    let steps = [
        step(&id, "upstream", json!(1)),
        step(&id, "run", json!(2)),
        step(&id, "upstream", json!(3)),
        step(&id, "upstreams", json!(4)),
        step(&id, "run", Value::Null),
    ];
    commit(&*store, steps.clone().map(Change::Step)).await;
    let [_, _, upstream, _, withdrawn] = steps;
    let latest = store.step(&id, "upstream").await.unwrap();
    assert_eq!(latest, Some(stored(3, upstream)));
    let latest = store.step(&id, "run").await.unwrap();
    assert_eq!(latest, Some(stored(5, withdrawn)));
    assert_eq!(store.step(&id, "up").await.unwrap(), None);
}

pub(super) async fn steps_are_read_after_a_number_and_up_to_a_limit(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    for n in 0..6 {
        commit(&*store, [Change::Step(step(&id, "n", json!(n)))]).await;
    }
    let numbers = async |after, limit| {
        let steps = store.steps(&id, after, limit).await.unwrap().into_iter();
        steps.map(|stored| stored.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 3).await, [1, 2, 3]);
    assert_eq!(numbers(3, usize::MAX).await, [4, 5, 6]);
    assert_eq!(numbers(5, 1).await, [6]);
    assert_eq!(numbers(6, 9).await, [0_u64; 0]);
    assert_eq!(numbers(u64::MAX, 9).await, [0_u64; 0]);
}

pub(super) async fn a_page_of_steps_ends_by_bytes(store: Arc<dyn Store>) {
    let (_, id) = working(&*store, 1).await;
    let large = "x".repeat(400_000);
    for _ in 0..4 {
        commit(&*store, [Change::Step(step(&id, "n", json!(large)))]).await;
    }
    let huge = json!("x".repeat(2 << 20));
    commit(&*store, [Change::Step(step(&id, "n", huge))]).await;
    let numbers = async |after| {
        let steps = store.steps(&id, after, 99).await.unwrap().into_iter();
        steps.map(|stored| stored.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0).await, [1, 2, 3]);
    assert_eq!(numbers(3).await, [4, 5]);
    assert_eq!(numbers(4).await, [5]);
}

pub(super) async fn steps_of_unknown_tasks_are_ignored(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.id().clone();
    commit(&*store, [Change::Step(step(&id, "early", json!(1)))]).await;
    commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    assert_eq!(store.steps(&id, 0, 9).await.unwrap(), []);
    let next = step(&id, "next", json!(2));
    commit(&*store, [Change::Step(next.clone())]).await;
    assert_eq!(store.steps(&id, 0, 9).await.unwrap(), [stored(1, next)]);
}

pub(super) async fn steps_go_with_their_task(store: Arc<dyn Store>) {
    let (mut story, id) = working(&*store, 1).await;
    let upstream = step(&id, "upstream", json!(1));
    commit(&*store, [Change::Step(upstream.clone())]).await;
    commit(&*store, [Change::Remove(id.clone())]).await;
    let steps = store.steps(&id, 0, 9).await.unwrap();
    assert_eq!(steps, [stored(1, upstream)], "it is not over");
    let ended = story.step(TaskState::Completed, at(2));
    let last = Change::Step(step(&id, "last", json!(1)));
    commit(&*store, [ended, last, Change::Remove(id.clone())]).await;
    assert_eq!(store.steps(&id, 0, 9).await.unwrap(), []);
    assert_eq!(store.step(&id, "upstream").await.unwrap(), None);
    let mut again = Story::new(1);
    let next = step(&id, "next", json!(2));
    let began = again.step(TaskState::Working, at(3));
    commit(&*store, [began, Change::Step(next.clone())]).await;
    assert_eq!(store.steps(&id, 0, 9).await.unwrap(), [stored(1, next)]);
}
