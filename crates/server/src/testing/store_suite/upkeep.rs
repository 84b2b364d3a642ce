//! Answers under idempotency keys, and letting things go: folding, expiry, removal.

use std::sync::Arc;

use switchboard_types::model::{PushConfigId, Role, TaskState};

use super::story::{Story, all, at, commit, ids, listed};
use super::webhooks::webhook;
use crate::store::{Refusal, Store};
use crate::task::{Answer, Answered, Change, DeadLetter, Delivery, IdempotencyKey, Owner};

fn key(owner: &str, agent: &str, key: &str) -> IdempotencyKey {
    IdempotencyKey {
        owner: Owner::new(owner),
        agent: agent.into(),
        key: key.to_owned(),
    }
}

fn answered(key: IdempotencyKey, seconds: i64, answer: Answer) -> Answered {
    Answered {
        key,
        fingerprint: u64::MAX - seconds.unsigned_abs(),
        answer,
        at: at(seconds),
    }
}

pub(super) async fn the_first_answer_stays(store: Arc<dyn Store>) {
    let story = Story::new(1);
    let key = key("caller-a", "echo", "clé 🔑");
    assert_eq!(store.answered(&key).await.unwrap(), None);
    let message = story.message("m", Role::Agent, "hello");
    let first = answered(key.clone(), 1, Answer::Message(message));
    let second = answered(key.clone(), 2, Answer::Task(story.head.id.clone()));
    let changes = [first.clone(), second.clone()].map(Change::Answered);
    refuse_answered(&*store, Vec::from(changes), &first).await;
    refuse_answered(&*store, vec![Change::Answered(second)], &first).await;
    // A message that comes second was said already.
    let third = Answer::Message(story.message("n", Role::Agent, "hello again"));
    commit(&*store, [Change::Answered(answered(key.clone(), 3, third))]).await;
    assert_eq!(store.answered(&key).await.unwrap(), Some(first));
}

/// Commits changes of which those of one task are refused: its key has another answer.
async fn refuse_answered(store: &dyn Store, changes: Vec<Change>, first: &Answered) {
    let report = store.commit(changes).await.unwrap();
    let [(_, Refusal::AlreadyAnswered(answered))] = report.refused.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!(**answered, *first);
}

pub(super) async fn a_task_under_a_key_that_was_used_is_not_made(store: Arc<dyn Store>) {
    let key = key("caller-a", "echo", "k");
    let (mut one, mut two, mut other) = (Story::new(1), Story::new(2), Story::new(3));
    let first = answered(key.clone(), 1, Answer::Task(one.id().clone()));
    let second = answered(key.clone(), 2, Answer::Task(two.id().clone()));
    let made = one.step(TaskState::Working, at(1));
    commit(&*store, [made, Change::Answered(first.clone())]).await;
    let changes = vec![
        two.step(TaskState::Working, at(2)),
        other.step(TaskState::Working, at(2)),
        Change::Answered(second),
    ];
    refuse_answered(&*store, changes, &first).await;
    assert!(store.task(two.id()).await.unwrap().is_none());
    other.assert_stored_in(&*store).await;
    // The same answer is no other one.
    let again = Answered { at: at(5), ..first };
    commit(&*store, [one.say("more"), Change::Answered(again)]).await;
    one.assert_stored_in(&*store).await;
}

pub(super) async fn of_two_tasks_under_one_key_the_first_is_made(store: Arc<dyn Store>) {
    let key = key("caller-a", "echo", "k");
    let (mut refused, mut one, mut two) = (Story::new(1), Story::new(2), Story::new(3));
    refused.say("missing");
    let claim = |story: &Story| {
        let task = Answer::Task(story.id().clone());
        answered(key.clone(), 1, task)
    };
    let changes = vec![
        Change::Answered(claim(&refused)),
        one.step(TaskState::Working, at(1)),
        Change::Answered(claim(&one)),
        two.step(TaskState::Working, at(1)),
        Change::Answered(claim(&two)),
        refused.say("out of place"),
    ];
    let report = store.commit(changes).await.unwrap();
    let refusals: Vec<_> = report.refused.iter().map(|(task, _)| task).collect();
    assert_eq!(refusals, [refused.id(), two.id()]);
    let first = Refusal::AlreadyAnswered(Box::new(claim(&one)));
    assert_eq!(report.refusal(two.id()), Some(&first));
    assert_eq!(store.answered(&key).await.unwrap(), Some(claim(&one)));
    one.assert_stored_in(&*store).await;
    assert!(store.task(two.id()).await.unwrap().is_none());
}

