//! Tasks that ended before their upstream learned of it: the upstream is released until that succeeds, whenever the server
//! is killed.

use std::collections::HashMap;
use std::future::pending;
use std::slice;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Said, Turn};
use switchboard_server::engine::recover::recover;
use switchboard_server::engine::{OnInputTimeout, Settings, refused_cancel};
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::{Change, PendingRelease};
use switchboard_server::testing::agent::{Line, says};
use switchboard_server::testing::store_suite::{Story, at, commit};
use switchboard_types::model::{TaskId, TaskState};
use tokio::time::{Instant, sleep};

/// An agent whose other side cannot be told at first.
#[derive(Debug)]
struct Distant {
    /// How often it cannot.
    deaf: usize,
    /// When it was told of what, and what was asked then.
    told: Mutex<Vec<(Instant, TaskId, String)>>,
}

#[async_trait]
impl Agent for Distant {
    async fn run(&self, turn: Turn, _: Progress) -> Result<Outcome, AgentError> {
        match turn.message.text().as_str() {
            "ask" | "ask in vain" => return Ok(Outcome::InputRequired(Said::text("which one?"))),
            "lose" => return Err(AgentError::unavailable("it is gone").release_pending()),
            "break" => panic!("broken"),
            "hang" => pending().await,
            _ => turn.canceled.cancelled().await,
        }
        match turn.message.text().as_str() {
            "ask late" => Ok(Outcome::InputRequired(Said::text("which one?"))),
            "tell" => Err(AgentError::over()),
            "refuse" => Err(AgentError::over().cancel_refused("it cannot stop")),
            _ => Err(AgentError::over().release_pending()),
        }
    }

    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        let question = turn.question.as_ref().map(|asked| asked.text());
        let mut told = self.told.lock().unwrap();
        told.push((
            Instant::now(),
            turn.task.id.clone(),
            question.unwrap_or_default(),
        ));
        if turn.message.text() == "ask in vain" {
            return Err(AgentError::over().cancel_refused("it cannot stop"));
        }
        match told.len() <= self.deaf {
            true => Err(AgentError::unavailable("it is away")),
            false => Ok(()),
        }
    }
}

struct Life {
    line: Line,
    agent: Arc<Distant>,
    store: Arc<dyn Store>,
}

impl Life {
    /// A life in which the other side cannot be told so often.
    async fn begin(store: Arc<dyn Store>, deaf: usize, settings: Settings) -> Self {
        let agent = Arc::new(Distant {
            deaf,
            told: Mutex::default(),
        });
        let log = Log::new(Arc::clone(&store));
        let line = Line::new(&log, Arc::clone(&agent) as _, settings);
        let engines = HashMap::from([(Arc::from("agent"), line.engine.clone())]);
        recover(&log, &engines).await.unwrap();
        Self { line, agent, store }
    }

    async fn first(deaf: usize) -> Self {
        let settings = Settings {
            task_timeout: Duration::from_secs(9),
            ..Settings::default()
        };
        Self::begin(Arc::new(MemoryStore::default()), deaf, settings).await
    }

    /// The next life, after a crash.
    async fn next(self) -> Self {
        self.line.log.close().await;
        Self::begin(self.store, 0, Settings::default()).await
    }

    async fn canceled(&self, text: &str) -> TaskId {
        let task = self.line.send_at_once(says(text)).await.unwrap();
        let canceled = self.line.cancel(&task.id).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        task.id.clone()
    }

    fn told(&self) -> Vec<(TaskId, String)> {
        let told = self.agent.told.lock().unwrap();
        let told = told.iter().cloned();
        told.map(|(_, task, asked)| (task, asked)).collect()
    }

