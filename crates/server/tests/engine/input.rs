//! Questions nobody answers, and turns that a restart cuts off.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::recover::{Recovered, recover};
use switchboard_server::engine::{OnInputTimeout, Settings};
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::{Change, is_redacted};
use switchboard_server::testing::agent::{FnAgent, Line, says, send};
use switchboard_server::testing::store_suite::commit;
use switchboard_types::model::{Message, MessageId, Part, TaskState};
use switchboard_types::operation::Operation;

use super::{artifact, asks, line, line_with, works_until_canceled};

#[tokio::test(start_paused = true)]
async fn a_question_fails_the_task_after_a_day() {
    let line = line(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(24 * 3600 - 1)).await;
    let still = line.get(&waiting.id).await.unwrap();
    assert_eq!(still.status.state, TaskState::InputRequired);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let failed = line.get(&waiting.id).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    let said = failed.status.message.as_ref().unwrap().text();
    assert_eq!(said, "input timeout: no answer within 86400 s");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_credentials_fails_after_a_day_and_never_continues_without() {
    for on_input_timeout in [OnInputTimeout::Fail, OnInputTimeout::Continue] {
        let settings = Settings {
            on_input_timeout,
            ..Settings::default()
        };
        let agent =
            FnAgent::new(|_, _| async { Ok(Outcome::AuthRequired(Said::text("who are you?"))) });
        let line = line_with(agent, settings);
        let waiting = line.send(says("a shirt")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(24 * 3600 - 1)).await;
        let still = line.get(&waiting.id).await.unwrap();
        assert_eq!(still.status.state, TaskState::AuthRequired);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let failed = line.get(&waiting.id).await.unwrap();
        assert_eq!(failed.status.state, TaskState::Failed);
        let said = failed.status.message.as_ref().unwrap().text();
        assert_eq!(said, "input timeout: no credentials within 86400 s");
    }
}

#[tokio::test(start_paused = true)]
async fn or_the_agent_goes_on_without() {
    let settings = Settings {
        on_input_timeout: OnInputTimeout::Continue,
        ..Settings::default()
    };
    let agent = FnAgent::new(|turn, progress| async move {
        if !turn.input_timed_out {
            return Ok(Outcome::InputRequired(Said::text("which one?")));
        }
        progress.artifact(artifact("a guess")).await?;
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line_with(agent, settings);
    let waiting = line.send(says("a shirt")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(24 * 3600 + 1)).await;
    let done = line.get(&waiting.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts[0].parts, [Part::text("a guess")]);
}

#[tokio::test(start_paused = true)]
async fn an_answered_question_does_not_expire() {
    let line = line(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(200)).await;
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("red")
    };
    line.send(answer).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let done = line.get(&waiting.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
}

/// Opens the same store again, as a new process would.
pub(super) async fn restarted(store: &Arc<dyn Store>, agent: FnAgent) -> (Line, Recovered) {
    restarted_with(store, agent, Settings::default()).await
}

pub(super) async fn restarted_with(
    store: &Arc<dyn Store>,
    agent: FnAgent,
    settings: Settings,
) -> (Line, Recovered) {
    let log = Log::new(Arc::clone(store));
    let line = Line::new(&log, Arc::new(agent), settings);
    let engines = HashMap::from([(Arc::from("agent"), line.engine.clone())]);
    let recovered = recover(&log, &engines).await.unwrap();
    (line, recovered)
}

pub(super) async fn crash(line: &Line) {
    line.log.stopping().cancel();
    line.log.close().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_task_that_cannot_go_on_fails_with_a_reason() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, works_until_canceled()).await;
    let task = line.send_at_once(says("hello")).await.unwrap();
    crash(&line).await;
    let (line, recovered) = restarted(&store, works_until_canceled()).await;
    assert_eq!(recovered.failed, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let failed = line.get(&task.id).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    let said = failed.status.message.as_ref().unwrap().text();
    assert!(said.contains("restart"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_resumable_turn_goes_on_where_it_was() {
    let counts = || {
        FnAgent::new(|turn, progress| async move {
            for n in turn.emitted..5 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                progress
                    .chunk(artifact(&n.to_string()), n > 0, n == 4)
                    .await?;
            }
            Ok(Outcome::Completed(Said::text(turn.message.text())))
        })
        .resumable()
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, counts()).await;
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    crash(&line).await;
    let (line, recovered) = restarted(&store, counts()).await;
    assert_eq!(recovered.resumed, 1);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let done = line.get(&task.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    let chunks: Vec<&str> = done.artifacts[0]
        .parts
        .iter()
        .filter_map(Part::as_text)
        .collect();
    assert_eq!(chunks, ["01234"]);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "hello");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_question_is_still_open_and_still_expires() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, asks()).await;
    let waiting = line.send(says("a shirt")).await.unwrap();
    let other = line.send(says("a hat")).await.unwrap();
    crash(&line).await;
    let (line, recovered) = restarted(&store, asks()).await;
    assert_eq!(recovered.waiting, 2);
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("red")
    };
    let done = line.send(answer).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    tokio::time::sleep(Duration::from_secs(24 * 3600 + 1)).await;
    let expired = line.get(&other.id).await.unwrap();
    assert_eq!(expired.status.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_tasks_of_agents_that_are_gone_fail() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, works_until_canceled()).await;
    let task = line.send_at_once(says("hello")).await.unwrap();
    crash(&line).await;
    let log = Log::new(Arc::clone(&store));
    let recovered = recover(&log, &HashMap::new()).await.unwrap();
    assert_eq!(recovered.failed, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (head, _) = log.read(&task.id).await.unwrap().unwrap();
    assert_eq!(head.state, TaskState::Failed);
}

/// Asks for something sensitive, and tells how long the answer was.
fn asks_secretly() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        if turn.task.history.len() == 1 {
            let request = serde_json::json!({"inputRequest": {
                "requestId": "q1", "prompt": "password?", "sensitive": true
            }});
            return Ok(Outcome::InputRequired(Said {
                message_metadata: Some(request.as_object().unwrap().into()),
                ..Said::text("password?")
            }));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let length = turn.message.text().len().to_string();
        progress.artifact(artifact(&length)).await?;
        Ok(Outcome::Completed(Said::default()))
    })
    .resumable()
}

#[tokio::test(start_paused = true)]
async fn a_sensitive_answer_reaches_the_agent_and_is_not_kept() {
    let line = line(asks_secretly());
    let waiting = line.send(says("log me in")).await.unwrap();
    let answer = Message {
        id: MessageId::new("answer").unwrap(),
        task_id: Some(waiting.id.clone()),
        ..says("hunter2")
    };
    let done = line.send(answer).await.unwrap();
    assert_eq!(done.artifacts[0].parts, [Part::text("7")]);
    let kept = format!("{:?}", line.log.store().task(&done.id).await.unwrap());
    assert!(!kept.contains("hunter2"), "{kept}");
    let said: Vec<String> = done.history.iter().map(|m| m.text()).collect();
    assert_eq!(said, ["log me in", "password?", "[redacted]"]);
}

/// Asks for a colour, takes a second, and asks for one more, until it has heard a word of seven letters.
fn asks_for_colours() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let length = turn.message.text().len();
        progress.artifact(artifact(&length.to_string())).await?;
        Ok(match length {
            7 => Outcome::Completed(Said::default()),
            _ => Outcome::InputRequired(Said::text("which colour?")),
        })
    })
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_passes_on_as_a_secret_is_kept_as_one_whatever_the_task_has_come_to() {
    for waits in [true, false] {
        let line = line(asks_for_colours());
        let task = match waits {
            true => line.send(says("paint it")).await.unwrap(),
            false => line.send_at_once(says("paint it")).await.unwrap(),
        };
        let secret = Message {
            id: MessageId::new("answer").unwrap(),
            task_id: Some(task.id.clone()),
            ..says("hunter2")
        };
        let send = Operation::Send(Box::new(send(secret)));
        line.ask(send, |call| call.params.secret = true)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let done = line.get(&task.id).await.unwrap();
        assert_eq!(done.artifacts[0].parts, [Part::text("7")], "{done:?}");
        assert_eq!(done.status.state, TaskState::Completed);
        let kept = format!("{:?}", line.log.store().task(&task.id).await.unwrap());
        assert!(!kept.contains("hunter2"), "{kept}");
        assert!(kept.contains("[redacted]"), "{kept}");
    }
}

