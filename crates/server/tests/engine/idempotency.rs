//! The same request twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::call::{Origin, ReplyBody};
use switchboard_server::engine::Settings;
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{FnAgent, Line, says, send};
use switchboard_server::testing::troubled::Troubled;
use switchboard_types::model::{Event, Message, TaskId, TaskState};
use switchboard_types::operation::{Operation, Response};
use switchboard_types::{Error, ErrorKind};

use super::failure::Flaky;

/// Counts how often it runs.
fn counting(runs: &Arc<AtomicUsize>, reply: bool) -> FnAgent {
    let runs = Arc::clone(runs);
    FnAgent::new(move |_turn, _progress| {
        let runs = Arc::clone(&runs);
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            if reply {
                return Ok(Outcome::Reply(Said::text("hi")));
            }
            Ok(Outcome::Completed(Said::default()))
        }
    })
}

pub(super) async fn keyed(line: &Line, message: Message, key: &str) -> Result<ReplyBody, Error> {
    line.ask(Operation::Send(send(message).into()), |call| {
        call.params.idempotency_key = Some(key.to_owned());
    })
    .await
}

pub(super) fn task_id(body: ReplyBody) -> TaskId {
    match body {
        ReplyBody::Response(Response::SentTask(view)) => view.task.id.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_key_gets_the_first_answer_while_it_runs_and_afterwards() {
    let runs = Arc::new(AtomicUsize::new(0));
    let line = super::line(counting(&runs, false));
    let (a, b) = tokio::join!(
        keyed(&line, says("hello"), "k"),
        keyed(&line, says("hello"), "k")
    );
    let (a, b) = (task_id(a.unwrap()), task_id(b.unwrap()));
    let c = task_id(keyed(&line, says("hello"), "k").await.unwrap());
    assert_eq!((&a, &a), (&b, &c));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let other = task_id(keyed(&line, says("hello"), "k2").await.unwrap());
    assert_ne!(a, other);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_looks_while_the_first_one_is_stored_does_not_come_first_too() {
    let log = Log::new(Arc::new(Troubled::by(Flaky::slow(Duration::from_millis(
        10,
    )))));
    let line = Line::new(&log, Arc::new(super::echo()), Settings::default());
    let late = async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        keyed(&line, says("hello"), "k").await
    };
    let (first, late) = tokio::join!(keyed(&line, says("hello"), "k"), late);
    assert_eq!(task_id(first.unwrap()), task_id(late.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_question_is_taken_once_before_and_after_a_restart() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let asks = || Arc::new(super::asks());
    let log = Log::new(Arc::clone(&store));
    let line = Line::new(&log, asks(), Settings::default());
    let waiting = line.send(says("a shirt")).await.unwrap();
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("red")
    };
    let (a, b) = tokio::join!(
        keyed(&line, answer.clone(), "k"),
        keyed(&line, answer.clone(), "k")
    );
    assert_eq!(task_id(a.unwrap()), task_id(b.unwrap()));
    log.close().await;
    let log = Log::new(store);
    let line = Line::new(&log, asks(), Settings::default());
    assert_eq!(
        task_id(keyed(&line, answer.clone(), "k").await.unwrap()),
        waiting.id
    );
    let done = line.get(&waiting.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    let red = done.history.iter().filter(|m| m.text() == "red");
    assert_eq!(red.count(), 1);
    let error = keyed(&line, says("another"), "k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_remembered_after_a_restart() {
    let runs = Arc::new(AtomicUsize::new(0));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let log = Log::new(Arc::clone(&store));
        let agent = Arc::new(counting(&runs, false));
        let line = Line::new(&log, agent, Settings::default());
        ids.push(task_id(keyed(&line, says("hello"), "k").await.unwrap()));
        log.close().await;
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_stand_for_another_request() {
    let runs = Arc::new(AtomicUsize::new(0));
    let line = super::line(counting(&runs, false));
    keyed(&line, says("hello"), "k").await.unwrap();
    let error = keyed(&line, says("goodbye"), "k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn bare_messages_are_remembered_too() {
    let runs = Arc::new(AtomicUsize::new(0));
    let settings = Settings {
        reply_with_message: true,
        ..Settings::default()
    };
    let line = super::line_with(counting(&runs, true), settings);
    let mut texts = Vec::new();
    for _ in 0..2 {
        match keyed(&line, says("hello"), "k").await.unwrap() {
            ReplyBody::Response(Response::SentMessage(message)) => texts.push(message),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(texts[0], texts[1]);

    // Repeated as a stream, it is the only item of it.
    let stream = Operation::Stream(send(says("hello")).into());
    let body = line.ask(stream, |call| {
        call.params.idempotency_key = Some("k".to_owned())
    });
    let ReplyBody::Stream(mut cursor) = body.await.unwrap() else {
        panic!("no stream");
    };
    let items = cursor.next().await.unwrap().unwrap();
    assert_eq!(items[0].entry.event, Event::Message(Arc::clone(&texts[0])));
    assert!(cursor.next().await.unwrap().is_none());
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn message_ids_name_requests_only_where_the_agent_is_set_so() {
    for (dedupe, runs_expected) in [(false, 2), (true, 1)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let settings = Settings {
            dedupe_by_message_id: dedupe,
            ..Settings::default()
        };
        let line = super::line_with(counting(&runs, false), settings);
        line.send(says("hello")).await.unwrap();
        line.send(says("hello")).await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), runs_expected);
    }
}

#[tokio::test(start_paused = true)]
async fn no_caller_takes_the_key_of_an_agent_that_calls_for_it() {
    let runs = Arc::new(AtomicUsize::new(0));
    let line = super::line(counting(&runs, false));
    let ask = async |origin: Origin| {
        let asked = line.ask(Operation::Send(send(says("hello")).into()), |call| {
            call.params.idempotency_key = Some("t1-1-1".to_owned());
            call.origin = origin;
        });
        task_id(asked.await.unwrap())
    };
    let own = ask(Origin::Network).await;
    let errand = ask(Origin::Agent("poet".into())).await;
    let other = ask(Origin::Agent("painter".into())).await;
    assert!(own != errand && errand != other, "{own} {errand} {other}");
    assert_eq!(ask(Origin::Agent("poet".into())).await, errand);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}
