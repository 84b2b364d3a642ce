//! Tasks and their events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde_json::Value;
use switchboard_types::model::{
    Content, Event, Json, Message, MessageId, Object, Part, Role, TaskId, TaskState,
};

use super::story::{Story, all, at, commit, listed};
use crate::store::{MAX_EVENT_PAGE, Refusal, Store, TaskQuery};
use crate::task::{Append, Change, Owner, Step, TurnRecord};

pub(super) async fn a_task_is_read_as_it_was_written(store: Arc<dyn Store>) {
    let mut uuid = Story::new(1);
    let mut text = Story::new(2)
        .named("задача № 2")
        .in_context("0190a5c3-0000-7000-8000-00000000ABCD");
    let mut upper = Story::new(3).named("0190A5C3-0000-7000-8000-00000000ABCD");
    let mut bare = Story::new(4)
        .named("0190a5c3000070008000000000000004")
        .in_context("ctx");
    let mut first = Story::new(5).in_context("0190a5c3-0000-7005-8000-00000000abcc");
    let stories = [&mut uuid, &mut text, &mut upper, &mut bare, &mut first];
    let changes = stories.map(|story| story.step(TaskState::Completed, at(1)));
    commit(&*store, changes).await;
    for story in [&uuid, &text, &upper, &bare, &first] {
        story.assert_stored_in(&*store).await;
    }
}

pub(super) async fn a_task_grows_by_appends(store: Arc<dyn Store>) {
    for (n, opening) in [(1, 10), (2, 10_000)] {
        let mut story = Story::new(n);
        story.tell(story.artifact(&"x".repeat(opening), false), None);
        commit(&*store, [story.append(0)]).await;
        grows(&*store, story).await;
    }
}

async fn grows(store: &dyn Store, mut story: Story) {
    commit(store, [story.step(TaskState::Submitted, at(1))]).await;
    commit(store, [story.step(TaskState::Working, at(2))]).await;
    commit(store, [story.say("one"), story.say("two")]).await;
    commit(
        store,
        [story.step(TaskState::Working, at(3)), story.say("three")],
    )
    .await;
    commit(store, [story.step(TaskState::Completed, at(4))]).await;
    story.assert_stored_in(store).await;
    let mut read = Vec::new();
    for after in 0..story.head.seq {
        let next = store.events(story.id(), after, 1).await.unwrap();
        read.extend(next.iter().map(|entry| entry.seq));
    }
    assert_eq!(read, (1..=story.head.seq).collect::<Vec<_>>());
}

