//! Messages that wait behind a turn whose secret is lost, and for a store that does not answer.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::{OnInputTimeout, Settings};
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::is_redacted;
use switchboard_server::testing::agent::{FnAgent, says};
use switchboard_server::testing::troubled::Troubled;
use switchboard_types::model::{Content, Json, Message, MessageId, Part, TaskId, TaskState};

use super::failure::Flaky;
use super::input::{crash, restarted, restarted_with};
use super::turns::room;

type Heard = Arc<Mutex<Vec<String>>>;

/// How a secret is asked for.
#[derive(Clone, Copy)]
enum Asks {
    Credentials,
    Input,
}

/// Asks for a secret, takes a second for each message, asks for one more, and ends with that.
fn asks_twice(how: Asks, heard: &Heard) -> FnAgent {
    let heard = Arc::clone(heard);
    FnAgent::new(move |turn, _progress| {
        let heard = Arc::clone(&heard);
        async move {
            let text = turn.message.text();
            if turn.task.history.len() == 1 {
                let said = Said::text("password?");
                return Ok(match how {
                    Asks::Credentials => Outcome::AuthRequired(said),
                    Asks::Input => {
                        let request = serde_json::json!({"inputRequest": {
                            "requestId": "q1", "prompt": "password?", "sensitive": true
                        }});
                        Outcome::InputRequired(Said {
                            message_metadata: Some(request.as_object().unwrap().into()),
                            ..said
                        })
                    }
                });
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            heard.lock().unwrap().push(text.clone());
            Ok(match text.as_str() {
                "hunter2" => Outcome::InputRequired(Said::text("which colour?")),
                _ => Outcome::Completed(Said::text(text)),
            })
        }
    })
    .resumable()
}

fn to(task: &TaskId, id: &str, text: &str) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        task_id: Some(task.clone()),
        ..says(text)
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_secret_that_is_lost_is_heard_after_it_came_again() {
    for how in [Asks::Credentials, Asks::Input] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (mut line, _) = restarted(&store, asks_twice(how, &Heard::default())).await;
        let task = line.send(says("log me in")).await.unwrap().id.clone();
        line.send_at_once(to(&task, "1", "hunter2")).await.unwrap();
        line.send_at_once(to(&task, "2", "green")).await.unwrap();
        // However often that happens. In each life others are at work.
        let mut heard = Heard::default();
        for id in ["3", "4", "5"] {
            crash(&line).await;
            heard = Heard::default();
            (line, _) = restarted(&store, asks_twice(how, &heard)).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            let asked = line.get(&task).await.unwrap();
            assert!(asked.status.state.is_interrupted(), "{asked:?}");
            line.send_at_once(to(&task, id, "hunter2")).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        let done = line.get(&task).await.unwrap();
        assert_eq!(done.status.state, TaskState::Completed);
        assert_eq!(*heard.lock().unwrap(), ["hunter2", "green"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_comes_while_the_store_is_in_trouble_is_heard() {
    let flaky = Flaky::default();
    let full = Arc::clone(&flaky.full);
    let store: Arc<dyn Store> = Arc::new(Troubled::by(flaky));
    let heard = Heard::default();
    let (line, _) = restarted(&store, asks_twice(Asks::Credentials, &heard)).await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    crash(&line).await;
    let (line, _) = restarted(&store, asks_twice(Asks::Credentials, &heard)).await;
    line.get(&task).await.unwrap();
    full.store(true, Ordering::SeqCst);
    line.send_at_once(to(&task, "1", "hunter2"))
        .await
        .unwrap_err();
    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked = line.get(&task).await.unwrap();
    assert_eq!(asked.status.state, TaskState::InputRequired);
    assert_eq!(*heard.lock().unwrap(), ["hunter2"]);
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
async fn a_secret_that_stood_in_line_stands_there_no_more_when_it_came_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let restart = async || restarted_with(&store, asks_and_works(), room(1, 9)).await;
    let (line, _) = restart().await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    line.send_at_once(says("work")).await.unwrap();
    line.send_at_once(to(&task, "1", "hunter2")).await.unwrap();
    crash(&line).await;
    let (line, recovered) = restart().await;
    assert_eq!((recovered.waiting, recovered.failed), (1, 1));
    let again = line.send_at_once(to(&task, "2", "hunter2")).await.unwrap();
    assert_eq!(again.status.state, TaskState::Working);
    crash(&line).await;
    // There was room for it: it was at work, and that is not begun again.
    let (line, recovered) = restart().await;
    assert_eq!((recovered.waiting, recovered.failed), (0, 1));
    tokio::time::sleep(Duration::from_millis(10)).await;
    let failed = line.get(&task).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
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
async fn a_message_that_comes_before_a_question_is_stored_answers_it() {
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
    assert_eq!(done.status.message.as_ref().unwrap().text(), "why?");
}

#[tokio::test(start_paused = true)]
async fn what_waits_goes_on_where_a_secret_does_not_come_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, asks_twice(Asks::Input, &Heard::default())).await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    line.send_at_once(to(&task, "1", "hunter2")).await.unwrap();
    for (id, text) in [("2", "green"), ("3", "blue")] {
        line.send_at_once(to(&task, id, text)).await.unwrap();
    }
    crash(&line).await;
    let heard = Heard::default();
    let settings = Settings {
        on_input_timeout: OnInputTimeout::Continue,
        input_timeout: Duration::from_secs(5),
        ..Settings::default()
    };
    let (line, _) = restarted_with(&store, asks_twice(Asks::Input, &heard), settings).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let done = line.get(&task).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(*heard.lock().unwrap(), ["green"]);
}

/// Asks for a secret, then for anything, and ends with whether what it hears is a secret by what is kept of it.
fn knows_secrets() -> FnAgent {
    FnAgent::new(|turn, _progress| async move {
        Ok(match turn.message.text().as_str() {
            "log me in" => Outcome::AuthRequired(Said::text("password?")),
            "hunter1" => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Outcome::InputRequired(Said::text("which one?"))
            }
            _ => {
                let kept = turn.task.history.last();
                let is_secret = kept.is_some_and(|kept| is_redacted(kept));
                Outcome::Completed(Said::text(is_secret.to_string()))
            }
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_waited_is_known_as_one_before_it_is_stored() {
    let flaky = Flaky::default();
    let no_events = Arc::clone(&flaky.takes_no_events);
    let store: Arc<dyn Store> = Arc::new(Troubled::by(flaky));
    let (line, _) = restarted(&store, knows_secrets()).await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    no_events.store(true, Ordering::SeqCst);
    let send = |id, text| line.send_at_once(to(&task, id, text));
    // Both come before the task is seen to have taken one.
    let (first, second) = tokio::join!(send("1", "hunter1"), send("2", "hunter2"));
    assert!(first.is_err() && second.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    no_events.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let done = line.get(&task).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "true");
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_secret_that_comes_too_late_is_not_kept() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let settings = Settings {
        on_input_timeout: OnInputTimeout::Continue,
        input_timeout: Duration::from_secs(5),
        ..Settings::default()
    };
    let works = FnAgent::new(|turn, _progress| async move {
        if turn.input_timed_out {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        let request = serde_json::json!({"inputRequest": {
            "requestId": "q1", "prompt": "password?", "sensitive": true
        }});
        Ok(Outcome::InputRequired(Said {
            message_metadata: Some(request.as_object().unwrap().into()),
            ..Said::text("password?")
        }))
    });
    let (line, _) = restarted_with(&store, works, settings).await;
    let task = line.send(says("log me in")).await.unwrap().id.clone();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let late = |id: &str| {
        let result = format!(r#"{{"type":"tool-result","id":"{id}","result":"hunter2"}}"#);
        let result = Content::Data(Json::parse(result).unwrap());
        Message {
            parts: vec![Part::new(result)],
            ..to(&task, id, "")
        }
    };
    for (id, is_kept) in [("q1", false), ("q2", true)] {
        line.send_at_once(late(id)).await.unwrap();
        let task = line.get(&task).await.unwrap();
        let kept = task.history.last().unwrap();
        assert_eq!(is_redacted(kept), !is_kept, "{id}");
    }
}