pub(super) async fn answers_are_kept_apart_by_caller_and_agent(store: Arc<dyn Store>) {
    let keys = [
        key("caller-a", "echo", "k"),
        key("caller-b", "echo", "k"),
        key("caller-a", "research", "k"),
        key("caller-a", "echo", "K"),
    ];
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(store.answered(key).await.unwrap(), None);
        let task = Story::new(u32::try_from(n).unwrap()).head.id;
        commit(
            &*store,
            [Change::Answered(answered(
                key.clone(),
                1,
                Answer::Task(task),
            ))],
        )
        .await;
    }
    for (n, key) in keys.iter().enumerate() {
        let task = Story::new(u32::try_from(n).unwrap()).head.id;
        let expected = answered(key.clone(), 1, Answer::Task(task));
        assert_eq!(store.answered(key).await.unwrap(), Some(expected));
    }
}

pub(super) async fn old_answers_are_forgotten(store: Arc<dyn Store>) {
    let id = Story::new(1).head.id;
    let made = [1, 2, 3].map(|n| {
        answered(
            key("caller-a", "echo", &n.to_string()),
            n,
            Answer::Task(id.clone()),
        )
    });
    commit(&*store, made.clone().map(Change::Answered)).await;
    let keys = |made: &[Answered]| made.iter().map(|a| a.key.clone()).collect::<Vec<_>>();
    assert_eq!(store.old_answers(at(2), 9).await.unwrap(), keys(&made[..2]));
    assert_eq!(store.old_answers(at(2), 1).await.unwrap(), keys(&made[..1]));
    let old = made.clone().map(|a| Change::ForgetAnswer(a.key, at(2)));
    commit(&*store, old).await;
    assert_eq!(store.old_answers(at(2), 9).await.unwrap(), []);
    assert_eq!(store.answered(&made[0].key).await.unwrap(), None);
    assert_eq!(store.answered(&made[1].key).await.unwrap(), None);
    assert_eq!(
        store.answered(&made[2].key).await.unwrap(),
        Some(made[2].clone())
    );
    commit(&*store, [Change::Answered(made[0].clone())]).await;
    assert_eq!(
        store.answered(&made[0].key).await.unwrap(),
        Some(made[0].clone())
    );
}

