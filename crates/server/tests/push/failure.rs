//! What happens when a receiver does not take what it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use switchboard_server::clock;
use switchboard_server::push::Settings;
use switchboard_server::store::Error;
use switchboard_server::task::Delivery;
use switchboard_server::testing::troubled::{Request, Trouble, Troubled};
use switchboard_types::Dialect;
use switchboard_types::model::TaskState;

use crate::receiver::{Answer, Receiver, seqs};
use crate::scene::{Happen, Scene, loopback, quick};

#[tokio::test]
async fn tries_again_until_it_is_taken_and_keeps_the_order() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(200));
    for status in [500, 503, 404, 301] {
        receiver.then(Answer::new(status));
    }
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    task.becomes(TaskState::Working);
    task.becomes(TaskState::Completed);
    let got = receiver.after(7).await;
    assert_eq!(seqs(&got), [1, 2, 2, 2, 2, 2, 3]);
    let repeats: Vec<_> = got[1..6].iter().map(|got| &got.body).collect();
    assert!(repeats.iter().all(|body| *body == repeats[0]));
    scene.until("t", "w", |d| *d == Delivery::up_to(3)).await;
    assert!(scene.dead_letters().await.is_empty());
}

#[tokio::test]
async fn a_failure_is_told_and_the_receiver_may_ask_for_time() {
    let receiver = Receiver::start().await;
    receiver.always(Answer::new(429).header("retry-after", "120"));
    let scene = Scene::start(Settings::default());
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    let delivery = scene.until("t", "w", |d| d.attempts > 0).await;
    assert_eq!(delivery.delivered, 0);
    assert_eq!(delivery.attempts, 1);
    assert_eq!(delivery.last_error.as_deref(), Some("answered 429"));
    assert!(delivery.failing_since.is_some());
    let wait = clock::until(delivery.retry_at.unwrap());
    assert!(wait > Duration::from_secs(110), "{wait:?}");
    assert!(wait <= Duration::from_secs(120), "{wait:?}");
}

#[tokio::test]
async fn a_receiver_that_says_nothing_fails_in_time() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(200).gated());
    let scene = Scene::start(Settings {
        timeout: Duration::from_millis(100),
        ..quick()
    });
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    scene.until("t", "w", |d| d.delivered == 1).await;
    assert_eq!(seqs(&receiver.got()), [1, 1]);
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_said_so() {
    let receiver = Receiver::start().await;
    // A port that was free a moment ago.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let scene = Scene::start(Settings::default());
    let secret = format!("http://127.0.0.1:{port}/hook?secret=hunter2");
    scene.task("t", &[("w", &secret, Dialect::V1)]);
    let error = scene.until("t", "w", |d| d.attempts > 0).await.last_error;
    let error = error.unwrap();
    assert!(error.starts_with("could not connect: "), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    drop(receiver);
}

#[tokio::test]
async fn gives_up_in_the_end_and_goes_on() {
    let receiver = Receiver::start().await;
    receiver.always(Answer::new(500).body("never mind"));
    let scene = Scene::start(Settings {
        give_up_after: Duration::from_millis(100),
        ..quick()
    });
    let task = scene.task("t", &[("w", &receiver.url("/hook"), Dialect::V1)]);
    task.becomes(TaskState::Working);
    task.becomes(TaskState::Completed);
    let delivery = scene
        .until("t", "w", |d| d.delivered == 3 && d.failing_since.is_none())
        .await;
    assert_eq!(delivery.attempts, 0);
    assert_eq!(delivery.last_error.as_deref(), Some("answered 500"));
    let letters = scene.dead_letters().await;
    assert_eq!(letters.iter().map(|l| l.seq).collect::<Vec<_>>(), [1, 2, 3]);
    for (letter, member) in letters.iter().zip(["task", "statusUpdate", "statusUpdate"]) {
        assert_eq!(letter.webhook.as_str(), "w");
        assert_eq!(letter.url, receiver.url("/hook"));
        assert_eq!(letter.error, "answered 500");
        assert!(letter.attempts >= 3, "{}", letter.attempts);
        let body: serde_json::Value = serde_json::from_str(&letter.body).unwrap();
        assert!(body.get(member).is_some(), "{body}");
    }
    // Those behind the first one were not given as much time again.
    assert_eq!(letters[1].attempts, 3);
    assert_eq!(letters[2].attempts, 3);
}

#[tokio::test]
async fn a_receiver_that_is_gone_gets_no_more_of_what_waits() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(500));
    receiver.then(Answer::new(410));
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    for _ in 0..10 {
        task.becomes(TaskState::Working);
    }
    task.stored_up_to(11).await.unwrap();
    scene.until("t", "w", |d| d.delivered == 11).await;
    let letters = scene.dead_letters().await;
    assert_eq!(letters.len(), 11);
    assert_eq!(letters[0].attempts, 2);
    assert!(letters.iter().all(|letter| letter.error == "answered 410"));
    assert_eq!(receiver.got().len(), 2);
    // What happens later is told: the webhook lasts until it is deleted (A2A 1.0 §4.3.3).
    task.becomes(TaskState::Completed);
    assert_eq!(receiver.after(3).await[2].seq(), 12);
}