/// Tells how its message is kept.
fn tells_what_is_kept() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        let kept = turn.task.history.last().unwrap();
        assert_eq!(turn.is_secret, is_redacted(kept));
        let kept = kept.text();
        progress.artifact(artifact(&kept)).await?;
        Ok(match turn.message.text().as_str() {
            "log me in" => Outcome::AuthRequired(Said::text("password?")),
            _ => Outcome::Completed(Said::default()),
        })
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_can_tell_that_what_it_hears_is_a_secret() {
    let line = line(tells_what_is_kept());
    let waiting = line.send(says("log me in")).await.unwrap();
    assert_eq!(waiting.artifacts[0].parts, [Part::text("log me in")]);
    // Also of a client that gives the same id to all.
    let answer = Message {
        id: MessageId::new("m-log me in").unwrap(),
        task_id: Some(waiting.id.clone()),
        ..says("hunter2")
    };
    let done = line.send(answer).await.unwrap();
    assert_eq!(done.artifacts[0].parts, [Part::text("[redacted]")]);
}

#[tokio::test(start_paused = true)]
async fn a_sensitive_answer_survives_a_restart_sealed_and_is_erased_at_the_end() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, asks_secretly()).await;
    let waiting = line.send(says("log me in")).await.unwrap();
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("hunter2")
    };
    line.send_at_once(answer).await.unwrap();
    let sealed = store.turn(&waiting.id).await.unwrap().unwrap().secret;
    assert!(sealed.is_some_and(|sealed| !sealed.contains("hunter2")));
    crash(&line).await;
    let (line, recovered) = restarted(&store, asks_secretly()).await;
    assert_eq!(recovered.resumed, 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let done = line.get(&waiting.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts[0].parts, [Part::text("7")]);
    assert_eq!(store.turn(&waiting.id).await.unwrap().unwrap().secret, None);
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_secret_cannot_be_opened_fails() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, asks_secretly()).await;
    let waiting = line.send(says("log me in")).await.unwrap();
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("hunter2")
    };
    line.send_at_once(answer).await.unwrap();
    crash(&line).await;
    let mut record = store.turn(&waiting.id).await.unwrap().unwrap();
    record.secret = Some("sealed with another key".to_owned());
    commit(&*store, [Change::Turn(record)]).await;
    let (line, recovered) = restarted(&store, asks_secretly()).await;
    assert_eq!(recovered.failed, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let failed = line.get(&waiting.id).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn steps_are_there_after_a_restart_and_never_shown() {
    let notes = || {
        FnAgent::new(|turn, progress| async move {
            if let Some(run) = turn.last_step("run").await? {
                let text = format!("went on with {run}");
                return Ok(Outcome::Completed(Said::text(text)));
            }
            progress.record("run", json!("a")).await?;
            progress.record("run", json!("b")).await?;
            turn.canceled.cancelled().await;
            Ok(Outcome::Completed(Said::default()))
        })
        .resumable()
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = restarted(&store, notes()).await;
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    crash(&line).await;
    let (line, recovered) = restarted(&store, notes()).await;
    assert_eq!(recovered.resumed, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let done = line.get(&task.id).await.unwrap();
    let said = done.status.message.as_ref().unwrap().text();
    assert_eq!(said, "went on with \"b\"");
    let events = store.events(&task.id, 0, usize::MAX).await.unwrap();
    assert_eq!(events.len(), 3, "a task, work, and its end");
}

#[tokio::test(start_paused = true)]
async fn a_question_has_a_part_for_programs_unless_the_agent_is_set_without() {
    use switchboard_server::task::question_data;
    let question = || question_data(switchboard_types::model::Json::parse("{\"a\":1}").unwrap());
    for (kept, words, expected) in [
        (true, "which?", vec![Part::text("which?"), question()]),
        (false, "which?", vec![Part::text("which?")]),
        // Without a text it is all there is.
        (false, "", vec![question()]),
    ] {
        let asks = FnAgent::new(move |_turn, _progress| async move {
            let mut parts = vec![Part::text(words), question()];
            parts.retain(|part| !part.is_blank());
            Ok(Outcome::InputRequired(Said {
                parts,
                ..Said::default()
            }))
        });
        let settings = Settings {
            question_data: kept,
            ..Settings::default()
        };
        let task = line_with(asks, settings).send(says("go")).await.unwrap();
        assert_eq!(task.status.message.as_ref().unwrap().parts, expected);
    }
}
