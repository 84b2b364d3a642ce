//! Webhooks and their delivery.

use std::sync::Arc;

use switchboard_types::model::{
    Authentication, PushConfig, PushConfigId, Secret, TaskState, Timestamp,
};
use switchboard_types::{Dialect, FileBytes};

use super::story::{Story, at, commit};
use crate::store::Store;
use crate::task::{Change, DeadLetter, Delivery, Webhook};

/// A webhook of a story, with everything up to `delivered` delivered.
pub(super) fn webhook(story: &Story, id: &str, delivered: u64) -> Webhook {
    let id = PushConfigId::new(id).unwrap();
    Webhook {
        task: story.head.id.clone(),
        id: id.clone(),
        owner: story.head.owner.clone(),
        config: PushConfig {
            id: Some(id),
            task_id: Some(story.head.id.clone()),
            url: "https://example.com/hook?a=b".to_owned(),
            token: Some(Secret::new("tøken")),
            authentication: Some(Authentication {
                scheme: "Bearer".to_owned(),
                credentials: Some(Secret::new("secret")),
            }),
        },
        dialect: Dialect::V1,
        delivery: Delivery::up_to(delivered),
    }
}

fn failing(delivered: u64) -> Delivery {
    Delivery {
        delivered,
        attempts: 3,
        failing_since: Some(at(7)),
        retry_at: Some(Timestamp::from_micros(1_234_567)),
        last_error: Some("connection refused — 拒絶".to_owned()),
    }
}

/// A story that has begun.
async fn begun(store: &dyn Store, n: u32) -> Story {
    let mut story = Story::new(n);
    commit(store, [story.step(TaskState::Working, at(1))]).await;
    story
}

pub(super) async fn webhooks_stay_in_the_order_they_were_made(store: Arc<dyn Store>) {
    let (story, other) = (begun(&*store, 1).await, begun(&*store, 2).await);
    let mut hooks = ["b", "c", "a"].map(|id| webhook(&story, id, 0));
    hooks[1].dialect = Dialect::V0Json;
    hooks[2].dialect = Dialect::V0Proto(FileBytes::default());
    hooks[2].config.token = None;
    hooks[2].config.authentication = None;
    hooks[2].delivery = failing(1);
    commit(&*store, hooks.clone().map(Change::PutWebhook)).await;
    commit(&*store, [Change::PutWebhook(webhook(&other, "b", 0))]).await;
    assert_eq!(store.webhooks(story.id()).await.unwrap(), hooks);
    assert_eq!(
        store.webhooks(other.id()).await.unwrap(),
        [webhook(&other, "b", 0)]
    );
}

pub(super) async fn a_webhook_is_replaced_in_its_place(store: Arc<dyn Store>) {
    let story = begun(&*store, 1).await;
    let hooks = ["b", "a"].map(|id| webhook(&story, id, 0));
    commit(&*store, hooks.clone().map(Change::PutWebhook)).await;
    let mut new = webhook(&story, "b", 2);
    new.config.url = "https://example.com/other".to_owned();
    new.dialect = Dialect::V0Json;
    commit(&*store, [Change::PutWebhook(new.clone())]).await;
    assert_eq!(
        store.webhooks(story.id()).await.unwrap(),
        [new, hooks[1].clone()]
    );
}

pub(super) async fn a_removed_webhook_is_gone(store: Arc<dyn Store>) {
    let story = begun(&*store, 1).await;
    let hooks = ["a", "b"].map(|id| webhook(&story, id, 0));
    commit(&*store, hooks.clone().map(Change::PutWebhook)).await;
    let remove = Change::DeleteWebhook(story.head.id.clone(), hooks[0].id.clone());
    commit(&*store, [remove.clone(), remove]).await;
    assert_eq!(store.webhooks(story.id()).await.unwrap(), hooks[1..]);
    assert_eq!(store.undelivered(None, 9).await.unwrap(), hooks[1..]);
}