#[tokio::test]
async fn a_restart_repeats_rather_than_loses() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    scene.until("t", "w", |d| d.delivered == 1).await;
    // The receiver has it, but we do not hear so.
    receiver.then(Answer::new(200).gated());
    task.becomes(TaskState::Working);
    task.becomes(TaskState::Completed);
    receiver.after(2).await;
    drop(task);
    let scene = scene.restart().await;
    let got = receiver.after(4).await;
    assert_eq!(seqs(&got), [1, 2, 2, 3]);
    scene.until("t", "w", |d| *d == Delivery::up_to(3)).await;
}

#[tokio::test]
async fn a_restart_keeps_the_schedule() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(500).header("retry-after", "1"));
    let scene = Scene::start(Settings::default());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    let before = scene.until("t", "w", |d| d.attempts == 1).await;
    drop(task);
    let scene = scene.restart().await;
    assert_eq!(scene.delivery("t", "w").await.as_ref(), Some(&before));
    let got = receiver.after(2).await;
    assert_eq!(seqs(&got), [1, 1]);
    assert!(
        clock::until(before.retry_at.unwrap()).is_zero(),
        "not before its time"
    );
}

#[tokio::test]
async fn many_left_over_webhooks_are_all_found() {
    let receiver = Receiver::start().await;
    let scene = Scene::without_outbox(crate::scene::loopback(), quick());
    for n in 0..600 {
        let task = scene.task(&format!("t{n}"), &[("w", &receiver.url("/"), Dialect::V1)]);
        task.stored_up_to(1).await.unwrap();
    }
    // A log that was never told of them.
    let scene = scene.restart().await;
    receiver.after(600).await;
    scene.until("t599", "w", |d| d.delivered == 1).await;
}

#[tokio::test]
async fn an_endless_answer_is_not_read() {
    let receiver = Receiver::start().await;
    receiver.always(Answer::new(200).body(vec![b'x'; 8 << 20]));
    let scene = Scene::start(quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    task.becomes(TaskState::Completed);
    scene.until("t", "w", |d| *d == Delivery::up_to(2)).await;
    assert_eq!(seqs(&receiver.got()), [1, 2]);
}

/// A task can be read once.
#[derive(Debug, Default)]
struct ReadOnce(AtomicBool);

#[async_trait]
impl Trouble for ReadOnce {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        match request {
            Request::Task(_) if self.0.swap(true, Ordering::SeqCst) => {
                Err(Error::Unavailable("the disk is gone".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

#[tokio::test]
async fn what_was_delivered_before_trouble_is_not_delivered_again() {
    let receiver = Receiver::start().await;
    let store = Arc::new(Troubled::by(ReadOnce::default()));
    let scene = Scene::on(store, loopback(), quick());
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V0Json)]);
    // Earlier events are delivered with the task as of that event, which must be read from the store.
    for state in [TaskState::InputRequired, TaskState::Working].repeat(2) {
        task.becomes(state);
    }
    task.stored_up_to(5).await.unwrap();
    scene.run();
    scene.until("t", "w", |d| d.delivered >= 2).await;
    assert_eq!(receiver.got().len(), 1);
}
