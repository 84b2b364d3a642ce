//! What is sent, in which order, and how far it counts as delivered.

use std::time::Duration;

use serde_json::json;
use switchboard_server::push::Settings;
use switchboard_server::task::{Change, Delivery, Snapshot};
use switchboard_types::model::{Authentication, PushConfigId, Secret, TaskId, TaskState};
use switchboard_types::{Dialect, FileBytes};

use crate::receiver::{Answer, Receiver, seqs};
use crate::scene::{Happen, Scene, loopback, quick, webhook};

#[tokio::test]
async fn every_event_arrives_in_order() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/hook?a=b"), Dialect::V1)]);
    task.becomes(TaskState::Working);
    for n in 0..100 {
        task.produces(&format!("{n} "));
    }
    task.becomes(TaskState::Completed);
    let got = receiver.after(103).await;
    assert_eq!(seqs(&got), (1..=103).collect::<Vec<u64>>());
    scene.until("t", "w", |d| *d == Delivery::up_to(103)).await;
    assert_eq!(receiver.got().len(), 103);
    assert!(
        got.iter()
            .all(|got| got.path == "/hook?a=b" && got.method == "POST")
    );
}

#[tokio::test]
async fn speaks_1_0_to_those_who_registered_so() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let mut webhook = webhook("t", "w", &receiver.url("/"), Dialect::V1);
    webhook.config.token = Some(Secret::new("my token"));
    webhook.config.authentication = Some(Authentication {
        scheme: "Bearer".to_owned(),
        credentials: Some(Secret::new("abc.def")),
    });
    let task = scene.task_with("t", vec![webhook]);
    task.becomes(TaskState::Working);
    task.produces("text");
    task.becomes(TaskState::Completed);
    let got = receiver.after(4).await;
    for (got, seq) in got.iter().zip(1..) {
        assert_eq!(got.header("content-type"), Some("application/a2a+json"));
        assert_eq!(got.header("a2a-version"), Some("1.0"));
        assert_eq!(
            got.header("x-a2a-event-id"),
            Some(format!("t:{seq}").as_str())
        );
        assert_eq!(got.header("x-a2a-notification-token"), Some("my token"));
        assert_eq!(got.header("authorization"), Some("Bearer abc.def"));
        assert!(
            got.header("user-agent")
                .unwrap()
                .starts_with("switchboard/")
        );
        assert_eq!(
            got.json().as_object().unwrap().len(),
            1,
            "exactly one member"
        );
    }
    let body = |n: usize| got[n].json();
    assert_eq!(body(0)["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(
        body(1)["statusUpdate"]["status"]["state"],
        "TASK_STATE_WORKING"
    );
    assert_eq!(
        body(2)["artifactUpdate"]["artifact"]["parts"][0]["text"],
        "text"
    );
    assert_eq!(
        body(3)["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn speaks_0_x_to_those_who_registered_so() {
    let receiver = Receiver::start().await;
    let scene = Scene::without_outbox(loopback(), quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V0Json)]);
    task.becomes(TaskState::Working);
    task.produces("one");
    task.becomes(TaskState::InputRequired);
    task.becomes(TaskState::Working);
    task.produces("two");
    task.becomes(TaskState::Completed);
    task.stored_up_to(7).await.unwrap();
    // All of it is told afterwards, and still each time as it stood then.
    scene.run();
    let got = receiver.after(2).await;
    scene.until("t", "w", |d| *d == Delivery::up_to(7)).await;
    assert_eq!(seqs(&receiver.got()), [4, 7]);
    for got in &got {
        assert_eq!(got.header("content-type"), Some("application/json"));
        assert_eq!(got.header("a2a-version"), Some("0.3"));
        assert_eq!(got.header("x-a2a-notification-token"), None);
        assert_eq!(got.header("authorization"), None);
        assert_eq!(got.json()["kind"], "task");
        assert_eq!(got.json()["id"], "t");
    }
    let texts = |n: usize| {
        let parts = got[n].json()["artifacts"][0]["parts"].clone();
        parts
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["text"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(got[0].json()["status"]["state"], "input-required");
    assert_eq!(texts(0), [json!("one")]);
    assert_eq!(got[1].json()["status"]["state"], "completed");
    assert_eq!(texts(1), [json!("onetwo")]);
}

#[tokio::test]
async fn tells_0_x_how_a_task_stood_before_its_last_snapshot() {
    let receiver = Receiver::start().await;
    let scene = Scene::without_outbox(loopback(), quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V0Json)]);
    task.becomes(TaskState::Working);
    task.produces("early");
    task.becomes(TaskState::InputRequired);
    task.becomes(TaskState::Working);
    for seq in 6..300 {
        task.produces(&"x".repeat(1024));
        task.stored_up_to(seq).await.unwrap();
    }
    let stored = scene.store.task(task.id()).await.unwrap().unwrap();
    assert!(stored.snapshot.unwrap().seq > 4, "this needs a snapshot");
    scene.run();
    let got = receiver.after(1).await;
    assert_eq!(got[0].seq(), 4);
    assert_eq!(got[0].json()["status"]["state"], "input-required");
    assert_eq!(
        got[0].json()["artifacts"][0]["parts"],
        json!([{"kind": "text", "text": "early"}])
    );
}