pub(super) async fn a_delivery_is_remembered(store: Arc<dyn Store>) {
    let story = begun(&*store, 1).await;
    let mut hook = webhook(&story, "a", 0);
    commit(&*store, [Change::PutWebhook(hook.clone())]).await;
    for delivery in [failing(1), Delivery::up_to(2), failing(2)] {
        hook.delivery = delivery.clone();
        commit(
            &*store,
            [Change::Delivery(
                hook.task.clone(),
                hook.id.clone(),
                delivery,
            )],
        )
        .await;
        assert_eq!(store.webhooks(story.id()).await.unwrap(), [hook.clone()]);
        assert_eq!(store.undelivered(None, 9).await.unwrap(), [hook.clone()]);
    }
}

pub(super) async fn a_delivery_to_no_webhook_changes_nothing(store: Arc<dyn Store>) {
    let story = begun(&*store, 1).await;
    let id = PushConfigId::new("gone").unwrap();
    commit(
        &*store,
        [Change::Delivery(story.head.id.clone(), id, failing(1))],
    )
    .await;
    assert!(store.webhooks(story.id()).await.unwrap().is_empty());
    assert!(store.undelivered(None, 9).await.unwrap().is_empty());
}

pub(super) async fn webhooks_with_events_left_are_walked_in_order(store: Arc<dyn Store>) {
    let (one, two) = (begun(&*store, 1).await, begun(&*store, 2).await);
    let all = one.head.seq;
    let hooks = [
        webhook(&one, "b", all - 1),
        webhook(&one, "a", 0),
        webhook(&one, "up to date", all),
        webhook(&two, "a", 1),
    ];
    commit(&*store, hooks.clone().map(Change::PutWebhook)).await;
    let [b, a, _, other] = hooks;
    let expected = [a, b, other];
    assert_eq!(store.undelivered(None, 9).await.unwrap(), expected);
    assert_eq!(store.undelivered(None, 2).await.unwrap(), expected[..2]);
    for (n, hook) in expected.iter().enumerate() {
        let after = Some((hook.task.clone(), hook.id.clone()));
        assert_eq!(
            store.undelivered(after, 9).await.unwrap(),
            expected[n + 1..]
        );
    }
}

pub(super) async fn a_webhook_that_has_all_comes_back_with_the_next_event(store: Arc<dyn Store>) {
    let mut story = begun(&*store, 1).await;
    let mut hook = webhook(&story, "a", 0);
    commit(&*store, [Change::PutWebhook(hook.clone())]).await;
    for state in [
        TaskState::Working,
        TaskState::InputRequired,
        TaskState::Completed,
    ] {
        commit(&*store, [story.step(state, at(2))]).await;
        assert_eq!(store.undelivered(None, 9).await.unwrap(), [hook.clone()]);
        hook.delivery = Delivery::up_to(story.head.seq);
        let delivery = hook.delivery.clone();
        commit(
            &*store,
            [Change::Delivery(
                hook.task.clone(),
                hook.id.clone(),
                delivery,
            )],
        )
        .await;
        assert!(store.undelivered(None, 9).await.unwrap().is_empty());
    }
    // A webhook made after the end, with events left, is delivered too.
    let late = webhook(&story, "late", story.head.seq - 1);
    commit(&*store, [Change::PutWebhook(late.clone())]).await;
    assert_eq!(store.undelivered(None, 9).await.unwrap(), [late]);
}

pub(super) async fn dead_letters_are_read_newest_first(store: Arc<dyn Store>) {
    let story = begun(&*store, 1).await;
    let letters: Vec<_> = (1..=3)
        .map(|seq| DeadLetter {
            task: story.head.id.clone(),
            webhook: PushConfigId::new("a").unwrap(),
            seq,
            url: "https://example.com/hook".to_owned(),
            body: "{\"text\":\"é\"}".repeat(10_000),
            attempts: 12,
            error: "410 gone".to_owned(),
            at: at(5),
        })
        .collect();
    store
        .commit(letters.iter().cloned().map(Change::DeadLetter).collect())
        .await
        .unwrap();
    let newest: Vec<_> = letters.into_iter().rev().collect();
    assert_eq!(store.dead_letters(9).await.unwrap(), newest);
    assert_eq!(store.dead_letters(2).await.unwrap(), newest[..2]);
}
