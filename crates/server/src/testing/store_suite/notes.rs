//! What agents keep about their tasks.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_types::model::{TaskId, TaskState};

use super::story::{Story, at, commit};
use crate::store::Store;
use crate::task::{Change, Note, UNTOLD};

fn note(task: &TaskId, name: &str, value: Value) -> Change {
    Change::Note(Note {
        task: task.clone(),
        name: name.to_owned(),
        value,
    })
}

async fn noted(store: &Arc<dyn Store>, task: &TaskId) -> Vec<(String, Value)> {
    let notes = store.notes(task).await.unwrap().into_iter();
    notes.map(|note| (note.name, note.value)).collect()
}

pub(super) async fn a_note_is_kept_under_its_name(store: Arc<dyn Store>) {
    let (mut one, mut other) = (Story::new(1), Story::new(2));
    let (id, other_id) = (one.head.id.clone(), other.head.id.clone());
    let changes = [
        one.step(TaskState::Working, at(1)),
        other.step(TaskState::Working, at(2)),
        note(&id, "upstream", json!({ "task": "a" })),
        note(&id, "run", json!("r\u{0}\n\"1\"")),
    ];
    commit(&*store, changes).await;
    commit(&*store, [note(&id, "upstream", json!({ "task": "b" }))]).await;
    let expected = [
        ("run".to_owned(), json!("r\u{0}\n\"1\"")),
        ("upstream".to_owned(), json!({ "task": "b" })),
    ];
    assert_eq!(noted(&store, &id).await, expected);
    assert_eq!(noted(&store, &other_id).await, []);
}

pub(super) async fn a_note_about_nothing_is_not_kept(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.head.id.clone();
    commit(&*store, [note(&id, "early", json!(1))]).await;
    assert_eq!(noted(&store, &id).await, []);
    commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    assert_eq!(noted(&store, &id).await, []);
}

pub(super) async fn notes_go_with_their_task(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.head.id.clone();
    let changes = [
        story.step(TaskState::Working, at(1)),
        note(&id, "upstream", json!(1)),
    ];
    commit(&*store, changes).await;
    commit(&*store, [Change::Remove(id.clone())]).await;
    assert_eq!(noted(&store, &id).await.len(), 1, "it is not over");
    commit(&*store, [story.step(TaskState::Completed, at(2))]).await;
    commit(&*store, [Change::Remove(id.clone())]).await;
    assert_eq!(noted(&store, &id).await, []);
}

pub(super) async fn a_note_of_nothing_takes_the_one_before_away(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let id = story.head.id.clone();
    let changes = [
        story.step(TaskState::Working, at(1)),
        note(&id, "upstream", json!(1)),
        note(&id, "run", json!(2)),
    ];
    commit(&*store, changes).await;
    commit(&*store, [note(&id, "upstream", Value::Null)]).await;
    assert_eq!(noted(&store, &id).await, [("run".to_owned(), json!(2))]);
}

pub(super) async fn tasks_that_are_untold_are_walked_in_id_order(store: Arc<dyn Store>) {
    let mut ids = Vec::new();
    for number in 1..=4 {
        let mut story = Story::new(number);
        let id = story.head.id.clone();
        let ended = story.step(TaskState::Canceled, at(1));
        commit(&*store, [ended, note(&id, UNTOLD, json!({}))]).await;
        commit(&*store, [note(&id, "run", json!({}))]).await;
        ids.push(id);
    }
    ids.sort();
    let told = ids.remove(1);
    commit(&*store, [note(&told, UNTOLD, Value::Null)]).await;
    commit(&*store, [note(&ids[0], "run", Value::Null)]).await;
    let untold = async |after: Option<&TaskId>, limit| {
        let heads = store.untold(after.cloned(), limit).await.unwrap();
        let named = heads.into_iter().map(|head| (head.id, head.state));
        named.collect::<Vec<_>>()
    };
    let canceled = |ids: &[TaskId]| -> Vec<(TaskId, TaskState)> {
        let ids = ids.iter().cloned();
        ids.map(|id| (id, TaskState::Canceled)).collect()
    };
    assert_eq!(untold(None, 2).await, canceled(&ids[..2]));
    assert_eq!(untold(Some(&ids[1]), 2).await, canceled(&ids[2..]));
    commit(&*store, [Change::Remove(ids[0].clone())]).await;
    assert_eq!(untold(None, 9).await, canceled(&ids[1..]));
}
