//! Messages to a task whose turn still runs: they wait for its end, and answer what it asks or are refused. Nobody gets the
//! answer to somebody else's message.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::{OnInputTimeout, Settings};
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::is_redacted;
use switchboard_server::testing::agent::{FnAgent, Line, rest, says};
use switchboard_server::testing::troubled::Troubled;
use switchboard_types::ErrorKind;
use switchboard_types::model::{Event, Message, MessageId, Task, TaskId, TaskState};

use super::failure::Flaky;
use super::input::{crash, restarted, restarted_with};
use super::turns::room;
use super::{line, line_with};

fn to(task: &TaskId, id: &str, text: &str) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        task_id: Some(task.clone()),
        ..says(text)
    }
}

/// Takes a second for each message and asks for more, until it gets the last one; says what it got.
fn asks_until(last: &'static str) -> FnAgent {
    FnAgent::new(move |turn, _progress| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let text = turn.message.text();
        let said = Said::text(format!("got {text}"));
        Ok(match text == last {
            true => Outcome::Completed(said),
            false => Outcome::InputRequired(said),
        })
    })
}

fn said(task: &Task) -> String {
    let message = task.status.message.as_ref();
    message.map(|message| message.text()).unwrap_or_default()
}

async fn received(line: &Line, task: &TaskId) -> Vec<String> {
    let task = line.get(task).await.unwrap();
    let history = task.history.iter();
    let received = history.filter(|m| m.role == switchboard_types::model::Role::User);
    received.map(|message| message.text()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_working_task_answers_its_question_and_gets_its_own_answer() {
    let line = line(asks_until("blue"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let (green, blue) = tokio::join!(
        line.send(to(&task, "1", "green")),
        line.send(to(&task, "2", "blue")),
    );
    assert_eq!(said(&green.unwrap()), "got green");
    let blue = blue.unwrap();
    assert_eq!(said(&blue), "got blue");
    assert_eq!(blue.status.state, TaskState::Completed);
    assert_eq!(received(&line, &task).await, ["paint it", "green", "blue"]);
}

#[tokio::test(start_paused = true)]
async fn messages_are_taken_in_the_order_they_came() {
    let line = line(asks_until("e"));
    let task = line.send_at_once(says("a")).await.unwrap().id.clone();
    let send = |id| line.send(to(&task, id, id));
    let answers = tokio::join!(send("b"), send("c"), send("d"), send("e"));
    let answers = [answers.0, answers.1, answers.2, answers.3];
    let answers: Vec<String> = answers.into_iter().map(|a| said(&a.unwrap())).collect();
    assert_eq!(answers, ["got b", "got c", "got d", "got e"]);
    assert_eq!(received(&line, &task).await, ["a", "b", "c", "d", "e"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_task_that_ends_is_refused_and_not_stored() {
    let line = line(asks_until("paint it"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let refused = line.send(to(&task, "1", "green")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    assert!(refused.message().contains("completed"), "{refused}");
    assert_eq!(received(&line, &task).await, ["paint it"]);
    let done = line.get(&task).await.unwrap();
    assert_eq!(said(&done), "got paint it");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_does_not_wait_is_refused_at_once() {
    let line = line(asks_until("blue"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let refused = line.send_at_once(to(&task, "1", "green")).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    assert!(refused.message().contains("working"), "{refused}");
    assert!(
        refused
            .facts()
            .contains(&("state".into(), "working".to_owned()))
    );
    assert_eq!(received(&line, &task).await, ["paint it"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_too_long_is_refused() {
    let settings = Settings {
        blocking_deadline: Duration::from_secs(5),
        ..Settings::default()
    };
    let hangs = FnAgent::new(|_turn, _progress| std::future::pending());
    let line = line_with(hangs, settings);
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let refused = line.send(to(&task, "1", "green")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(received(&line, &task).await, ["paint it"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_while_its_message_waits_leaves_nothing() {
    let line = line(asks_until("blue"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let send = line.send(to(&task, "1", "green"));
    tokio::time::timeout(Duration::from_millis(100), send)
        .await
        .unwrap_err();
    let blue = line.send(to(&task, "2", "blue")).await.unwrap();
    assert_eq!(said(&blue), "got blue");
    assert_eq!(received(&line, &task).await, ["paint it", "blue"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_a_message_that_waited_follows_its_own_turn() {
    let line = line(asks_until("blue"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let mut stream = line.stream(to(&task, "1", "green")).await.unwrap();
    let events = rest(&mut stream).await;
    let (_, first, _) = &events[0];
    let Event::Task(begins) = first else {
        panic!("{first:?}")
    };
    assert_eq!(begins.status.state, TaskState::Working);
    let Some((_, Event::Status(last), true)) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(last.status.message.as_ref().unwrap().text(), "got green");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_behind_messages() {
    let line = line(asks_until("blue"));
    let task = line
        .send_at_once(says("paint it"))
        .await
        .unwrap()
        .id
        .clone();
    let (refused, canceled) = tokio::join!(line.send(to(&task, "1", "green")), line.cancel(&task));
    assert_eq!(canceled.unwrap().status.state, TaskState::Canceled);
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    assert!(refused.message().contains("canceled"), "{refused}");
}

/// Asks what it is told to ask, and ends with what it had asked last when it is told anything else.
fn asks_for() -> FnAgent {
    FnAgent::new(|turn, _progress| async move {
        let text = turn.message.text();
        Ok(match text.strip_prefix("ask ") {
            Some(question) => Outcome::InputRequired(Said::text(question)),
            None => {
                let asked = turn.question.map(|asked| asked.text());
                Outcome::Completed(Said::text(asked.unwrap_or_default()))
            }
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_before_a_question_is_committed_answers_it() {
    let flaky = Flaky::default();
    let no_events = Arc::clone(&flaky.takes_no_events);
    let store: Arc<dyn Store> = Arc::new(Troubled::by(flaky));
    let (line, _) = restarted(&store, asks_for()).await;
    let task = line.send(says("ask which?")).await.unwrap().id.clone();
    no_events.store(true, Ordering::SeqCst);
    for (id, text) in [("1", "ask why?"), ("2", "so")] {
        line.send_at_once(to(&task, id, text)).await.unwrap_err();
    }
    no_events.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let done = line.get(&task).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(said(&done), "why?");
}

/// Asks for a secret, and then works without an end. It cannot go on after a restart.
fn asks_and_works() -> FnAgent {
    FnAgent::new(|turn, _progress| async move {
        match turn.message.text().as_str() {
            "log me in" => Ok(Outcome::AuthRequired(Said::text("password?"))),
            _ => std::future::pending().await,
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_was_queued_begins_after_a_restart_and_is_not_begun_twice() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let restart = async || restarted_with(&store, asks_and_works(), room(1, 9)).await;
    let (line, _) = restart().await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    line.send_at_once(says("work")).await.unwrap();
    line.send_at_once(to(&task, "1", "hunter2")).await.unwrap();
    assert!(store.turn(&task).await.unwrap().unwrap().queued);
    crash(&line).await;
    // What was at work fails; what was queued begins.
    let (line, recovered) = restart().await;
    assert_eq!((recovered.resumed, recovered.failed), (1, 1));
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(!store.turn(&task).await.unwrap().unwrap().queued);
    crash(&line).await;
    // It was at work, and that is not begun again.
    let (line, recovered) = restart().await;
    assert_eq!((recovered.resumed, recovered.failed), (0, 1));
    tokio::time::sleep(Duration::from_millis(10)).await;
    let failed = line.get(&task).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_comes_while_the_store_is_in_trouble_reaches_the_agent() {
    let flaky = Flaky::default();
    let full = Arc::clone(&flaky.full);
    let store: Arc<dyn Store> = Arc::new(Troubled::by(flaky));
    let agent = || {
        FnAgent::new(|turn, _progress| async move {
            Ok(match turn.message.text().as_str() {
                "log me in" => Outcome::AuthRequired(Said::text("password?")),
                text => Outcome::Completed(Said::text(format!("{}", text.len()))),
            })
        })
        .resumable()
    };
    let (line, _) = restarted(&store, agent()).await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    crash(&line).await;
    let (line, _) = restarted(&store, agent()).await;
    line.get(&task).await.unwrap();
    full.store(true, Ordering::SeqCst);
    line.send_at_once(to(&task, "1", "hunter2"))
        .await
        .unwrap_err();
    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let done = line.get(&task).await.unwrap();
    assert_eq!(said(&done), "7");
    assert!(is_redacted(done.history.last().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_answered_is_resumed_as_such() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let settings = || Settings {
        on_input_timeout: OnInputTimeout::Continue,
        input_timeout: Duration::from_secs(5),
        ..Settings::default()
    };
    let agent = || {
        FnAgent::new(|turn, _progress| async move {
            if !turn.input_timed_out {
                return Ok(Outcome::InputRequired(Said::text("which?")));
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
            let asked = turn.question.map(|asked| asked.text());
            let facts = (turn.number, turn.is_resumed, asked.unwrap_or_default());
            Ok(Outcome::Completed(Said::text(format!("{facts:?}"))))
        })
        .resumable()
    };
    let (line, _) = restarted_with(&store, agent(), settings()).await;
    let task = line.send(says("paint it")).await.unwrap().id.clone();
    tokio::time::sleep(Duration::from_secs(10)).await;
    crash(&line).await;
    let (line, recovered) = restarted_with(&store, agent(), settings()).await;
    assert_eq!(recovered.resumed, 1);
    tokio::time::sleep(Duration::from_secs(61)).await;
    let done = line.get(&task).await.unwrap();
    assert_eq!(said(&done), r#"(2, true, "which?")"#);
}
