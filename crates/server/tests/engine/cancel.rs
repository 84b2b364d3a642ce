//! Cancel: signal, grace, force; and never overwritten.

use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::{OnDisconnect, Settings};
use switchboard_server::testing::agent::{FnAgent, rest, says};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;

use super::{asks, echo, line, line_with, state_of, works_until_canceled};

#[tokio::test(start_paused = true)]
async fn a_late_completion_does_not_undo_a_cancel() {
    let line = line(works_until_canceled());
    let task = line.send_at_once(says("hello")).await.unwrap();
    let canceled = line.cancel(&task.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let later = line.get(&task.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_listen_is_stopped_by_force() {
    let deaf = FnAgent::new(|_turn, _progress| std::future::pending());
    let line = line(deaf);
    let task = line.send_at_once(says("hello")).await.unwrap();
    let before = tokio::time::Instant::now();
    let canceled = line.cancel(&task.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert_eq!(
        before.elapsed().as_secs(),
        Settings::default().cancel_grace.as_secs()
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_is_canceled_at_once() {
    let line = line(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    let canceled = line.cancel(&waiting.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_over_cannot_be_canceled() {
    let line = line(echo());
    let done = line.send(says("hello")).await.unwrap();
    let error = line.cancel(&done.id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    let later = line.get(&done.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancels_that_come_together_agree() {
    let line = line(works_until_canceled());
    let task = line.send_at_once(says("hello")).await.unwrap();
    let (a, b) = tokio::join!(line.cancel(&task.id), line.cancel(&task.id));
    assert_eq!(a.unwrap().status.state, TaskState::Canceled);
    assert_eq!(b.unwrap().status.state, TaskState::Canceled);
    let again = line.cancel(&task.id).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::TaskNotCancelable);
}

#[tokio::test(start_paused = true)]
async fn readers_hear_of_a_cancel_and_their_streams_end() {
    let line = line(works_until_canceled());
    let mut stream = line.stream(says("hello")).await.unwrap();
    let id = stream.task_id().clone();
    let (seen, canceled) = tokio::join!(rest(&mut stream), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        line.cancel(&id).await
    });
    canceled.unwrap();
    let (_, event, last) = seen.last().unwrap();
    assert_eq!(state_of(event), Some(TaskState::Canceled));
    assert!(last);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_stops_nothing_unless_the_agent_is_set_so() {
    for (on_disconnect, becomes) in [
        (OnDisconnect::Keep, TaskState::Completed),
        (OnDisconnect::Cancel, TaskState::Canceled),
    ] {
        let slow = FnAgent::new(|turn, _progress| async move {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(5)) => {}
                () = turn.canceled.cancelled() => {}
            }
            Ok(Outcome::Completed(Said::default()))
        });
        let settings = Settings {
            on_disconnect,
            ..Settings::default()
        };
        let line = line_with(slow, settings);
        let mut stream = line.stream(says("hello")).await.unwrap();
        stream.next().await.unwrap();
        let id = stream.task_id().clone();
        drop(stream);
        tokio::time::sleep(Duration::from_secs(20)).await;
        let later = line.get(&id).await.unwrap();
        assert_eq!(later.status.state, becomes);
    }
}
