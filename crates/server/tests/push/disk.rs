//! The same on a store that outlives the process.

use std::sync::Arc;

use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_server::task::Delivery;
use switchboard_types::Dialect;
use switchboard_types::model::TaskState;

use crate::receiver::{Answer, Receiver, seqs};
use crate::scene::{Happen, Scene, loopback, quick};

#[tokio::test]
async fn deliveries_survive_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let receiver = Receiver::start().await;
    for status in [200, 500, 500] {
        receiver.then(Answer::new(status));
    }
    receiver.then(Answer::new(200).gated());
    let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
    let scene = Scene::on(Arc::new(store), loopback(), quick());
    scene.run();
    let task = scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    task.becomes(TaskState::Working);
    for _ in 0..40 {
        task.produces("x");
    }
    task.becomes(TaskState::Completed);
    receiver.after(4).await;
    drop(task);
    let scene = scene.restart().await;
    scene.until("t", "w", |d| *d == Delivery::up_to(43)).await;
    let got = seqs(&receiver.got());
    assert_eq!(got[..4], [1, 2, 2, 2]);
    assert_eq!(got[4..], (2..=43).collect::<Vec<u64>>());
}
