//! Streams: order, replay, slow readers, ends.

use std::sync::Arc;
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::Settings;
use switchboard_server::log::{Log, Retention};
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{FnAgent, Line, profile, rest, says};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Event, Message, TaskState};

use super::{artifact, asks, echo, line, state_of};

/// Streams `n` chunks, one a second.
fn chunks(n: u64) -> FnAgent {
    FnAgent::new(move |_turn, progress| async move {
        for i in 0..n {
            tokio::time::sleep(Duration::from_secs(1)).await;
            progress
                .chunk(artifact(&i.to_string()), i > 0, i + 1 == n)
                .await?;
        }
        Ok(Outcome::Completed(Said::default()))
    })
}

/// Streams `n` chunks as fast as it may.
fn burst(n: u64) -> FnAgent {
    FnAgent::new(move |_turn, progress| async move {
        for i in 0..n {
            progress
                .chunk(artifact(&i.to_string()), i > 0, i + 1 == n)
                .await?;
        }
        Ok(Outcome::Completed(Said::default()))
    })
}

fn numbers(seen: &[(u64, Event, bool)]) -> Vec<u64> {
    seen.iter().map(|(seq, _, _)| *seq).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_the_task_and_ends_with_its_last_status() {
    let mut stream = line(echo()).stream(says("hello")).await.unwrap();
    let seen = rest(&mut stream).await;
    assert_eq!(numbers(&seen), [1, 2, 3, 4]);
    let states: Vec<_> = seen.iter().map(|(_, event, _)| state_of(event)).collect();
    assert_eq!(
        states,
        [
            Some(TaskState::Submitted),
            Some(TaskState::Working),
            None,
            Some(TaskState::Completed)
        ]
    );
    let last: Vec<bool> = seen.iter().map(|(_, _, last)| *last).collect();
    assert_eq!(last, [false, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn readers_that_come_and_go_miss_nothing_and_see_nothing_twice() {
    let line = line(chunks(10));
    let task = line.send_at_once(says("hello")).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let after = seen.last().copied().unwrap_or(0);
        let mut stream = line.subscribe(&task.id, Some(after)).await.unwrap();
        // Stays for one batch, then hangs up.
        match stream.next().await.unwrap() {
            Some(items) => seen.extend(items.iter().map(|item| item.entry.seq)),
            None => break,
        }
    }
    assert_eq!(seen, (1..=13).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_begins_with_the_task_as_it_stands() {
    let line = line(chunks(4));
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let mut stream = line.subscribe(&task.id, None).await.unwrap();
    let seen = rest(&mut stream).await;
    assert_eq!(numbers(&seen), [4, 5, 6, 7]);
    let Event::Task(first) = &seen[0].1 else {
        panic!("{:?}", seen[0]);
    };
    assert_eq!(first.artifacts[0].parts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn subscribers_see_the_same_in_the_same_order() {
    let line = line(chunks(20));
    let task = line.send_at_once(says("hello")).await.unwrap();
    let mut a = line.subscribe(&task.id, Some(0)).await.unwrap();
    let mut b = line.subscribe(&task.id, Some(0)).await.unwrap();
    let left = line.subscribe(&task.id, Some(0)).await.unwrap();
    drop(left);
    let (a, b) = tokio::join!(rest(&mut a), rest(&mut b));
    assert_eq!(a, b);
    assert_eq!(numbers(&a), (1..=23).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing() {
    let line = line(burst(10_000));
    let mut stream = line.stream(says("hello")).await.unwrap();
    // The reader sleeps until the task is long over and its first events have left memory.
    let first = stream.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut seen: Vec<u64> = first.iter().map(|item| item.entry.seq).collect();
    seen.extend(numbers(&rest(&mut stream).await));
    assert_eq!(seen, (1..=10_003).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_its_stream_with_a_question_but_not_its_subscriptions() {
    let line = line(asks());
    let mut stream = line.stream(says("a shirt")).await.unwrap();
    let seen = rest(&mut stream).await;
    let (_, event, last) = seen.last().unwrap();
    assert_eq!(
        (state_of(event), *last),
        (Some(TaskState::InputRequired), true)
    );
    let id = stream.task_id().clone();
    let mut watching = line.subscribe(&id, None).await.unwrap();
    let answer = Message {
        task_id: Some(id.clone()),
        ..says("red")
    };
    let (watched, answered) = tokio::join!(rest(&mut watching), async {
        let mut stream = line.stream(answer).await.unwrap();
        rest(&mut stream).await
    });
    assert_eq!(state_of(&watched[0].1), Some(TaskState::InputRequired));
    assert_eq!(
        state_of(&watched.last().unwrap().1),
        Some(TaskState::Completed)
    );
    assert!(matches!(&answered[0].1, Event::Task(task) if task.history.len() == 3));
    assert_eq!(
        state_of(&answered.last().unwrap().1),
        Some(TaskState::Completed)
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_over_is_replayed_to_those_who_missed_it_and_refused_to_others() {
    let line = line(echo());
    let done = line.send(says("hello")).await.unwrap();
    let error = line.subscribe(&done.id, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let mut stream = line.subscribe(&done.id, Some(2)).await.unwrap();
    assert_eq!(numbers(&rest(&mut stream).await), [3, 4]);
    let mut nothing = line.subscribe(&done.id, Some(4)).await.unwrap();
    assert_eq!(rest(&mut nothing).await, []);
    let error = line.subscribe(&done.id, Some(5)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test(start_paused = true)]
async fn events_that_were_folded_away_are_told_as_the_task() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let log = Log::new(Arc::clone(&store));
    let line = Line::new(&log, Arc::new(burst(5000)), Settings::default());
    let done = line.send(says("hello")).await.unwrap();
    let keep = Duration::from_secs(3600);
    let retention = Retention {
        completed: Some(keep),
        failed: Some(keep),
        canceled: Some(keep),
        rejected: Some(keep),
        replay_window: Some(Duration::ZERO),
        idempotency_keys: keep,
    };
    assert_eq!(log.sweep(&retention).await.unwrap().folded, 1);
    log.close().await;
    let log = Log::new(Arc::clone(&store));
    let line = Line::new(&log, Arc::new(echo()), Settings::default());
    assert_eq!(line.get(&done.id).await.unwrap(), done);
    let mut stream = line.subscribe(&done.id, Some(7)).await.unwrap();
    let seen = rest(&mut stream).await;
    assert!(matches!(&seen[0].1, Event::Task(task) if *task == done));
    assert!(seen.last().unwrap().2);
    let over = Retention {
        completed: Some(Duration::ZERO),
        ..retention
    };
    assert_eq!(log.sweep(&over).await.unwrap().removed, 1);
    let gone = line.get(&done.id).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_stream_says_so() {
    let log = Log::new(Arc::new(MemoryStore::default()));
    let mut card = profile();
    card.card.capabilities.streaming = Some(false);
    let line = Line::with_profile(&log, Arc::new(echo()), Settings::default(), card);
    let error = line.stream(says("hello")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let done = line.send(says("hello")).await.unwrap();
    let error = line.subscribe(&done.id, Some(0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

/// Asks for credentials, in that way, and completes with the next message.
fn asks_for_credentials(out_of_band: bool) -> FnAgent {
    FnAgent::new(move |turn, _progress| async move {
        if turn.task.history.len() > 1 {
            return Ok(Outcome::Completed(Said::default()));
        }
        let mark = serde_json::json!({ switchboard_server::task::OUT_OF_BAND: out_of_band });
        Ok(Outcome::AuthRequired(Said {
            message_metadata: mark.as_object().map(Into::into),
            ..Said::text("sign in")
        }))
    })
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_where_its_caller_is_to_send_credentials() {
    let line = line(asks_for_credentials(false));
    let mut stream = line.stream(says("hello")).await.unwrap();
    let seen = rest(&mut stream).await;
    let (_, event, is_last) = seen.last().unwrap();
    assert_eq!(state_of(event), Some(TaskState::AuthRequired));
    assert!(is_last);
    // A subscription goes on to the end of the task.
    let Event::Task(task) = &seen[0].1 else {
        panic!("{:?}", seen[0]);
    };
    let mut watch = line.subscribe(&task.id, None).await.unwrap();
    let secret = Message {
        task_id: Some(task.id.clone()),
        ..says("1234")
    };
    let (done, watched) = tokio::join!(line.send(secret), rest(&mut watch));
    assert_eq!(done.unwrap().status.state, TaskState::Completed);
    let states: Vec<_> = watched.iter().filter_map(|(_, e, _)| state_of(e)).collect();
    let (first, last) = (states.first(), states.last());
    assert_eq!(first, Some(&TaskState::AuthRequired));
    assert_eq!(last, Some(&TaskState::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_stream_stays_open_for_credentials_that_come_out_of_band() {
    let line = line(asks_for_credentials(true));
    let mut stream = line.stream(says("hello")).await.unwrap();
    let mut states = Vec::new();
    while states.last() != Some(&TaskState::AuthRequired) {
        let items = stream.next().await.unwrap().unwrap();
        assert!(items.iter().all(|item| !item.last));
        states.extend(items.iter().filter_map(|item| state_of(&item.entry.event)));
    }
    let elsewhere = Message {
        task_id: Some(stream.task_id().clone()),
        ..says("signed in")
    };
    line.send_at_once(elsewhere).await.unwrap();
    let rest = rest(&mut stream).await;
    let (_, event, is_last) = rest.last().unwrap();
    assert_eq!(state_of(event), Some(TaskState::Completed));
    assert!(is_last);
}