#[tokio::test]
async fn the_whole_task_stands_in_for_events_that_were_folded_away() {
    let receiver = Receiver::start().await;
    let scene = Scene::without_outbox(loopback(), quick());
    let task = scene.task("t", &[]);
    task.becomes(TaskState::Working);
    for _ in 0..20 {
        task.produces("x");
    }
    task.becomes(TaskState::Completed);
    task.stored_up_to(23).await.unwrap();
    let (head, whole) = scene.log.read(task.id()).await.unwrap().unwrap();
    let snapshot = Snapshot {
        task: whole,
        seq: head.seq,
    };
    scene.log.commit(Change::Fold(snapshot)).await.unwrap();
    for (id, dialect) in [("new", Dialect::V1), ("old", Dialect::V0Json)] {
        let webhook = webhook("t", id, &receiver.url(&format!("/{id}")), dialect);
        scene.log.commit(Change::PutWebhook(webhook)).await.unwrap();
    }
    scene.run();
    let got = receiver.after(2).await;
    for got in got {
        let body = got.json();
        let task = body.get("task").unwrap_or(&body);
        assert_eq!(got.seq(), 23);
        let parts = task["artifacts"][0]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 1, "streamed text is one part");
        assert_eq!(parts[0]["text"], "x".repeat(20));
    }
    scene.until("t", "new", |d| *d == Delivery::up_to(23)).await;
    scene.until("t", "old", |d| *d == Delivery::up_to(23)).await;
    assert_eq!(receiver.got().len(), 2);
}

#[tokio::test]
async fn what_0_x_does_not_hear_is_counted_without_a_commit_each() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let task = scene.task(
        "t",
        &[("w", &receiver.url("/"), Dialect::V0Proto(FileBytes::Base64))],
    );
    task.becomes(TaskState::Working);
    for _ in 0..200 {
        task.produces("x");
    }
    scene.until("t", "w", |d| d.delivered > 100).await;
    assert_eq!(receiver.got().len(), 0);
    task.becomes(TaskState::Failed);
    let got = receiver.after(1).await;
    // Registered over REST, told as everyone of 0.x is.
    assert_eq!(got[0].json()["kind"], "task");
    assert_eq!(got[0].json()["status"]["state"], "failed");
    scene.until("t", "w", |d| *d == Delivery::up_to(203)).await;
}

#[tokio::test]
async fn every_webhook_of_a_task_hears_all_of_it() {
    let (one, two) = (Receiver::start().await, Receiver::start().await);
    let scene = Scene::start(quick());
    let task = scene.task(
        "t",
        &[
            ("one", &one.url("/"), Dialect::V1),
            ("two", &two.url("/"), Dialect::V1),
            ("old", &two.url("/old"), Dialect::V0Json),
        ],
    );
    task.becomes(TaskState::Working);
    task.becomes(TaskState::Rejected);
    assert_eq!(seqs(&one.after(3).await), [1, 2, 3]);
    let got = two.after(4).await;
    assert_eq!(got.iter().filter(|got| got.path == "/old").count(), 1);
}