    /// The tasks whose upstream must still be released.
    async fn release_pending(&self) -> Vec<TaskId> {
        let heads = self.store.pending_releases(None, 99).await.unwrap();
        heads.into_iter().map(|head| head.id).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_is_retried_with_backoff_until_it_succeeds() {
    let life = Life::first(8).await;
    let task = life.canceled("ask").await;
    sleep(Duration::from_secs(600)).await;
    let told = life.agent.told.lock().unwrap().clone();
    assert!(told.iter().all(|(_, id, _)| *id == task));
    let pauses: Vec<Duration> = told.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let longest = [1, 2, 4, 8, 16, 32, 60, 60].map(Duration::from_secs);
    assert_eq!(pauses.len(), longest.len());
    for (pause, longest) in pauses.iter().zip(longest) {
        let slack = Duration::from_millis(10);
        assert!(
            *pause >= longest / 2 && *pause <= longest + slack,
            "{pauses:?}"
        );
    }
    assert!(life.release_pending().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_release_is_given_up_a_day_after_the_end() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut story = Story::new(1).at_agent("agent");
    let pending = Change::ReleasePending(PendingRelease {
        task: story.id().clone(),
        question: None,
    });
    commit(&*store, [story.step(TaskState::Canceled, at(1)), pending]).await;
    let life = Life::begin(store, usize::MAX, Settings::default()).await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(life.told().len(), 1);
    assert!(life.release_pending().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pending_release_survives_a_crash_whatever_ended_the_task() {
    for (text, state) in [
        ("ask", TaskState::Canceled),
        ("ask late", TaskState::Canceled),
        ("stop", TaskState::Canceled),
        ("hang", TaskState::Canceled),
        ("slow", TaskState::Failed),
        ("lose", TaskState::Failed),
        ("break", TaskState::Failed),
    ] {
        let life = Life::first(usize::MAX).await;
        let task = match state {
            TaskState::Canceled => life.canceled(text).await,
            _ => {
                let failed = life.line.send(says(text)).await.unwrap();
                assert_eq!(failed.status.state, state, "{text}");
                failed.id.clone()
            }
        };
        assert_eq!(
            life.release_pending().await,
            slice::from_ref(&task),
            "{text}"
        );
        let life = life.next().await;
        sleep(Duration::from_secs(1)).await;
        let asked = if text.starts_with("ask late") {
            "which one?"
        } else {
            ""
        };
        assert_eq!(life.told(), [(task, asked.to_owned())], "{text}");
        assert!(life.release_pending().await.is_empty(), "{text}");
        let life = life.next().await;
        sleep(Duration::from_secs(1)).await;
        assert!(life.told().is_empty(), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_expired_is_withdrawn_after_a_crash() {
    let settings = Settings {
        input_timeout: Duration::from_secs(5),
        on_input_timeout: OnInputTimeout::Fail,
        ..Settings::default()
    };
    let store = Arc::new(MemoryStore::default());
    let life = Life::begin(store, usize::MAX, settings).await;
    let asked = life.line.send(says("ask")).await.unwrap();
    sleep(Duration::from_secs(6)).await;
    let failed = life.line.get(&asked.id).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    let life = life.next().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(life.told(), [(asked.id.clone(), String::new())]);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_learned_of_the_end_in_its_turn_is_not_released() {
    let life = Life::first(0).await;
    life.canceled("tell").await;
    assert!(life.release_pending().await.is_empty());
    sleep(Duration::from_secs(60)).await;
    assert!(life.told().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_comes_back_releases_what_failed_while_it_was_gone() {
    let life = Life::first(0).await;
    let task = life.line.send_at_once(says("work")).await.unwrap();
    life.line.log.stopping().cancel();
    life.line.log.close().await;
    let log = Log::new(Arc::clone(&life.store));
    let recovered = recover(&log, &HashMap::new()).await.unwrap();
    assert_eq!(recovered.failed, 1);
    log.close().await;
    let life = life.next().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(life.told(), [(task.id.clone(), String::new())]);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_task_says_that_its_upstream_refused_to_stop() {
    let life = Life::first(0).await;
    let task = life.line.send_at_once(says("refuse")).await.unwrap();
    let canceled = life.line.cancel(&task.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let message = canceled.status.message.as_ref().unwrap();
    assert_eq!(
        message.text(),
        "the upstream refused to cancel and may go on: it cannot stop"
    );
    let metadata = message.metadata.as_ref().unwrap();
    let upstream: serde_json::Value = metadata.get("switchboard/upstream").unwrap();
    let expected = json!({"mayContinue": true, "reason": "it cannot stop"});
    assert_eq!(upstream, expected);
    assert_eq!(refused_cancel(&canceled).as_deref(), Some("it cannot stop"));
    // To tell it again would not help.
    sleep(Duration::from_secs(600)).await;
    assert_eq!(life.told(), []);
    assert_eq!(life.release_pending().await, []);
}

/// The task was over before: its status cannot say so, but its trace does.
#[tokio::test(start_paused = true)]
async fn operators_learn_that_an_upstream_refused_to_stop_after_the_end() {
    let life = Life::first(0).await;
    let task = life.canceled("ask in vain").await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(life.told(), [(task.clone(), String::new())], "once");
    assert_eq!(life.release_pending().await, []);
    let steps = life.store.steps(&task, 0, 9).await.unwrap();
    let [recorded] = steps.as_slice() else {
        panic!("{steps:?}")
    };
    assert_eq!(recorded.step.name, "internal:cancel-refused");
    let error = "the upstream refused to cancel and may go on: it cannot stop";
    assert_eq!(recorded.step.value["error"], error);
}