pub(super) async fn finished_tasks_expire_oldest_first(store: Arc<dyn Store>) {
    let mut stories: Vec<_> = (0..12u32)
        .map(|n| Story::new(n).owned_by(["caller-a", "caller-b", "caller-c"][n as usize % 3]))
        .collect();
    for (story, n) in stories
        .iter_mut()
        .zip([5, 9, 5, 5, 9, 7, 9, 4, 6, 8, 10, 0])
    {
        let state = if n % 4 == 0 {
            TaskState::Failed
        } else {
            TaskState::Completed
        };
        commit(&*store, [story.step(state, at(n))]).await;
    }
    stories.sort_by_key(|story| (story.head.updated, story.head.id.clone()));
    let of = |state, until| {
        ids(stories
            .iter()
            .filter(|s| s.head.state == state && s.head.updated <= at(until)))
    };
    let (failed, completed) = (TaskState::Failed, TaskState::Completed);
    assert_eq!(
        store.expired(failed, at(99), 99).await.unwrap(),
        of(failed, 99)
    );
    assert_eq!(
        store.expired(completed, at(99), 99).await.unwrap(),
        of(completed, 99)
    );
    assert_eq!(
        store.expired(completed, at(6), 99).await.unwrap(),
        of(completed, 6)
    );
    for limit in 0..6 {
        let expected = &of(completed, 10)[..limit];
        assert_eq!(
            store.expired(completed, at(10), limit).await.unwrap(),
            expected
        );
    }
    assert!(
        store
            .expired(TaskState::Canceled, at(99), 99)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(super) async fn live_tasks_neither_expire_nor_go(store: Arc<dyn Store>) {
    for (n, state) in (0..).zip(TaskState::ALL) {
        if state.is_terminal() {
            continue;
        }
        let mut story = Story::new(n);
        commit(&*store, [story.step(state, at(1))]).await;
        assert!(store.expired(state, at(99), 99).await.unwrap().is_empty());
        commit(&*store, [Change::Remove(story.head.id.clone())]).await;
        story.assert_stored_in(&*store).await;
        commit(
            &*store,
            [Change::Remove(story.head.id.clone()), story.say("goes on")],
        )
        .await;
        story.assert_stored_in(&*store).await;
    }
}

pub(super) async fn a_removed_task_takes_everything_with_it(store: Arc<dyn Store>) {
    let (mut gone, mut kept) = (Story::new(1), Story::new(2));
    let keys = [key("caller-a", "echo", "1"), key("caller-a", "echo", "2")];
    for (story, key) in [&mut gone, &mut kept].into_iter().zip(keys.clone()) {
        commit(&*store, [story.step(TaskState::Working, at(1))]).await;
        commit(&*store, [story.step(TaskState::Completed, at(2))]).await;
        let letter = DeadLetter {
            task: story.head.id.clone(),
            webhook: PushConfigId::new("a").unwrap(),
            seq: 1,
            url: "https://example.com".to_owned(),
            body: "{}".to_owned(),
            attempts: 1,
            error: "gone".to_owned(),
            at: at(3),
        };
        let changes = [
            Change::PutWebhook(webhook(story, "a", 0)),
            Change::DeadLetter(letter),
            Change::Answered(answered(key, 1, Answer::Task(story.head.id.clone()))),
        ];
        commit(&*store, changes).await;
    }
    commit(&*store, [Change::Fold(gone.snapshot())]).await;
    commit(
        &*store,
        [
            Change::Remove(gone.head.id.clone()),
            Change::Remove(gone.head.id.clone()),
        ],
    )
    .await;

    assert!(store.task(gone.id()).await.unwrap().is_none());
    assert!(store.events(gone.id(), 0, 9).await.unwrap().is_empty());
    assert!(store.webhooks(gone.id()).await.unwrap().is_empty());
    assert_eq!(listed(&*store, all()).await, (ids([&kept]), 1));
    assert_eq!(
        store.undelivered(None, 9).await.unwrap(),
        [webhook(&kept, "a", 0)]
    );
    assert_eq!(store.dead_letters(9).await.unwrap().len(), 1);
    assert_eq!(store.answered(&keys[0]).await.unwrap(), None);
    assert!(store.answered(&keys[1]).await.unwrap().is_some());
    assert_eq!(
        store.expired(TaskState::Completed, at(9), 9).await.unwrap(),
        ids([&kept])
    );
    kept.assert_stored_in(&*store).await;
}

pub(super) async fn a_removed_id_can_begin_again(store: Arc<dyn Store>) {
    let mut first = Story::new(1);
    commit(&*store, [first.step(TaskState::Completed, at(1))]).await;
    let mut second = Story::new(1);
    commit(
        &*store,
        [
            Change::Remove(first.head.id.clone()),
            second.step(TaskState::Working, at(2)),
        ],
    )
    .await;
    second.assert_stored_in(&*store).await;
}

/// A task that said much before it ended.
async fn long(store: &dyn Store, n: u32, seconds: i64) -> Story {
    let mut story = Story::new(n);
    commit(store, [story.step(TaskState::Working, at(0))]).await;
    for _ in 0..20 {
        commit(store, [story.say("and another thing")]).await;
    }
    commit(store, [story.step(TaskState::Completed, at(seconds))]).await;
    story
}

pub(super) async fn long_finished_tasks_are_foldable_once(store: Arc<dyn Store>) {
    let (one, two) = (long(&*store, 1, 20).await, long(&*store, 2, 10).await);
    assert_eq!(store.foldable(at(20), 9).await.unwrap(), ids([&two, &one]));
    assert_eq!(store.foldable(at(20), 1).await.unwrap(), ids([&two]));
    assert_eq!(store.foldable(at(19), 9).await.unwrap(), ids([&two]));
    commit(&*store, [Change::Fold(one.snapshot())]).await;
    assert_eq!(store.foldable(at(20), 9).await.unwrap(), ids([&two]));
    commit(&*store, [Change::Remove(two.head.id.clone())]).await;
    assert!(store.foldable(at(20), 9).await.unwrap().is_empty());
}

pub(super) async fn short_and_unfinished_tasks_are_not_foldable(store: Arc<dyn Store>) {
    let mut short = Story::new(1);
    commit(&*store, [short.step(TaskState::Completed, at(1))]).await;
    let mut live = Story::new(2);
    for _ in 0..20 {
        commit(&*store, [live.step(TaskState::Working, at(1))]).await;
    }
    assert!(store.foldable(at(9), 9).await.unwrap().is_empty());
}

pub(super) async fn a_task_with_undelivered_webhooks_is_not_foldable(store: Arc<dyn Store>) {
    let story = long(&*store, 1, 10).await;
    let hook = webhook(&story, "a", story.head.seq - 1);
    let done = webhook(&story, "b", story.head.seq);
    commit(
        &*store,
        [Change::PutWebhook(done), Change::PutWebhook(hook.clone())],
    )
    .await;
    assert!(store.foldable(at(20), 9).await.unwrap().is_empty());
    let delivery = Delivery::up_to(story.head.seq);
    commit(&*store, [Change::Delivery(hook.task, hook.id, delivery)]).await;
    assert_eq!(store.foldable(at(20), 9).await.unwrap(), ids([&story]));
}