#[tokio::test]
async fn a_webhook_made_later_hears_what_comes_then() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let task = scene.task("t", &[]);
    task.becomes(TaskState::Working);
    task.stored_up_to(2).await.unwrap();
    let mut webhook = webhook("t", "w", &receiver.url("/"), Dialect::V1);
    webhook.delivery = Delivery::up_to(2);
    task.has_webhooks();
    scene.log.commit(Change::PutWebhook(webhook)).await.unwrap();
    task.becomes(TaskState::Completed);
    assert_eq!(seqs(&receiver.after(1).await), [3]);
}

/// The event is stored, and the outbox has looked, before the webhook is there.
#[tokio::test]
async fn a_webhook_made_while_its_task_goes_on_misses_nothing() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let task = scene.task("t", &[]);
    task.stored_up_to(1).await.unwrap();
    task.has_webhooks();
    task.becomes(TaskState::Working);
    task.stored_up_to(2).await.unwrap();
    // Delivered after it was looked for: what comes later in the queue shows that it was.
    let witness = scene.task("u", &[("w", &receiver.url("/witness"), Dialect::V1)]);
    witness.stored_up_to(1).await.unwrap();
    receiver.after(1).await;
    let mut webhook = webhook("t", "w", &receiver.url("/"), Dialect::V1);
    webhook.delivery = Delivery::up_to(1);
    scene.log.commit(Change::PutWebhook(webhook)).await.unwrap();
    assert_eq!(receiver.after(2).await[1].seq(), 2);
}

#[tokio::test]
async fn a_deleted_webhook_hears_nothing_more() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(200).gated());
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    for _ in 0..5 {
        task.becomes(TaskState::Working);
    }
    receiver.after(1).await;
    let gone = Change::DeleteWebhook(TaskId::new("t").unwrap(), PushConfigId::new("w").unwrap());
    scene.log.commit(gone).await.unwrap();
    receiver.open_gate();
    task.becomes(TaskState::Completed);
    // Another one shows that the outbox went on.
    let witness = scene.task("u", &[("w", &receiver.url("/witness"), Dialect::V1)]);
    witness.becomes(TaskState::Completed);
    let got = receiver.after(3).await;
    let told: Vec<_> = got.iter().map(|got| got.path.as_str()).collect();
    assert_eq!(told, ["/", "/witness", "/witness"]);
    scene.until("u", "w", |d| d.delivered == 2).await;
    assert_eq!(receiver.got().len(), 3);
}

#[tokio::test]
async fn a_replaced_webhook_goes_to_its_new_place_at_once() {
    let (old, new) = (Receiver::start().await, Receiver::start().await);
    old.always(Answer::new(503).header("retry-after", "600"));
    let scene = Scene::start(Settings::default());
    let task = scene.task("t", &[("w", &old.url("/"), Dialect::V1)]);
    task.becomes(TaskState::Working);
    scene.until("t", "w", |d| d.retry_at.is_some()).await;
    let mut moved = webhook("t", "w", &new.url("/"), Dialect::V1);
    moved.delivery = Delivery::up_to(2);
    scene.log.commit(Change::PutWebhook(moved)).await.unwrap();
    task.becomes(TaskState::Completed);
    assert_eq!(seqs(&new.after(1).await), [3]);
    assert_eq!(old.got().len(), 1);
}

#[tokio::test]
async fn a_slow_receiver_delays_nobody_else() {
    let (slow, quick_one) = (Receiver::start().await, Receiver::start().await);
    slow.always(Answer::new(200).gated());
    let scene = Scene::start(Settings {
        concurrency: 8,
        per_host: 3,
        ..quick()
    });
    for n in 0..20 {
        scene.task(&format!("slow-{n}"), &[("w", &slow.url("/"), Dialect::V1)]);
    }
    slow.after(2).await;
    for n in 0..20 {
        scene.task(
            &format!("quick-{n}"),
            &[("w", &quick_one.url("/"), Dialect::V1)],
        );
    }
    quick_one.after(20).await;
    assert_eq!(slow.got().len(), 2, "no more than its share");
    slow.open_gate();
    slow.after(20).await;
}

#[tokio::test]
async fn stops_at_once_when_told() {
    let receiver = Receiver::start().await;
    receiver.always(Answer::new(200).gated());
    let scene = Scene::start(quick());
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    receiver.after(1).await;
    scene.tasks.stop();
    assert!(scene.tasks.drain(Duration::from_secs(5)).await);
    assert_eq!(scene.delivery("t", "w").await, Some(Delivery::up_to(0)));
}