pub(super) async fn every_kind_of_event_and_content_survives(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let object = |text: &str| Some(Object::try_from(Json::parse(text).unwrap()).unwrap());
    let mut message = Message::new(MessageId::new("m").unwrap(), Role::Agent, Vec::new());
    message.metadata = object(r#"{"z":1,"a":[true,null,"\u0000"],"big":18446744073709551615}"#);
    message.extensions = vec!["https://example.com/ext".to_owned()];
    message.reference_task_ids = vec![TaskId::new("other").unwrap()];
    for content in [
        Content::Text("lines\nand\r\n\"quotes\" \u{2028} \u{0} \\ < 🙂".into()),
        Content::Raw(Bytes::from_static(&[0, 159, 146, 150, 10, 13])),
        Content::Url("https://example.com/a?b=c&d=é".to_owned()),
        Content::Data(Json::parse("null").unwrap()),
        Content::Data(Json::parse(r#"{ "a": [1.0, 1e400, -0] }"#).unwrap()),
    ] {
        let mut part = Part::new(content);
        part.media_type = Some("text/plain".to_owned());
        part.filename = Some("Übung.txt".to_owned());
        part.metadata = object("{}");
        message.parts.push(part);
    }
    let mut task = story.task();
    task.history.push(Arc::new(message.clone()));
    task.status.message = Some(Arc::new(message.clone()));
    story.tell(Event::Task(Arc::new(task)), Some(message.clone()));
    story.tell(story.artifact("<begins like a mark", false), None);
    story.tell(story.artifact("", true), Some(message));
    commit(&*store, [story.append(0)]).await;
    story.assert_stored_in(&*store).await;
}

pub(super) async fn events_are_read_after_a_number_and_up_to_a_limit(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let mut neighbour = Story::new(2);
    for n in 0..6 {
        commit(
            &*store,
            [story.step(TaskState::Working, at(n)), story.say("…")],
        )
        .await;
        commit(&*store, [neighbour.step(TaskState::Working, at(n))]).await;
    }
    let all = &story.entries;
    for after in 0..=all.len() + 1 {
        let rest = all.get(after..).unwrap_or_default();
        for limit in [0, 1, 2, 3, 5, usize::MAX] {
            let seq = u64::try_from(after).unwrap();
            let read = store.events(story.id(), seq, limit).await.unwrap();
            assert_eq!(read, rest[..limit.min(rest.len())], "{limit} after {after}");
        }
    }
    let beyond = store
        .events(story.id(), u64::MAX, usize::MAX)
        .await
        .unwrap();
    assert!(beyond.is_empty());
}

pub(super) async fn a_page_of_events_ends_by_bytes(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    let sizes = [
        10, 300_000, 700_000, 3_000_000, 10, 20, 900_000, 900_000, 10,
    ];
    // Each alone, then all in one commit.
    for size in sizes {
        commit(&*store, [story.say(&"x".repeat(size))]).await;
    }
    let from = story.entries.len();
    for size in sizes {
        let message = Message::new(
            MessageId::new("m").unwrap(),
            Role::User,
            vec![Part::text("<\"é".repeat(size / 40))],
        );
        story.tell(story.artifact(&"y".repeat(size), true), Some(message));
    }
    commit(&*store, [story.append(from)]).await;
    let (mut read, mut pages) = (Vec::new(), 0);
    while read.len() < story.entries.len() {
        let after = u64::try_from(read.len()).unwrap();
        let page = store.events(story.id(), after, usize::MAX).await.unwrap();
        let weight: usize = page.iter().rev().skip(1).map(|entry| entry.weight()).sum();
        assert!(!page.is_empty() && weight < MAX_EVENT_PAGE, "{weight}");
        read.extend(page);
        pages += 1;
    }
    assert_eq!(read, story.entries);
    assert!(pages >= 5, "{pages}");
    story.assert_stored_in(&*store).await;
}

pub(super) async fn an_unknown_task_is_not_there_and_has_no_events(store: Arc<dyn Store>) {
    let id = Story::new(1).head.id;
    assert!(store.head(&id).await.unwrap().is_none());
    assert!(store.task(&id).await.unwrap().is_none());
    assert!(store.events(&id, 0, 10).await.unwrap().is_empty());
    assert!(store.webhooks(&id).await.unwrap().is_empty());
}

pub(super) async fn events_do_not_leave_a_gap(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let begin = story.step(TaskState::Working, at(1));
    let begun = story.clone();
    let skipped = story.say("skipped");
    let next = story.say("next");
    refuse(&*store, vec![next.clone()]).await;
    commit(&*store, [begin.clone()]).await;
    refuse(&*store, vec![begin.clone()]).await;
    refuse(&*store, vec![next.clone()]).await;
    refuse(&*store, vec![next.clone(), skipped.clone()]).await;
    refuse(&*store, vec![skipped.clone(), skipped.clone()]).await;
    begun.assert_stored_in(&*store).await;
    commit(&*store, [skipped, next.clone()]).await;
    refuse(&*store, vec![next]).await;
    story.assert_stored_in(&*store).await;
}

/// Commits changes of one task that does not stand where they expect it.
async fn refuse(store: &dyn Store, changes: Vec<Change>) {
    let task = changes[0].task().cloned().unwrap();
    let report = store.commit(changes).await.unwrap();
    let refused: Vec<_> = report.refused.iter().map(|(task, _)| task).collect();
    assert_eq!(refused, [&task]);
    let refusal = report.refusal(&task);
    assert!(matches!(refusal, Some(Refusal::Conflict(_))), "{refusal:?}");
}

pub(super) async fn a_refused_task_costs_no_other(store: Arc<dyn Store>) {
    let mut old = Story::new(1);
    commit(&*store, [old.step(TaskState::Working, at(1))]).await;
    let mut new = Story::new(2).at_agent("never seen").owned_by("nobody");
    let mut gap = Story::new(3).at_agent("not seen either");
    gap.say("missing");
    let step = Step {
        task: gap.id().clone(),
        turn: 1,
        at: at(1),
        name: "run".to_owned(),
        value: Value::Null,
    };
    let changes = vec![
        Change::Turn(TurnRecord::first(gap.id().clone())),
        new.step(TaskState::Working, at(2)),
        gap.say("out of place"),
        old.step(TaskState::Completed, at(2)),
        Change::Step(step),
    ];
    refuse_one(&*store, changes, &gap).await;
    old.assert_stored_in(&*store).await;
    new.assert_stored_in(&*store).await;
    assert!(store.task(gap.id()).await.unwrap().is_none());
    let tallied = TaskQuery::of("never seen".into(), Owner::new("nobody"));
    assert_eq!(listed(&*store, tallied).await.1, 1);

    // What was refused leaves no trace in what comes after.
    let mut again = Story::new(3).at_agent("not seen either");
    let changes = [again.step(TaskState::Working, at(3)), new.say("more")];
    commit(&*store, changes).await;
    again.assert_stored_in(&*store).await;
    new.assert_stored_in(&*store).await;
    assert_eq!(store.steps(again.id(), 0, 9).await.unwrap(), []);
}

/// Commits changes of several tasks, of which one is refused as it does not stand where they expect it.
async fn refuse_one(store: &dyn Store, changes: Vec<Change>, task: &Story) {
    let report = store.commit(changes).await.unwrap();
    let [(refused, Refusal::Conflict(_))] = report.refused.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!(refused, task.id());
}

pub(super) async fn one_of_thousands_is_refused(store: Arc<dyn Store>) {
    let mut gap = Story::new(5000);
    gap.say("missing");
    let mut strangers: Vec<Story> = (0..8_652).map(Story::new).collect();
    strangers.remove(5000);
    let mut changes: Vec<Change> = strangers
        .iter_mut()
        .map(|story| story.step(TaskState::Completed, at(1)))
        .collect();
    changes.insert(4000, gap.say("out of place"));
    refuse_one(&*store, changes, &gap).await;
    assert_eq!(listed(&*store, all()).await.1, 8_651);
}

pub(super) async fn a_snapshot_stands_for_the_events_before_it(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    let Change::Append(append) = story.step(TaskState::Working, at(2)) else {
        return;
    };
    let snapshot = story.snapshot();
    commit(
        &*store,
        [Change::Append(Append {
            snapshot: Some(snapshot.clone()),
            ..append
        })],
    )
    .await;
    let folded = story.entries.len();
    commit(&*store, [story.say("later")]).await;

    let stored = store.task(story.id()).await.unwrap().unwrap();
    let kept = stored.snapshot.unwrap();
    assert_eq!((kept.task, kept.seq), (snapshot.task, snapshot.seq));
    assert_eq!(stored.entries, story.entries[folded..]);
    assert_eq!(stored.head, story.head);
    // The events themselves are still there for those who read from the beginning.
    assert_eq!(
        store.events(story.id(), 0, usize::MAX).await.unwrap(),
        story.entries
    );
}

pub(super) async fn folding_lets_the_events_before_the_snapshot_go(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    commit(&*store, [story.step(TaskState::Working, at(2))]).await;
    let middle = story.snapshot();
    commit(&*store, [story.step(TaskState::Completed, at(3))]).await;
    let folded = usize::try_from(middle.seq).unwrap();
    commit(&*store, [Change::Fold(middle.clone())]).await;
    let stored = store.task(story.id()).await.unwrap().unwrap();
    assert_eq!(stored.snapshot.unwrap().seq, middle.seq);
    assert_eq!(stored.entries, story.entries[folded..]);
    let left = store.events(story.id(), 0, usize::MAX).await.unwrap();
    assert_eq!(left, story.entries[folded..]);

    commit(&*store, [Change::Fold(story.snapshot())]).await;
    let stored = store.task(story.id()).await.unwrap().unwrap();
    assert_eq!(*stored.snapshot.unwrap().task, story.task());
    assert_eq!(stored.head, story.head);
    assert!(stored.entries.is_empty());
    assert!(
        store
            .events(story.id(), 0, usize::MAX)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(super) async fn folding_an_unknown_task_changes_nothing(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    story.step(TaskState::Completed, at(1));
    commit(&*store, [Change::Fold(story.snapshot())]).await;
    assert!(store.task(story.id()).await.unwrap().is_none());
}

pub(super) async fn large_events_survive(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    let text = "0123456789 é 🙂\n".repeat(100_000);
    let event = story.artifact(&text, false);
    story.tell(event, None);
    commit(&*store, [story.append(0)]).await;
    commit(&*store, [story.say(&text), story.say("short")]).await;
    story.assert_stored_in(&*store).await;
    commit(&*store, [Change::Fold(story.snapshot())]).await;
    assert!(store.events(story.id(), 0, 1).await.unwrap().is_empty());
}

pub(super) async fn many_tasks_are_made_in_one_commit(store: Arc<dyn Store>) {
    let mut stories: Vec<Story> = (0..300)
        .map(|n| Story::new(n).owned_by(&format!("owner {}", n % 7)))
        .collect();
    let made = stories
        .iter_mut()
        .map(|story| story.step(TaskState::Completed, at(1)));
    store.commit(made.collect()).await.unwrap();
    for story in &stories {
        story.assert_stored_in(&*store).await;
    }
}

pub(super) async fn readers_see_whole_commits_while_others_are_made(store: Arc<dyn Store>) {
    let mut story = Story::new(1);
    commit(&*store, [story.step(TaskState::Working, at(0))]).await;
    let id = story.head.id.clone();
    let done = AtomicBool::new(false);
    let write = async {
        for n in 1..60 {
            commit(
                &*store,
                [story.step(TaskState::Working, at(n)), story.say("more")],
            )
            .await;
        }
        done.store(true, Ordering::Release);
    };
    let read = async || {
        while !done.load(Ordering::Acquire) {
            let stored = store.task(&id).await.unwrap().unwrap();
            let last = stored.entries.last().unwrap();
            assert_eq!(last.seq, stored.head.seq);
            assert_eq!(
                u64::try_from(stored.entries.len()).unwrap(),
                stored.head.seq
            );
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(write, read(), read(), read(), read(), read(), read());
    story.assert_stored_in(&*store).await;
}
