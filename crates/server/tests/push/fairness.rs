//! What the failing webhooks of one owner cost another: nothing.

use std::time::Duration;

use switchboard_server::push::Settings;
use switchboard_server::task::Delivery;
use switchboard_types::Dialect;
use switchboard_types::model::TaskState;
use tokio::net::{TcpListener, TcpSocket};

use crate::receiver::{Answer, Receiver, seqs};
use crate::scene::{Happen, Scene, quick, webhook};

/// No attempt that hangs ends before the test does: whatever waited for one would never come.
fn patient() -> Settings {
    Settings {
        timeout: Duration::from_secs(600),
        ..quick()
    }
}

fn add(scene: &Scene, owner: &str, task: &str, url: &str) {
    scene.task_of(owner, task, vec![webhook(task, "w", url, Dialect::V1)]);
}

/// Starts tasks of owner A whose webhooks hang or fail at the host of the good receiver.
fn spoil(scene: &Scene, receiver: &Receiver) {
    receiver.at("/hangs", Answer::new(200).gated());
    receiver.at("/fails", Answer::new(500));
    for n in 0..40 {
        let path = if n % 4 == 0 { "/fails" } else { "/hangs" };
        let url = receiver.url(&format!("{path}/{n}"));
        add(scene, "a", &format!("same-host-{n}"), &url);
    }
}

#[tokio::test]
async fn webhooks_that_hang_at_the_same_host_delay_no_other_owner() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(patient());
    spoil(&scene, &receiver);
    // As many hang as may.
    receiver.after(6).await;
    for n in 0..20 {
        let id = format!("good-{n}");
        let url = receiver.url("/good");
        let task = scene.task_of("b", &id, vec![webhook(&id, "w", &url, Dialect::V1)]);
        task.becomes(TaskState::Working);
        task.becomes(TaskState::Completed);
        scene.until(&id, "w", |d| *d == Delivery::up_to(3)).await;
    }
    let good: Vec<_> = receiver
        .got()
        .into_iter()
        .filter(|got| got.path == "/good")
        .collect();
    assert_eq!(seqs(&good), [1, 2, 3].repeat(20));
}

#[tokio::test]
async fn webhooks_that_hang_elsewhere_delay_no_other_owner() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(patient());
    let (mut silent, mut refusing) = (Vec::new(), Vec::new());
    for n in 0..300 {
        let address = if n % 3 == 0 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            refusing.push(socket);
            refusing.last().unwrap().local_addr()
        } else {
            silent.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
            silent.last().unwrap().local_addr()
        };
        let url = format!("http://{}/", address.unwrap());
        add(&scene, "a", &format!("elsewhere-{n}"), &url);
    }
    // Some have failed already, and are retried; others hang.
    scene.until("elsewhere-0", "w", |d| d.attempts > 1).await;
    for n in 0..20 {
        let id = format!("good-{n}");
        add(&scene, "b", &id, &receiver.url("/good"));
        scene.until(&id, "w", |d| *d == Delivery::up_to(1)).await;
    }
}

/// What is retried has slots of its own, so that its owner's new webhooks do not wait for it either.
#[tokio::test]
async fn retries_that_hang_delay_no_first_attempt() {
    let receiver = Receiver::start().await;
    receiver.at("/good", Answer::new(200));
    receiver.always(Answer::new(500));
    let scene = Scene::start(patient());
    let failing: Vec<_> = (0..40).map(|n| format!("failing-{n}")).collect();
    for id in &failing {
        add(&scene, "a", id, &receiver.url("/later"));
    }
    for id in &failing {
        scene.until(id, "w", |d| d.attempts > 0).await;
    }
    // From now on their retries hang, as many as may.
    receiver.always(Answer::new(200).gated());
    for n in 0..20 {
        let id = format!("good-{n}");
        add(&scene, "a", &id, &receiver.url("/good"));
        scene.until(&id, "w", |d| *d == Delivery::up_to(1)).await;
    }
    receiver.open_gate();
    for id in &failing {
        scene.until(id, "w", |d| *d == Delivery::up_to(1)).await;
    }
}
